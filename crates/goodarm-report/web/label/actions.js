// The reply to a card: two buttons and a skip, a number, or a text. Each has its keys.

const SAY_KEYS = { ArrowRight: "right", r: "right", ArrowLeft: "wrong", w: "wrong", s: "skip" };

function showActions(wanted) {
  const element = byId("actions");
  element.hidden = !wanted;
  element.classList.toggle("typed", Boolean(wanted) && wanted !== "verdict");
  if (!wanted) return replace(element);
  const skip = sayButton("skip-card", null, "Skip", wanted === "answer" ? "Esc S" : "S", () => say("skip"));
  if (wanted === "verdict") {
    replace(element,
      sayButton("wrong", "rejected", "Wrong", "←", () => say("wrong")), skip,
      sayButton("right", "certified", "Right", "→", () => say("right")));
  } else if (wanted === "answer") {
    answerBox(element, skip);
  } else {
    scoreBox(element, skip, wanted.score);
  }
}

function sayButton(name, icon, words, key, act) {
  const button = h("button", { type: "button", class: `say ${name}`, "data-say": name }, icon ? mark(icon) : null, h("span", null, words), h("kbd", { "aria-hidden": "true" }, key));
  button.addEventListener("click", act);
  return button;
}

function scoreBox(element, skip, { lowest, highest }) {
  const fault = h("p", { class: "fault", role: "alert" });
  const input = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", id: "said" });
  const give = () => {
    const text = input.value.trim().replace(",", ".");
    const score = Number(text);
    const isFit = text !== "" && Number.isFinite(score) && score >= lowest && score <= highest;
    fault.textContent = isFit ? "" : `A number from ${lowest} to ${highest} is needed.`;
    if (isFit) say({ score });
    else input.focus();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.repeat) give();
    // No score begins with a letter.
    else if (input.value === "" && /^[su?]$/i.test(event.key)) input.blur();
  });
  replace(element, fault, h("label", { class: "box" }, `Score, from ${lowest} to ${highest}`, input), skip, sayButton("primary", null, "Give", "Enter", give));
  input.focus();
}

function answerBox(element, skip) {
  const fault = h("p", { class: "fault", role: "alert" });
  const input = h("textarea", { id: "said", spellcheck: "true", dir: "auto" });
  const place = `draft ${desk.card.key}`;
  input.value = kept(place) ?? "";
  // A long answer survives a reload.
  input.addEventListener("input", () => keep(place, input.value));
  const give = () => {
    const isFit = input.value.trim() !== "";
    fault.textContent = isFit ? "" : "An answer is needed, or skip.";
    if (isFit) say({ answer: input.value });
    else input.focus();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat) give();
  });
  replace(element, fault, h("label", { class: "box" }, "Your answer", input), skip, sayButton("primary", null, "Give", "Ctrl+Enter", give));
  input.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.id === "said") event.target.blur();
  // After Escape has left the box, its key is not handled as typing.
  const isTyping = document.activeElement.matches("input, textarea");
  // A key that is held down must not label card after card.
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || isTyping || byId("dialog").open) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === "?") showHelp();
  else if (key === "u") takeBack();
  else if (SAY_KEYS[key] && desk.card && (desk.card.wanted === "verdict" || SAY_KEYS[key] === "skip")) say(SAY_KEYS[key]);
  else return;
  event.preventDefault();
});
