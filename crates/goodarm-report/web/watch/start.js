// Polls the state of the run, about once a second, and only while the page is visible. A failed request is
// sent again.

const POLL_MILLIS = 1000;
const LOST_POLL_MILLIS = 5000;
const PATIENCE = 3; // failed requests

/// The response of goodarm, or null.
async function ask(path, method = "GET") {
  try {
    const response = await fetch(path, { method, cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(8000) });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

const watched = { state: null, table: null, failures: 0, timer: 0, isAsking: false };

async function poll() {
  if (watched.isAsking || document.hidden || watched.state?.phase === "ended") return;
  clearTimeout(watched.timer);
  watched.isAsking = true;
  const state = await ask(`state?known=${watched.table?.rankKnown ?? 0}`);
  watched.isAsking = false;
  if (state) show(state);
  else missed();
  const pause = watched.failures >= PATIENCE ? LOST_POLL_MILLIS : POLL_MILLIS;
  watched.timer = setTimeout(poll, pause);
}

function show(state) {
  watched.failures = 0;
  watched.state = state;
  showLive(state);
  if (watched.table) {
    watched.table.append(state);
    return;
  }
  watched.table = new LiveAnswers(state);
  listenToDialog(watched.table);
  watched.table.append(state).then(() => showAddress(watched.table));
}

function missed() {
  watched.failures += 1;
  if (watched.failures < PATIENCE) return;
  const { state } = watched;
  byId("page").hidden = false;
  showPhase("lost");
  document.title = state ? `${shortWords(state)}, gone` : "goodarm does not answer";
  const words = state
    ? `goodarm no longer answers: the run has ended, or its process is gone. Nothing is lost. To see the report: goodarm report ${state.folder}\nIf it was stopped, resume it with: ${state.resume}`
    : "goodarm does not answer at this address.";
  redraw("word", words, (element) => replace(element, untrusted(words, "p")));
}

byId("pause").addEventListener("click", async () => {
  const button = byId("pause");
  button.disabled = true;
  await ask(watched.state?.phase === "paused" ? "resume" : "pause", "POST");
  await poll();
  button.disabled = false;
});

document.body.prepend(hatching());
document.addEventListener("visibilitychange", poll);
poll();
