// One card: what is asked, the question and the answer large, everything else small. Long texts come in
// pieces, so that no text freezes the page.

const FIRST_CHARS = 6000;
const MORE_CHARS = 200000;
const SHORT_CHARS = 60; // an answer that is shown in large letters

function showCard(card) {
  const element = byId("card");
  element.removeAttribute("aria-busy");
  const named = card.fields.map((field) => [field.name, field]);
  const [question, answer] = card.wanted === "answer" ? [asked(named)[0] ?? card.fields[0], null] : asked(named);
  const others = card.fields.filter((field) => field !== question && field !== answer);
  replace(element,
    h("div", { class: "head-line" }, untrusted(card.asks, "h1", { id: "asks" }), untrusted(preview(card.id, 120), "p", { class: "id", title: preview(card.id, 300) })),
    question ? fieldView(question, "question") : null,
    answer ? fieldView(answer, `answer${answer.text.length <= SHORT_CHARS && !answer.text.includes("\n") ? " short" : ""}`) : null,
    others.length > 0 ? h("div", { class: "others" }, others.map((field) => fieldView(field, field.text.length > 200 ? "wide" : ""))) : null);
  for (const text of element.querySelectorAll(".text")) reachable(text);
}

function fieldView(field, kind) {
  const first = cutAt(field.text, FIRST_CHARS);
  const text = untrusted(first, "div", { class: "text", dir: "auto" });
  const view = h("div", { class: `field ${kind}` }, untrusted(preview(field.name, 80), "h2"), text);
  let shown = first.length;
  const more = h("button", { type: "button", class: "more" });
  const label = () => {
    const left = field.text.length - shown;
    more.textContent = left > MORE_CHARS ? `Show ${count(MORE_CHARS)} more of ${count(left)} characters` : `Show all: ${count(left)} more characters`;
  };
  more.addEventListener("click", () => {
    const piece = cutAt(field.text.slice(shown), MORE_CHARS);
    shown += piece.length;
    text.append(untrusted(piece, "span"));
    reachable(text);
    if (shown >= field.text.length) more.replaceWith(...leftOut(field));
    else label();
  });
  if (shown < field.text.length) {
    label();
    view.append(more);
  } else {
    view.append(...leftOut(field));
  }
  return view;
}

/// A note about bytes that goodarm has not sent.
const leftOut = (field) => (field.left_out ? [h("p", { class: "cut" }, `${count(field.left_out)} more bytes are in the run's folder`)] : []);

/// The beginning of a text; no character is cut in two.
function cutAt(text, length) {
  if (text.length <= length) return text;
  return /[\ud800-\udbff]/.test(text[length - 1]) ? text.slice(0, length - 1) : text.slice(0, length);
}

/// Makes a long text scrollable by keys.
function reachable(text) {
  if (text.scrollHeight > text.clientHeight + 1) {
    text.tabIndex = 0;
    text.setAttribute("role", "region");
    text.setAttribute("aria-label", "Text that scrolls");
  }
}

/// The reply to the last card, and its evidence, which is shown only now so that it does not bias the person.
function showLast(last) {
  const element = byId("last");
  element.hidden = false;
  element.classList.toggle("waiting", !last);
  const undo = h("button", { type: "button", class: "act", id: "undo" }, "Undo ", h("kbd", null, "U"));
  undo.addEventListener("click", takeBack);
  const { can_undo: canUndo } = desk.about;
  if (!last) return replace(element, h("p", { class: "hint" }, "The verifiers' scores of a card appear here after you have labelled it, so that they do not influence you."), canUndo ? undo : null);
  replace(element,
    h("h2", null, "The card before"),
    h("p", { class: "said" }, saidMark(last.said), h("span", null, "you said ", untrusted(preview(saidWords(last.said), 160), "b"), " about ", untrusted(preview(last.id, 60), "bdi", { class: "id", title: preview(last.id, 300) }))),
    last.evidence.length > 0 ? h("dl", { tabindex: "0", "aria-label": "What the verifiers say" }, last.evidence.flatMap((field) => [untrusted(preview(field.name, 80), "dt"), untrusted(cutAt(field.text, 2000), "dd")])) : null,
    canUndo ? undo : null);
}

const saidWords = (said) => (typeof said === "string" ? said : String(said.score ?? said.answer));

const saidMark = (said) => mark({ right: "certified", wrong: "rejected" }[said] ?? "undecided");
