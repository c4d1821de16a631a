// Everything above and below the table of answers.

function showOverview(overview) {
  if (overview.questions) useQuestionTexts(QUESTION_TEXTS);
  replace(byId("run"), ...runLine(overview));
  replace(byId("claim"), ...claim(overview));
  byId("claim").hidden = !overview.claim;
  replace(byId("headline"), h("b", null, count(overview.certified)), achieved(overview));
  replace(byId("lede"), ...lede(overview));
  replace(byId("notes"), ...notes(overview).map((note) => untrusted(note, "p")));
  replace(byId("tiles"), ...tiles(overview));
  byId("page").hidden = false;
  coverageChart(byId("coverage-chart"), overview);
  replace(byId("spending-chart"), ...spending(overview));
  replace(byId("verifiers-table"), verifierTable(overview), generatorTable(overview));
  replace(byId("money-table"), ...moneyTable(overview));
  replace(byId("promise-text"), ...promise(overview));
  replace(byId("foot"), `goodarm ${overview.goodarm} · `, untrusted(overview.folder), " · nothing on this page was loaded from a network, and nothing is sent");
}

function runLine(overview) {
  const [first] = overview.span_millis;
  const started = first > 0 ? `${new Date(first).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })} · ` : "";
  const rate = overview.calls_per_second ? ` in ${duration(overview.seconds)}, ${digits(overview.calls_per_second, 3)} a second` : "";
  return [started, untrusted(overview.folder), ` · ${plural(overview.calls, "call")}${rate}`];
}

/// The claim from people's labels, and its conditions.
function claim({ claim }) {
  if (!claim) return [];
  const [first] = claim.statement;
  return [untrusted(`${first.toUpperCase()}${claim.statement.slice(1)}.`, "p"), h("ul", null, claim.rests_on.map((reason) => untrusted(reason, "li")))];
}

const isAverage = (overview) => overview.guarantee === "fdr";

function lede(overview) {
  const bound = isAverage(overview)
    ? [h("strong", null, `On average at most ${percent(overview.delta)} of these certificates are wrong`)]
    : [h("strong", null, `With probability at least ${confidence(overview.delta)} not one of these certificates is wrong`)];
  const number = overview.verifiers.length;
  const called = overview.verifiers.some((verifier) => verifier.criterion_of) ? "verifiers and criteria" : "verifiers";
  const verifiers = number === 1 ? "its verifier asks for" : `each of the ${number} ${called} asks for`;
  return [...bound, `: the mean score of a certified answer, over ${overview.mean_over}, is at least what ${verifiers}. `,
    "What is certified is the verifiers' approval, not the truth.",
    ...(overview.doubt ? [" ", h("strong", { class: "doubt" }, untrusted(overview.doubt))] : [])];
}

const FIELD_BYTES_MAX = 20000; // of an ordinary page

function notes(overview) {
  const list = [...overview.notes];
  if (overview.failures_note) list.unshift(`${overview.failures_note[0].toUpperCase()}${overview.failures_note.slice(1)}.`);
  if (overview.ending === null) list.unshift("This run has not ended: it is still running, or was stopped without saving. The figures are those of its journal so far.");
  const { noun, done } = wordsOf(overview);
  const files = overview.questions ? "answers.jsonl" : "certified.jsonl, undecided.jsonl and rejected.jsonl";
  if (overview.shown < wholeOf(overview)) list.push(`The page shows ${count(overview.shown)} of ${count(wholeOf(overview))} ${noun}s, the ${done} ones first; all of them are in ${files}.`);
  if (overview.limits.field_bytes < FIELD_BYTES_MAX) list.push(`There are too many ${noun}s to show whole texts: each text is cut to ${count(overview.limits.field_bytes)} bytes here, and the search sees no more of it; the whole texts are in ${overview.questions ? "answers.jsonl, " : ""}certified.jsonl, undecided.jsonl and rejected.jsonl.`);
  if (overview.guarantee === "paper") list.push("The certificates are those of the paper: valid, but far more expensive than necessary.");
  return list;
}

function tile(title, big, small, text, meter) {
  return h("div", { class: "tile" }, h("h3", null, title), h("p", { class: "big" }, big, small ? h("small", null, ` ${small}`) : null),
    h("p", null, text), meter ? h("div", { class: "meter" }, meter) : null);
}

/// The answers that are not certified, the added ones, and the shares of δ.
function standings(overview) {
  const { undecided, rejected, added, shares } = overview;
  const late = added > 0 ? `; ${count(added)} of all were added later` : "";
  const lent = shares ? `; ${plural(shares.out, "share")} of δ lent, ${percent(Math.round(1000 * shares.left) / 1000)} of δ free` : "";
  return overview.questions ? `${triedWords(overview)}${lent}` : `${count(undecided)} undecided, ${count(rejected)} rejected${late}${lent}`;
}

/// The number of certified answers; `small` is the text beside it.
function certifiedTile(overview, small) {
  const { certified, undecided, rejected, questions } = overview;
  const open = wholeOf(overview) - certified;
  const [parts, label] = questions ? [[["s-certified", certified], ["s-undecided", open]], `${certified} answered, ${open} open`]
    : [[["s-certified", certified], ["s-undecided", undecided], ["s-rejected", rejected]], `${certified} certified, ${undecided} undecided, ${rejected} rejected`];
  return tile(wordsOf(overview).title, count(certified), small, standings(overview), stackedBar(parts, wholeOf(overview), label));
}

function tiles(overview) {
  const { unit } = overview.money;
  const [spent, budget, possible] = ["spent", "budget", "possible"].map((name) => Number(overview.money[name]));
  const answers = certifiedTile(overview, overview.questions ? `of ${count(wholeOf(overview))} answered at ${confidence(overview.delta)}` : `certified at ${confidence(overview.delta)}`);
  const unitWords = unit === "dollars" ? "" : ` ${unit}`;
  const paid = tile("Spent", money(spent, unit), `of ${money(budget, unit)}${unitWords}`,
    overview.ending === null ? "so far" : overview.ending.sentence,
    stackedBar([["s-certified", spent], ["s-reserved", possible - spent]], budget, `${percent(budget > 0 ? spent / budget : 0)} of the budget is spent`));
  return [answers, paid, uniformTile(overview, unitWords)];
}

function uniformTile(overview, unitWords) {
  const { uniform } = overview;
  const { alike } = wordsOf(overview);
  if (!uniform) return tile(alike, "–", null, "No answer is certified yet, so there is nothing to compare.", null);
  const { unit } = overview.money;
  const isMore = uniform.times !== null && uniform.times >= 1.05;
  const text = isMore ? `${digits(uniform.times, 2)} times as much for the same certificates: an estimate`
    : "for the same certificates, which is no more than was spent here: an estimate";
  const whole = Math.max(uniform.cost, Number(overview.money.spent));
  return tile(alike, `≈ ${money(uniform.cost, unit)}`, unitWords.trim(), text,
    stackedBar([["s-certified", Number(overview.money.spent)]], whole, "what was spent, as a part of the estimate"));
}

/// The style of each part.
const PART_CLASSES = ["s-certified", "s-undecided", "s-rejected"];

function key({ parts, noun }) {
  return h("p", { class: "key" }, parts.map((name, index) => h("span", null,
    s("svg", { "aria-hidden": "true" }, s("rect", { class: PART_CLASSES[index], width: "100%", height: "100%" })), `on ${name} ${noun}s`)));
}

function spending(overview) {
  const { unit } = overview.money;
  const { parts: names, noun } = wordsOf(overview);
  const services = servicesOf(overview);
  const whole = Math.max(...services.map((verifier) => Number(verifier.spent)));
  const all = Number(overview.money.spent);
  // The calls of a verifier with several criteria are counted once.
  const rows = services.filter((verifier) => !verifier.paid_with).map((verifier) => {
    const parts = (verifier.spent_by_question ?? verifier.spent_by_status).map(Number);
    const spent = Number(verifier.spent);
    return h("div", { class: "row-bar" }, untrusted(serviceName(verifier), "div", { class: "name" }),
      h("div", { class: "bar" }, stackedBar(names.map((_, index) => [PART_CLASSES[index], parts[index]]), whole, names.map((name, index) => `${money(parts[index], unit)} on ${name} ${noun}s`).join(", "))),
      h("div", { class: "sum" }, paid(spent, verifier, unit), all > 0 && paid(0, verifier, unit) !== "free" ? h("small", null, ` ${percent(Math.round((1000 * spent) / all) / 1000)}`) : null),
      h("div", { class: "parts" }, names.map((name, index) => (parts[index] >= 1e-7 && paid(0, verifier, unit) !== "free" ? h("span", null, `${money(parts[index], unit)} on ${name}`) : null))));
  });
  return [key(wordsOf(overview)), ...rows];
}

/// A mean between 0 and 1, and its threshold.
function scale(mean, threshold) {
  const x = (value) => 4 + 84 * Math.min(1, Math.max(0, value));
  return s("svg", { class: "scale", viewBox: "0 0 92 16", "aria-hidden": "true" }, s("line", { class: "rail", x1: 4, x2: 88, y1: 8, y2: 8 }),
    s("line", { class: "tick", x1: x(threshold), x2: x(threshold), y1: 1, y2: 15 }), s("circle", { class: "dot", cx: x(mean), cy: 8, r: 4 }));
}

const VERIFIER_TITLES = ["Verifier", "Calls", "Failed", "Mean score", "Threshold"];

/// The name of a service, its calls and failures.
function serviceCells({ name, failures, calls, throttled, addresses = [] }, kind) {
  const failed = Object.values(failures).reduce((sum, number) => sum + number, 0);
  const kinds = Object.entries(failures).map(([failure, number]) => `${count(number)} ${failure}`).join(", ");
  const perAddress = addresses.map((it) => untrusted(`${it.address}: ${plural(it.calls, "call")}, ${count(it.failures)} failed${it.mean_score === null ? "" : `, mean ${it.mean_score.toFixed(3)}`}`, "small"));
  return [
    h("td", null, untrusted(name, "span", { class: "name" }), h("small", null, kind), perAddress),
    h("td", null, count(calls), throttled > 0 ? h("small", null, `${plural(throttled, "request")} sent again`) : null),
    h("td", null, count(failed), kinds ? h("small", null, kinds) : null),
  ];
}

function verifierCells(verifier) {
  const kind = verifier.exact ? `${verifier.kind}, exact` : verifier.votes ? `${verifier.kind}, votes on questions` : verifier.kind;
  return [
    ...serviceCells(verifier, kind),
    h("td", null, verifier.mean_score === null ? "–" : verifier.mean_score.toFixed(3), verifier.mean_score === null ? null : scale(verifier.mean_score, verifier.threshold),
      verifier.votes && verifier.mean_score !== null ? h("small", null, "votes for a tried answer") : null),
    h("td", null, digits(verifier.threshold, 3)),
  ];
}

/// Whether every call had the same price, up to rounding of the sum.
const isFixed = ({ mean_price, ceiling }) => mean_price !== null && Math.abs(mean_price / Number(ceiling) - 1) < 1e-9;

function verifierTable(overview) {
  const { unit } = overview.money;
  const titles = [...VERIFIER_TITLES, "Noise", "Latency", "Price of a call"];
  const rows = overview.verifiers.map((verifier) => {
    const { noise } = verifier;
    return [
      ...verifierCells(verifier),
      h("td", null, noise ? percent(noise.disagreement) : "–", h("small", null, noise ? `mixed on ${count(noise.mixed)} of ${count(noise.answers)}` : verifier.exact ? "one call is enough" : "no answer seen twice")),
      ...(verifier.paid_with ? ["", ""].map(() => h("td", null, "–", h("small", null, "the same calls"))) : [
      h("td", null, duration(verifier.mean_latency), h("small", null, "on average")),
      h("td", null, verifier.mean_price === null ? "–" : paid(verifier.mean_price, verifier, unit), h("small", null, isFixed(verifier) ? "fixed" : `at most ${money(verifier.ceiling, unit)}`)),
      ]),
    ];
  });
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Verifiers" }, stackedTable(titles, rows));
}

const GENERATOR_TITLES = ["Generator", "Calls", "Failed", "New answers", "Certified"];

function generatorCells(generator) {
  return [...serviceCells(generator, generator.kind), h("td", null, count(generator.new)), h("td", null, count(generator.certified))];
}

/// The generators; null if there are none.
function generatorTable(overview) {
  const { unit } = overview.money;
  const generators = overview.questions?.generators ?? [];
  if (generators.length === 0) return null;
  const rows = generators.map((generator) => [
    ...generatorCells(generator),
    h("td", null, duration(generator.mean_latency), h("small", null, "on average")),
    h("td", null, generator.mean_price === null ? "–" : paid(generator.mean_price, generator, unit), h("small", null, isFixed(generator) ? "fixed" : `at most ${money(generator.ceiling, unit)}`)),
  ]);
  return h("div", { class: "scroll generators", tabindex: "0", role: "region", "aria-label": "Generators" }, stackedTable([...GENERATOR_TITLES, "Latency", "Price of a call"], rows));
}

/// A table whose rows are cards on a phone. Each cell has its title, because the heading row is hidden there.
function stackedTable(titles, rows) {
  for (const cells of rows) cells.forEach((cell, index) => { cell.dataset.title = titles[index]; });
  return h("table", { class: "stacked" }, h("thead", null, h("tr", null, titles.map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", null, rows.map((cells) => h("tr", null, cells))));
}

function moneyTable(overview) {
  const account = overview.money;
  const { unit } = account;
  const [spent, failed, possible, budget] = ["spent", "spent_on_failures", "possible", "budget"].map((name) => Number(account[name]));
  const line = (name, amount, words) => h("div", null, h("dt", null, name), h("dd", null, money(amount, unit)), h("dd", null, words));
  const raised = account.budgets.length > 1 ? `, raised from ${account.budgets.slice(0, -1).map((amount) => money(amount, unit)).join(", ")}` : "";
  const out = overview.out === 0 ? "nothing is set aside: no call is in flight"
    : `set aside for ${plural(overview.out, "call")} in flight; if the process died, they count as spent when the run is resumed`;
  const causes = account.failed.map((failed) => `${count(failed.calls)} × ${failed.cause}`).join(", ");
  const unknown = account.unknown_bills > 0;
  return [
    h("div", { class: "bar" }, stackedBar([["s-certified", spent - failed], ["s-rejected", failed], ["s-reserved", possible - spent]], Math.max(budget, possible), "spent, failed, and kept parts of the budget")),
    h("dl", { class: "money" },
      line("Budget", account.budget, `the hard limit${raised}`),
      line("Spent", account.spent, `on ${plural(overview.calls, "call")}${unknown ? `, with the expected cost of ${plural(account.unknown_bills, "call")} whose bills are not known` : ""}`),
      unknown ? line("At most", account.possible, "if these calls cost their ceilings, and with what is reserved; the budget bounds this amount") : null,
      line("Reserved", account.reserved, out),
      line("Left", account.left, unknown ? "beyond the most that may be owed" : "neither spent nor reserved"),
      line("Failed calls", account.spent_on_failures, failed > 0 ? `the part of the spend that gave no score: ${causes}` : causes ? `cost nothing: ${causes}` : "every call gave a score"),
      line("Overruns", account.overrun, account.overruns > 0 ? `${plural(account.overruns, "bill")} above the ceiling that was reserved` : "no bill was above the ceiling that was reserved")),
  ];
}

function promise(overview) {
  const item = (title, text) => h("li", null, h("b", null, title), ` ${text}`);
  const replayed = overview.verifiers.some((verifier) => verifier.kind === "replay");
  return [
    h("p", null, overview.promise, overview.doubt ? [" ", untrusted(overview.doubt)] : null),
    h("ul", null,
      item("What δ covers.", `δ = ${digits(overview.delta, 3)} bounds ${isAverage(overview) ? "the expected share of wrong certificates" : "the chance that any certificate at all is wrong"}. A certificate is wrong if the answer's mean score, over ${overview.mean_over}, is below some verifier's threshold. Truth is another matter.`),
      overview.questions ? item("Questions.", "Of each question at most one answer is certified. When one is, the others are not needed any more, whatever their scores are; an open question has no certified answer yet, which says nothing about its answers.") : null,
      overview.shares ? item("Shares of δ.", "An answer is lent a share of δ and needs evidence of 1/share, from calls made since; calls before that are looks. Certified, it returns its share. The bound is about all answers together, those that were added later among them.") : null,
      item("Fresh calls.", "Each call is a new run of its verifier. A cache, a fixed seed or duplicates raced against each other would break this, and δ with it."),
      item("Looking is free.", "The evidence may be looked at after every call, and the run stopped or resumed at any time: δ still holds. That is why no error bars stand beside the means here: intervals for a fixed number of calls would not."),
      item("Failures count against an answer.", "A call that timed out, broke off or could not be read counts as the lowest score. Only calls that never reached the verifier are made again. A score below the lowest that a verifier declares ends what that verifier can say about the answer."),
      item("Undecided is not a verdict.", "The money ran out, or went to answers with better chances. Rejected means that the evidence is against the answer, or that an exact check failed; there is no guarantee on that side."),
      replayed ? item("Recorded outcomes.", "A replay verifier takes its scores from a recording. Drawn with replacement they tell the mean of the recording; in order, each once, they stand for fresh calls if the recording was made of fresh calls and no run was looked at before.") : null),
  ];
}
