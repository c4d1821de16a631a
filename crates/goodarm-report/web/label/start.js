// Gets cards from goodarm and sends it the person's replies. A card stays on the page until goodarm has written
// the reply to disk.

const POLL_MILLIS = 4000;
const desk = { by: null, card: null, about: null, isBusy: false };

const kept = (name) => { try { return sessionStorage.getItem(name); } catch { return null; } };
const keep = (name, text) => { try { sessionStorage.setItem(name, text); } catch { /* a browser that keeps nothing */ } };

/// The response of goodarm, or null.
async function ask(path, body) {
  try {
    const response = await fetch(path, { method: "POST", body: JSON.stringify(body), cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(14000) });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

/// A request whose response shows a card; one request at a time.
async function turn(path, body, again) {
  if (desk.isBusy) return null;
  desk.isBusy = true;
  byId("card").setAttribute("aria-busy", "true");
  const state = await ask(path, { by: desk.by, ...body });
  desk.isBusy = false;
  byId("card").removeAttribute("aria-busy");
  if (!state) {
    const command = desk.about ? ` with ${desk.about.command}` : "";
    loud(`goodarm does not answer, so this was not kept. All earlier labels are on disk.\nIf it has ended, start it again${command}, and open the new address.`, again);
    return null;
  }
  if (state.failed) {
    loud(`This could not be kept: ${state.failed}`, again);
    return null;
  }
  replace(byId("alert"));
  if (state.refused) quietly(state.refused);
  show(state);
  return state.refused ? null : state;
}

async function say(said) {
  const { card } = desk;
  if (!card) return;
  const state = await turn("say", { key: card.key, said }, () => say(said));
  if (!state) return;
  keep(`draft ${card.key}`, "");
  tell(`Kept: ${preview(saidWords(said), 60)}.`);
}

async function takeBack() {
  if (!desk.about?.can_undo) return;
  const state = await turn("undo", {}, takeBack);
  if (state) tell("Taken back.");
}

/// Announces what happened, and the next card.
function tell(words) {
  const { card } = desk;
  const next = card ? `Next: ${preview(asked(card.fields.map((field) => [field.name, field]))[0]?.text ?? card.id, 120)}` : "No card waits for you.";
  byId("live").textContent = `${words} ${next}`;
}

function show(state) {
  desk.about = state;
  document.title = `${count(state.standing.done)} of ${count(state.standing.all)} labelled`;
  byId("page").hidden = false;
  replace(byId("where"), untrusted(preview(state.folder, 200)));
  showStanding(state.standing);
  if (desk.by === null) return;
  byId("who").textContent = preview(desk.by, 40);
  byId("who").setAttribute("aria-label", `You are ${preview(desk.by, 40)}. Change your name`);
  if (state.terms.length > 0) return showTerms(state.terms);
  showLast(state.last);
  const isSame = state.card && desk.card?.key === state.card.key;
  desk.card = state.card;
  // The same card: what the person reads or types stays.
  if (isSame) return;
  if (state.card) {
    showCard(state.card);
    showActions(state.card.wanted);
    scrollTo(0, 0);
  } else {
    showActions(null);
    showEnd(state.standing);
  }
}

/// The terms of a claim that has not begun. The order of the cards is drawn only after them.
function showTerms(terms) {
  byId("last").hidden = true;
  showActions(null);
  const begin = sayButton("primary", null, "Begin", "Enter", () => turn("begin", {}, () => begin.click()));
  begin.id = "begin";
  // A key that is held down since the dialog must not begin a claim.
  begin.addEventListener("keydown", (event) => { if (event.repeat) event.preventDefault(); });
  replace(byId("card"), h("div", { class: "terms" }, h("h1", { id: "asks" }, "Before the first card"), h("ul", null, terms.map((line) => untrusted(line, "li"))), begin));
  begin.focus();
}

/// With a capital letter and a full stop.
const sentence = (text) => text && text[0].toUpperCase() + text.slice(1) + (/[.!?)]$/.test(text) ? "" : ".");

function showStanding({ statement, outlook, done, all }) {
  replace(byId("statement"), untrusted(sentence(statement)));
  replace(byId("outlook"), untrusted(sentence(outlook)));
  byId("bar").style.width = `${all > 0 ? (100 * done) / all : 0}%`;
  const track = byId("track");
  track.setAttribute("aria-valuenow", done);
  track.setAttribute("aria-valuemax", all);
  byId("far").textContent = `${count(done)} of ${plural(all, "card")}`;
}

function showEnd({ done, all }) {
  const words = done >= all ? "All cards have their labels." : "The other cards wait for somebody else.";
  replace(byId("card"), h("div", { class: "nothing" }, mark("certified"), h("h1", { id: "asks" }, "Nothing waits for you"),
    h("p", null, `${words} Everything is on the disk.\nEnd goodarm with Ctrl-C in its terminal; a new card would come up here.`)));
}

function loud(words, again) {
  const retry = h("button", { type: "button" }, "Try again");
  retry.addEventListener("click", again);
  replace(byId("alert"), h("div", { class: "loud" }, untrusted(words, "p", { class: "words" }), retry));
  byId("alert").scrollIntoView({ block: "nearest" });
}

const quietly = (words) => replace(byId("alert"), h("div", null, untrusted(words, "p", { class: "words" })));

/// Others may have labelled cards meanwhile, and a run may add cards.
async function poll() {
  if (!document.hidden && !desk.isBusy && desk.by !== null && !byId("dialog").open) {
    const state = await ask("state", { by: desk.by });
    if (state && !state.failed && !desk.isBusy) {
      if (desk.card) showStanding(state.standing);
      else if (state.card) show({ ...state, last: null });
    }
  }
  setTimeout(poll, POLL_MILLIS);
}

function openDialog(title, ...parts) {
  const dialog = byId("dialog");
  const close = h("button", { type: "button", "aria-label": "Close" }, "Close");
  close.addEventListener("click", () => dialog.close());
  replace(dialog, h("div", { class: "dhead" }, h("h2", { id: "dialog-title" }, title), desk.by === null ? null : close), h("div", { class: "dbody" }, parts));
  if (!dialog.open) dialog.showModal();
}

function showHelp() {
  const keys = [[["→", "R"], "right"], [["←", "W"], "wrong"], [["S"], "skip: you cannot tell, which counts against the claim"], ...(desk.about?.can_undo ? [[["U"], "take back your last label"]] : []), [["↑", "↓"], "scroll"], [["Enter"], "give a score"], [["Ctrl", "Enter"], "give an answer"], [["Esc"], "leave the box, so that the other keys work"], [["?"], "this help"]];
  const row = ([names, words]) => h("tr", null, h("td", null, names.flatMap((name) => [h("kbd", null, name), " "])), h("td", null, words));
  openDialog("Keys", h("table", null, h("tbody", null, keys.map(row))));
}

function showDone() {
  const { standing, command } = desk.about ?? {};
  if (!standing) return;
  openDialog("What was kept", untrusted(sentence(standing.statement), "p"), standing.outlook ? untrusted(sentence(standing.outlook), "p") : null,
    h("p", null, "All labels are on the disk. You may close this page; Ctrl-C in the terminal ends goodarm and updates the report. To continue later: ", untrusted(command, "code")));
}

function askName() {
  const input = h("input", { type: "text", maxlength: "60", autocomplete: "name", id: "name" });
  input.value = desk.by ?? kept("name") ?? desk.about?.by ?? "";
  const begin = async () => {
    const name = input.value.trim();
    if (name === "") return input.focus();
    keep("name", name);
    desk.by = name;
    desk.card = null;
    byId("dialog").close();
    await turn("state", {}, begin);
  };
  input.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.repeat) begin(); });
  openDialog("Who labels?", h("p", null, "Your name is kept with each of your labels."), h("label", null, "Name", input), sayButton("primary", null, "Continue", "Enter", begin));
  input.select();
}

byId("dialog").addEventListener("cancel", (event) => { if (desk.by === null) event.preventDefault(); });
byId("help").addEventListener("click", showHelp);
byId("done").addEventListener("click", showDone);
byId("who").addEventListener("click", askName);

(async () => {
  desk.by = kept("name");
  const state = await turn("state", {}, () => location.reload());
  if (!state) return;
  if (desk.by === null) askName();
  poll();
})();
