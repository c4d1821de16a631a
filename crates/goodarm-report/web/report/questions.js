// The table of questions, and one question: what was asked, every answer that was tried, and every call.

const ANSWERS_AT_ONCE = 20;

class Questions extends Answers {
  titlesOf() {
    return [["status", "Status"], ["id", "Question"], ["tried", "Tried"], ["calls", "Calls"], ["spent", "Spent"]];
  }

  setWidths() {
    this.table.classList.add("questions");
    this.table.style.setProperty("--columns", "7rem minmax(13rem, 1fr) 3.5rem 3.5rem 5.5rem");
  }

  get noun() {
    return "question";
  }

  numbers(column) {
    return column === "tried" ? this.columns.tried : super.numbers(column);
  }

  texts(question) {
    const { f, a } = this.detail(question);
    return [this.columns.ids[question], ...f.map((field) => field[1]), ...a.flatMap((answer) => [answer.i, ...answer.f.map((field) => field[1])])];
  }

  row(place) {
    const question = this.order[place];
    const { ids, calls, spent, tried } = this.columns;
    const detail = this.detail(question);
    const certified = detail.a.find((answer) => answer.c === "c");
    const cell = (attributes, ...children) => h("div", { role: "gridcell", ...attributes }, ...children);
    const said = certified ? untrusted(preview(answerText(certified), 220)) : h("span", { class: "open" }, "no certified answer");
    return h("div", { class: "row", role: "row", "data-place": place, "aria-rowindex": place + 2 },
      cell(null, this.standing(question)),
      cell({ class: "who" }, h("div", { class: "ask" }, untrusted(preview(ids[question], 60), "bdi", { class: "id" }), untrusted(preview(questionText(detail), 220))),
        h("div", { class: "say" }, said)),
      cell({ class: "num tried-of" }, count(tried[question])),
      cell({ class: "num calls-of" }, count(calls[question])),
      cell({ class: "num" }, money(spent[question], this.overview.money.unit)));
  }

  openPage(place) {
    showQuestion(this, place);
  }
}

/// The field that most likely is the question.
const questionText = ({ f }) => asked(f)[0] ?? f[0]?.[1] ?? "";

/// What most likely is the text of an answer.
const answerText = ({ f }) => asked(f)[1] ?? "";

function showQuestion(table, place) {
  const question = table.order[place];
  const detail = table.detail(question);
  const { overview, columns } = table;
  const certified = detail.a.find((answer) => answer.c === "c");
  const texts = detail.f.length === 0 && overview.notes.length === 0 ? [h("p", { class: "why" }, "This question has no fields but its id.")] : fieldList(detail, "answers.jsonl");
  openDialog(table, place, [...texts,
    h("h3", null, "Certified answer"), certified ? answerTexts(certified) : h("p", { class: "why" }, openWords(detail, columns.tried[question])),
    h("h3", null, "Answers tried"), h("p", { class: "why" }, spentWords(detail, columns, question, overview)), ...triedList(detail, columns.tried[question], overview),
    h("h3", null, "Calls"), ...callList(table.calls(question), overview, columns.calls[question], (about) => calledAbout(about, detail))]);
}

const openWords = (detail, tried) => (tried === 0 ? "None: no answer was tried." : tried === 1 ? "None: the only answer that was tried is not certified." : `None of the ${count(tried)} answers that were tried is certified.`);

function spentWords({ m, g }, columns, question, { money: { unit } }) {
  const purposes = ["making answers", "solving the question", "checking answers one by one"];
  const parts = purposes.flatMap((purpose, index) => (m[index] > 0 ? [`${money(m[index], unit)} for ${purpose}`] : []));
  const askedFor = g > 0 ? ` ${plural(g, "fresh answer")} ${g === 1 ? "was" : "were"} asked for; those that came again, or failed, are only among the calls.` : "";
  return `${moneyWords(columns.spent[question], unit)} in all${parts.length ? `: ${parts.join(", ")}` : ""}.${askedFor}`;
}

/// The texts of an answer. The only field of an answer is shown without its name.
function answerTexts(answer) {
  const file = `${STATUSES[answer.c]}.jsonl`;
  if (answer.f.length === 1) return h("div", { class: "field wide" }, longText(answer.f[0][1], answer.f[0][2], file));
  return answer.f.length === 0 ? untrusted(answer.i, "p") : h("div", null, fieldList(answer, file));
}

/// Every answer, a few at a time.
function triedList(detail, total, overview) {
  const list = h("div", { class: "tried" });
  const shown = () => list.children.length;
  const more = h("button", { type: "button", class: "more" }, "");
  const show = () => {
    list.append(...detail.a.slice(shown(), shown() + ANSWERS_AT_ONCE).map((answer) => triedAnswer(answer, overview)));
    const left = detail.a.length - shown();
    more.hidden = left === 0;
    more.textContent = `Show ${count(Math.min(left, ANSWERS_AT_ONCE))} more of ${plural(left, "answer")}`;
  };
  more.addEventListener("click", show);
  show();
  return [list, more, detail.a.length < total ? h("p", { class: "cut" }, `The page keeps ${count(detail.a.length)} of ${plural(total, "answer")}; all of them are in answers.jsonl.`) : null];
}

function triedAnswer(answer, overview) {
  const status = STATUSES[answer.c];
  const origin = answer.o === "given" ? "given" : h("span", null, "by ", untrusted(preview(answer.o, 60)));
  const why = answer.w ? untrusted(answer.w, "p", { class: "why" }) : null;
  const evidence = h("details", answer.c === "c" ? { open: "" } : null, h("summary", null, "Evidence"), loanWords(answer.s) ? h("p", { class: "why" }, loanWords(answer.s).trim()) : null,
    h("div", { class: "cards" }, answer.p.map((pair, index) => evidenceCard(pair, overview.verifiers[index], overview))));
  return h("section", { class: "try" }, h("p", { class: "from" }, statusMark(status), untrusted(preview(answer.i, 60), "bdi", { class: "id" }), origin), answerTexts(answer), why, evidence);
}

/// Which answer a call is about, if it is not about the question.
function calledAbout(about, detail) {
  if (about === null) return h("small", null, "on the question");
  return h("small", null, "on ", untrusted(preview(detail.a[about]?.i ?? "another answer", 60)));
}
