// The sections of a run in progress. Each is redrawn only when its data have changed, so that a reader can
// select and copy text.

const drawnFrom = new Map();

function redraw(id, data, make) {
  const text = JSON.stringify(data);
  if (drawnFrom.get(id) === text) return;
  drawnFrom.set(id, text);
  make(byId(id));
}

const PHASES = {
  running: "Running", paused: "Paused: calls in flight are settled, no new ones are made", stopping: "Stopping: waiting for the calls in flight",
  writing: "Done: the report is being written", ended: "The run has ended", lost: "No answer from goodarm",
};

function showLive(state) {
  const { money: account, verifiers } = state;
  if (state.questions) useQuestionTexts(LIVE_QUESTION_TEXTS);
  document.title = `${shortWords(state)}, ${state.phase}`;
  showPhase(state.phase);
  redraw("headline", [state.certified, wholeOf(state)], (element) =>
    replace(element, h("b", null, count(state.certified)), achieved(state)));
  redraw("run", [state.folder, state.calls, Math.floor(state.seconds)], (element) =>
    replace(element, untrusted(state.folder), ` · ${plural(state.calls, "call")} · ${duration(Math.floor(state.seconds))} since ${new Date(state.span_millis[0]).toLocaleTimeString("en-GB", { timeStyle: "short" })}`));
  redraw("word", [state.ending, state.told], (element) =>
    replace(element, ...(state.phase === "ended" ? [untrusted(lastWord(state), "p")] : [])));
  redraw("notes", state.notes, (element) => replace(element, ...state.notes.map((note) => untrusted(note, "p"))));
  replace(byId("tiles"), ...liveTiles(state));
  byId("page").hidden = false;
  redraw("coverage-chart", [state.coverage, account, state.certified], (element) => coverageChart(element, state));
  redraw("verifiers-table", [verifiers, state.questions, state.health, state.phase], (element) => replace(element, healthTable(state), generatorHealthTable(state)));
  redraw("money-table", [account, state.out, state.calls], (element) => replace(element, ...moneyTable(state)));
  redraw("promise-text", state.promise, (element) => replace(element, ...promise(state)));
  redraw("foot", state.folder, (element) =>
    replace(element, `goodarm ${state.goodarm} · `, untrusted(state.folder), " · this page talks to goodarm on this machine, and to nothing else"));
}

/// The progress, for a title.
const shortWords = (state) => `${count(state.certified)} of ${count(wholeOf(state))} ${state.questions ? "questions" : "certified"}`;

/// The texts of the page if there are questions.
const LIVE_QUESTION_TEXTS = {
  ".top nav a[href='#verifiers']": QUESTION_TEXTS[".top nav a[href='#verifiers']"],
  "#coverage-title": QUESTION_TEXTS["#coverage-title"],
  "#coverage .why": "Each step is one more question with a certified answer.",
  "#verifiers-title": QUESTION_TEXTS["#verifiers-title"],
  "#verifiers .why": "An answer is certified when its mean score reaches the threshold of every verifier; at most one answer per question is certified.",
  "#answers .why": "The newest first, each with its question. Open a row to see its evidence, and every call about it and about its question.",
};

function showPhase(phase) {
  redraw("phase", phase, (element) => {
    element.dataset.phase = phase;
    byId("word").dataset.phase = phase;
    element.textContent = PHASES[phase];
  });
  const button = byId("pause");
  button.hidden = phase !== "running" && phase !== "paused";
  redraw("pause", phase, () => { button.textContent = phase === "paused" ? "Resume" : "Pause"; });
}

/// The last message about a run.
function lastWord(state) {
  const sentence = `The run has ended, ${state.questions ? `${count(state.certified)}${achieved(state)}` : `${state.certified} of ${state.candidates} certified`}: ${state.ending === null ? "stopped by an error" : state.ending.sentence}.`;
  return [sentence, ...state.told.trim().split("\n").filter(Boolean), `Everything is in ${state.folder}`].join("\n");
}

function liveTiles(state) {
  const { unit } = state.money;
  const [spent, budget, reserved] = ["spent", "budget", "reserved"].map((name) => Number(state.money[name]));
  const unitWords = unit === "dollars" ? "" : ` ${unit}`;
  const isOver = state.phase === "ended" || state.phase === "writing";
  const done = state.questions ? `of ${count(wholeOf(state))} answered` : "certified";
  const words = isOver ? `${done} at ${confidence(state.delta)}` : `${done}, about ${count(Math.max(state.certified, Math.round(state.forecast)))} in the end`;
  const answers = certifiedTile(state, words);
  const paid = tile("Spent", money(spent, unit), `of ${money(budget, unit)}${unitWords}`, `${money(reserved, unit)} reserved, ${money(state.money.left, unit)} left`,
    stackedBar([["s-certified", spent], ["s-reserved", reserved]], budget, `${percent(budget > 0 ? spent / budget : 0)} of the budget is spent`));
  return [answers, paid, paceTile(state, isOver)];
}

function paceTile(state, isOver) {
  const trouble = `${plural(state.failures, "failure")}, ${state.retries === 1 ? "1 retry" : `${count(state.retries)} retries`}`;
  if (isOver) {
    const rate = state.seconds > 0 ? state.calls / state.seconds : 0;
    return tile("Calls", count(state.calls), `in ${duration(state.seconds)}`, `${digits(rate, 3)} a second · ${trouble}`, null);
  }
  const held = state.held_by === "money" ? " (2 % of the money left)" : "";
  const pace = tile("Pace", digits(state.calls_per_second, 2), "calls a second", `${count(state.out)} in flight${held} · ${trouble}${timeLeft(state)}`, null);
  if (state.working_on) {
    const [verifier, id] = state.working_on;
    pace.append(h("p", { class: "line" }, state.phase === "running" ? "now: " : "last: ", untrusted(preview(verifier, 40)), " on ", untrusted(preview(id, 60))));
  }
  return pace;
}

/// Null if the run will probably end before its money is spent.
function timeLeft({ seconds_left, phase }) {
  if (seconds_left === null || phase !== "running") return "";
  return ` · about ${duration(about(seconds_left))} left`;
}

const CONDITIONS = { open: "working", "partly-open": "partly working", "backing-off": "backing off", down: "down", "given-up": "given up" };

/// A working verifier is idle while the run is paused or over.
function healthCell(health, phase) {
  const isWell = health.condition === "open";
  const isHeld = isWell && phase !== "running";
  const name = isHeld ? { paused: "paused", stopping: "stopping" }[phase] ?? "at rest" : CONDITIONS[health.condition];
  return h("td", null, h("span", { class: `health${isHeld ? " held" : isWell ? "" : " bad"}` }, name),
    health.words ? untrusted(health.words, "small", { class: "words" }) : null);
}

function healthTable(state) {
  const { unit } = state.money;
  const rows = state.verifiers.map((verifier, index) => {
    const [name, ...numbers] = verifierCells(verifier);
    const { latency } = state.health[index];
    return [name, healthCell(state.health[index], state.phase), ...numbers,
      h("td", null, duration(latency)), h("td", null, verifier.paid_with ? "the same calls" : paid(verifier.spent, verifier, unit))];
  });
  const [first, ...others] = VERIFIER_TITLES;
  return stackedTable([first, "Condition", ...others, "Mean latency", "Spent"], rows);
}

/// The generators beside them; null if there are none.
function generatorHealthTable(state) {
  const { unit } = state.money;
  const generators = state.questions?.generators ?? [];
  if (generators.length === 0) return null;
  const rows = generators.map((generator, index) => {
    const [name, ...numbers] = generatorCells(generator);
    const health = state.health[state.verifiers.length + index];
    return [name, healthCell(health, state.phase), ...numbers, h("td", null, duration(health.latency)), h("td", null, paid(generator.spent, generator, unit))];
  });
  const [first, ...others] = GENERATOR_TITLES;
  return h("div", { class: "generators" }, stackedTable([first, "Condition", ...others, "Mean latency", "Spent"], rows));
}
