// The page: a question is asked, its run is followed, and the address says which one it is.
import { Problem, ask, begin, follow, insist, pause, told } from "/ui/api.js";
import { fill, given, lacking, problem } from "/ui/form.js";
import { list } from "/ui/history.js";
import { begun, finished, grown, informed, rewound } from "/ui/run.js";
import { View } from "/ui/view.js";
import { STATUSES } from "/ui/words.js";

const POLL = 1000; // ms between questions for what was spent
const QUIET = 4000; // ms between two things said aloud
const REPLAY = { most: 250, whole: 6000 }; // ms: of a step, of all of them

const at = (id) => document.getElementById(id);
const form = at("ask");
const home = document.title;
let leaving = new AbortController(); // ends what follows the run that is open
let run = null;
let view = null;
let due = false;
let spoken = { text: "", at: 0 };

// --- what is shown -------------------------------------------------------------------------------

function change(next) {
  run = next;
  if (due) return;
  due = true;
  const draw = () => ((due = false), run && view?.draw(run));
  document.hidden ? setTimeout(draw, POLL) : requestAnimationFrame(draw);
}

/** Said aloud by screen readers: what changed, not every step. */
function tell(text, { now = true } = {}) {
  if (text === spoken.text || (!now && Date.now() - spoken.at < QUIET)) return;
  spoken = { text, at: Date.now() };
  at("news").textContent = text;
}

function fail(error, again = start) {
  if (error.name === "AbortError") return;
  const shown = error instanceof Problem ? error : new Problem(`This page failed: ${error.message}`, "Reload it.");
  at("problem").replaceChildren(problem(shown, again));
  at("token")?.focus();
}

const clear = () => at("problem").replaceChildren();
const refresh = () => list(at("history"), run?.name).catch(() => {});

// --- a run ---------------------------------------------------------------------------------------

/** Show a run and follow it to its end. */
async function open(name, focus) {
  leaving.abort();
  const { signal } = (leaving = new AbortController());
  const summary = await told(`/api/runs/${encodeURIComponent(name)}`, { signal });
  view = new View(at("run"), { cancel, replay, again, tell, fail });
  change(begun(name, summary));
  refresh();
  tell("Research has begun.");
  document.title = `${summary.question} · ${home}`;
  if (focus) view.title.focus();
  const watched = watch(name, signal);
  for await (const frame of follow(name, signal, lost)) {
    change(grown(run, frame));
    tell(run.now, { now: false });
  }
  await end(name, signal);
  return watched;
}

/** Whether the connection is there. */
function lost(now) {
  if (now !== run.lost) change({ ...run, lost: now });
}

/** Ask now and then what it has spent and what it knows. */
async function watch(name, signal) {
  while (!run.ended) {
    await pause(POLL, signal).catch(() => {});
    if (signal.aborted || run.ended || run.replaying) return;
    const heard = await told(`/api/runs/${encodeURIComponent(name)}`, { signal }).catch(() => null);
    if (heard && !signal.aborted && !run.ended && !run.replaying) change(informed(run, heard));
  }
}

async function end(name, signal) {
  const path = `/api/runs/${encodeURIComponent(name)}`;
  const both = () => Promise.all([told(path, { signal }), told(`${path}/answer`, { signal })]);
  const [summary, answer] = await insist(both, signal, lost);
  clear();
  change(finished(informed(run, summary), answer));
  tell(run.cancelled ? "Stopped. What was found is kept." : `${STATUSES[answer.status]}. The answer is below the question.`);
  refresh();
}

async function cancel() {
  if (run.cancelling) return;
  change({ ...run, cancelling: true });
  tell("Stopping");
  try {
    await ask(`/api/runs/${encodeURIComponent(run.name)}/cancel`, { method: "POST" });
  } catch (error) {
    change({ ...run, cancelling: false });
    fail(error, cancel);
  }
}

/** Play what happened once more, from what is known here; nothing is asked again. */
async function replay() {
  const { frames, ...whole } = run;
  const { signal } = leaving;
  const steps = frames.filter((frame) => frame.type !== "answer");
  change(rewound(run));
  view.title.focus();
  for (const frame of steps) {
    change({ ...grown(run, frame), replaying: true });
    await pause(Math.min(REPLAY.most, REPLAY.whole / steps.length), signal).catch(() => {});
    if (signal.aborted) return;
  }
  change({ ...whole, frames });
  tell("The replay has ended.");
}

function again() {
  form.elements.question.value = run.question;
  form.elements.question.focus();
}

// --- asking, and the address ---------------------------------------------------------------------

async function submit() {
  clear();
  const asked = given(form);
  const missing = lacking(asked);
  form.elements.question.setAttribute("aria-invalid", String(Boolean(missing)));
  if (missing) {
    fail(new Problem(missing));
    return form.elements.question.focus();
  }
  const send = form.querySelector("button");
  send.disabled = true;
  try {
    const name = await begin(asked);
    history.pushState(null, "", `/?run=${encodeURIComponent(name)}`);
    show({ focus: true });
  } catch (error) {
    fail(error, submit);
  } finally {
    send.disabled = false;
  }
}

/** Show what the address names. */
async function show({ focus = false } = {}) {
  clear();
  const name = new URLSearchParams(location.search).get("run");
  try {
    if (name) return await open(name, focus);
    leaving.abort();
    run = view = null;
    at("run").replaceChildren();
    document.title = home;
    refresh();
    form.elements.question.focus();
  } catch (error) {
    fail(error, error.status === 401 ? start : show);
  }
}

async function start() {
  const status = await told("/api/status").catch((error) => ({ ready: false, error: error.message, remedy: error.remedy }));
  const { provider, model } = status;
  at("model").textContent = status.ready ? (provider === "extractive" ? "No model: answers are quoted from sources" : model) : "";
  const refused = await fill(form).catch((error) => error);
  show();
  if (refused?.status === 401) fail(refused);
  else if (!status.ready) fail(new Problem(status.error, status.remedy));
}

form.addEventListener("submit", (event) => (event.preventDefault(), submit()));
form.elements.question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-run]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  show({ focus: true });
  at("run").scrollIntoView({ block: "start" });
});
addEventListener("popstate", () => show());
start();
