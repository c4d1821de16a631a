// One answer: its fields, its evidence, and every call about it.

const CALLS_AT_ONCE = 100;

function showAnswer(table, place) {
  const answer = table.order[place];
  const detail = table.detail(answer);
  const { overview, columns } = table;
  const status = STATUSES[columns.status[answer]];
  const texts = detail.f.length === 0 && overview.notes.length === 0 ? [h("p", { class: "why" }, "This answer has no fields but its id.")] : fieldList(detail, `${status}.jsonl`);
  openDialog(table, place, [...texts,
    h("h3", null, "Evidence"), h("p", { class: "why" }, verdict(status, columns.rank[answer]), loanWords(detail.s)),
    h("div", { class: "cards" }, detail.p.map((pair, index) => evidenceCard(pair, overview.verifiers[index], overview))),
    h("h3", null, "Calls"), ...callList(table.calls(answer), overview, columns.calls[answer])]);
}

/// Opens the dialog of a row.
function openDialog(table, place, parts) {
  const dialog = byId("answer");
  const body = h("div", { class: "dbody", tabindex: "0" });
  replace(dialog, dialogHead(table, place), body);
  replace(body, ...parts);
  if (!dialog.open) dialog.showModal();
  body.scrollTop = 0;
  body.focus({ preventScroll: true });
  rememberOpen(table.columns.ids[table.order[place]]);
}

/// Keys and clicks while an answer is open.
function listenToDialog(table) {
  const dialog = byId("answer");
  dialog.addEventListener("close", () => {
    rememberOpen(null);
    table.focus(table.active);
  });
  // A click outside the dialog closes it.
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    if (step !== 0) table.open(table.active + step);
  });
}

function dialogHead(table, place) {
  const button = (text, label, go, isOff) => {
    const element = h("button", { type: "button", "aria-label": label }, text);
    element.disabled = isOff;
    element.addEventListener("click", go);
    return element;
  };
  return h("div", { class: "dhead" }, statusMark(STATUSES[table.columns.status[table.order[place]]]), untrusted(preview(table.columns.ids[table.order[place]], 120), "h2", { id: "answer-title" }),
    button("←", `${table.noun[0].toUpperCase()}${table.noun.slice(1)} before this one`, () => table.open(table.active - 1), place === 0),
    button("→", `Next ${table.noun}`, () => table.open(table.active + 1), place + 1 >= table.order.length),
    button("Close", "Close", () => byId("answer").close(), false));
}

function verdict(status, rank) {
  if (status === "certified") return `Certificate ${count(rank)} of this run: the evidence of every verifier is enough.`;
  if (status === "rejected") return "The evidence is against this answer, or an exact check failed. There is no guarantee on this side.";
  return "Not enough evidence for a certificate, and not enough against the answer.";
}

/// The answer's share of δ, if shares are lent.
function loanWords(loan) {
  if (!loan) return null;
  const { share, looks, counted } = loan;
  if (share === null) return looks > 0 ? ` It has no share of δ yet: its ${plural(looks, "score")} so far were looks.` : " It has no share of δ yet.";
  return ` It was lent ${percent(Math.round(1000 * share) / 1000)} of δ; since then it has ${plural(counted, "score")} that count, and before that ${plural(looks, "look")}.`;
}

function fieldList(detail, file) {
  const [question, said] = asked(detail.f);
  const first = (field) => (field[1] === question ? 0 : field[1] === said ? 1 : 2);
  const fields = [...detail.f].sort((a, b) => first(a) - first(b));
  const list = fields.map((field) => h("div", { class: "field wide" }, untrusted(field[0], "h4"), longText(field[1], field[2], file)));
  const hidden = detail.n - detail.f.length - 1;
  if (hidden > 0) list.push(h("p", { class: "cut" }, `${plural(hidden, "more field")}: all of them are in ${file}.`));
  return list;
}

/// A text; if it was cut, with the file that has all of it.
function longText(text, total, file) {
  const element = untrusted(text, "div", { class: "text", dir: "auto" });
  if (text.length > 1200) element.tabIndex = 0; // so that the keyboard can scroll it
  if (total) element.append(h("span", { class: "cut" }, ` … cut: ${count(total)} bytes in all; the whole text is in ${file}`));
  return element;
}

function evidenceCard(pair, verifier, overview) {
  const [calls, mean, evidence, needed, met, spent, means, shares] = pair;
  const { unit } = overview.money;
  const head = [untrusted(verifier.name, "h4")];
  if (calls === 0) return h("div", { class: "card" }, head, h("p", null, "not asked"));
  if (verifier.exact) return h("div", { class: "card" }, head, h("p", null, `exact: one call is enough · ${paid(spent, verifier, unit)}`), outcome(met));
  const meanHolder = h("div", { class: "trail" });
  const shareHolder = h("div", { class: "trail" });
  const words = evidence !== null && needed !== null ? `evidence ${digits(evidence, 3)} of ${digits(needed, 3)} needed (ln E): ${met ? "enough" : "not enough"}` : needed === null && !met ? "no share yet: calls so far were looks" : met ? "evidence: enough" : "evidence: not enough";
  if (means) trailChart(meanHolder, trail(means, calls, MEAN_STEPS), calls,
    { line: verifier.threshold, top: 1, lineLabel: `≥ ${digits(verifier.threshold, 3)}`, met, label: `mean score ${score(mean)} after ${plural(calls, "call")}` });
  if (shares && needed !== null) trailChart(shareHolder, trail(shares, calls, SHARE_STEPS), calls, { line: 1, top: 1.125, lineLabel: "enough", met, label: words });
  const of = verifier.votes ? `${plural(calls, "vote")} on the question` : `${plural(calls, "call")} · ${verifier.paid_with ? "the same calls" : paid(spent, verifier, unit)}`;
  return h("div", { class: "card" }, head, h("p", null, `mean score ${score(mean)} · ${of}`), meanHolder,
    h("p", null, words), shares && needed !== null ? shareHolder : null);
}

/// Calls, a hundred at a time. `about` names the answer of a call, if the list is about a question.
function callList(calls, overview, total, about = null) {
  if (total === 0) return [h("p", { class: "why" }, about ? "No service was asked about this question." : "No verifier was asked about this answer.")];
  const titles = ["#", overview.questions ? "Called" : "Verifier", overview.questions ? "Score or answer" : "Score", "Cost", "Latency", "At", "Reply"];
  const rows = h("tbody");
  const more = h("button", { type: "button", class: "more" }, "");
  const show = () => {
    const next = calls.slice(rows.children.length, rows.children.length + CALLS_AT_ONCE);
    next.forEach((call) => rows.append(about ? callRow(call[1], rows.children.length + 1, overview, about(call[0])) : callRow(call, rows.children.length + 1, overview)));
    const left = calls.length - rows.children.length;
    more.hidden = left === 0;
    more.textContent = `Show ${count(Math.min(left, CALLS_AT_ONCE))} more of ${plural(left, "call")}`;
  };
  more.addEventListener("click", show);
  show();
  const isCut = calls.length < total;
  return [h("table", { class: "calls" }, h("thead", null, h("tr", null, titles.map((title) => h("th", { scope: "col", class: title === "Reply" ? "said" : "" }, title)))), rows), more,
    isCut ? h("p", { class: "cut" }, `The page keeps the first ${count(calls.length)} of ${plural(total, "call")}; all of them are in calls.jsonl.`) : null];
}

function callRow(call, number, overview, about = null) {
  const [verifier, given, cost, millis, seconds, failure = "", reply = "", reason = "", total = 0] = call;
  const service = servicesOf(overview)[verifier];
  const one = (score) => (score === null ? "–" : digits(score, 4));
  const result = failure ? h("span", { class: "fail" }, failure) : typeof given === "string" ? untrusted(preview(given, 60), "bdi", { class: "final" }) : Array.isArray(given) ? given.map(one).join(" · ") : digits(given, 4);
  const said = [];
  if (reason) said.push(untrusted(reason, "div", { class: "text fail" }));
  if (reply || total) said.push(longText(reply, total, "calls.jsonl"));
  return h("tr", null, h("td", null, count(number)), h("td", null, untrusted(preview(serviceName(service), 60)), about), h("td", null, result),
    h("td", null, paid(cost, service, overview.money.unit)), h("td", null, duration(millis / 1000)), h("td", { class: "when" }, duration(seconds)), h("td", { class: "said" }, said));
}
