// The page: a question is asked and its run is followed. The address names the run that is open.
import {
  beginRun,
  fetchJson,
  followRun,
  Problem,
  pause,
  request,
  retryUntilAnswered,
  runPath,
} from "/ui/api.js";
import { fillChoices, problemElement, questionFault, readForm } from "/ui/form.js";
import { listRuns } from "/ui/history.js";
import { STATUSES } from "/ui/labels.js";
import { forReplay, newRun, withAnswer, withFrame, withSummary } from "/ui/run.js";
import { View } from "/ui/view.js";

const POLL_INTERVAL = 1000; // ms between requests for what was spent
const ANNOUNCE_INTERVAL = 4000; // ms between announcements of progress
const REPLAY = { longestStep: 250, whole: 6000 }; // ms

const byId = (id) => document.getElementById(id);
const form = byId("ask");
const homeTitle = document.title;
let following = new AbortController(); // stops following the run that is open
let run = null;
let view = null;
let isDrawDue = false;
let announced = { text: "", at: 0 };

// --- what is shown -------------------------------------------------------------------------------

/** Change the run, and draw it with the next frame of the browser. */
function changeRun(next) {
  run = next;
  if (isDrawDue) return;
  isDrawDue = true;
  if (document.hidden) setTimeout(draw, POLL_INTERVAL);
  else requestAnimationFrame(draw);
}

function draw() {
  isDrawDue = false;
  if (run) view?.draw(run);
}

/** Have screen readers say what changed. */
function announce(text) {
  if (text === announced.text) return;
  announced = { text, at: Date.now() };
  byId("news").textContent = text;
}

/** The same for progress, which is not announced at every step. */
function announceProgress(text) {
  if (Date.now() - announced.at >= ANNOUNCE_INTERVAL) announce(text);
}

function showProblem(error, retry = start) {
  if (error.name === "AbortError") return;
  const isProblem = error instanceof Problem;
  const problem = isProblem
    ? error
    : new Problem(`This page failed: ${error.message}`, "Reload it.");
  byId("problem").replaceChildren(problemElement(problem, retry));
  byId("token")?.focus();
}

const clearProblem = () => byId("problem").replaceChildren();
const refreshHistory = () => listRuns(byId("history"), run?.name).catch(() => {});

// --- a run ---------------------------------------------------------------------------------------

/** Show a run and follow it to its end. */
async function openRun(name, focus) {
  following.abort();
  following = new AbortController();
  const { signal } = following;
  const summary = await fetchJson(runPath(name), { signal });
  view = new View(byId("run"), { cancel, replay, askAgain, announce, showProblem });
  changeRun(newRun(name, summary));
  refreshHistory();
  announce("Research has begun.");
  document.title = `${summary.question} · ${homeTitle}`;
  if (focus) view.title.focus();
  const polling = pollSummary(name, signal);
  for await (const frame of followRun(name, signal, setLost)) {
    changeRun(withFrame(run, frame));
    announceProgress(run.activity);
  }
  await fetchAnswer(name, signal);
  return polling;
}

function setLost(lost) {
  if (lost !== run.lost) changeRun({ ...run, lost });
}

/** Ask at intervals what the run has spent and what it knows. */
async function pollSummary(name, signal) {
  const isOver = () => signal.aborted || run.ended || run.replaying;
  while (!run.ended) {
    await pause(POLL_INTERVAL, signal).catch(() => {});
    if (isOver()) return;
    const summary = await fetchJson(runPath(name), { signal }).catch(() => null);
    if (summary && !isOver()) changeRun(withSummary(run, summary));
  }
}

async function fetchAnswer(name, signal) {
  const fetchBoth = () =>
    Promise.all([
      fetchJson(runPath(name), { signal }),
      fetchJson(`${runPath(name)}/answer`, { signal }),
    ]);
  const [summary, answer] = await retryUntilAnswered(fetchBoth, signal, setLost);
  clearProblem();
  changeRun(withAnswer(withSummary(run, summary), answer));
  announce(
    run.cancelled
      ? "Stopped. What was found is kept."
      : `${STATUSES[answer.status]}. The answer is below the question.`,
  );
  refreshHistory();
}

async function cancel() {
  if (run.cancelling) return;
  changeRun({ ...run, cancelling: true });
  announce("Stopping");
  try {
    await request(`${runPath(run.name)}/cancel`, { method: "POST" });
  } catch (error) {
    changeRun({ ...run, cancelling: false });
    showProblem(error, cancel);
  }
}

/** Show the frames once more, from what the page holds: no request is sent. */
async function replay() {
  const { frames, ...finished } = run;
  const { signal } = following;
  const steps = frames.filter(({ type }) => type !== "answer");
  const interval = Math.min(REPLAY.longestStep, REPLAY.whole / steps.length);
  changeRun(forReplay(run));
  view.title.focus();
  for (const frame of steps) {
    changeRun({ ...withFrame(run, frame), replaying: true });
    await pause(interval, signal).catch(() => {});
    if (signal.aborted) return;
  }
  changeRun({ ...finished, frames });
  announce("The replay has ended.");
}

/** Put the question of the run into the form. */
function askAgain() {
  form.elements.question.value = run.question;
  form.elements.question.focus();
}

// --- asking, and the address ---------------------------------------------------------------------

async function submit() {
  clearProblem();
  const body = readForm(form);
  const fault = questionFault(body.question);
  form.elements.question.setAttribute("aria-invalid", String(Boolean(fault)));
  if (fault) {
    showProblem(new Problem(fault));
    form.elements.question.focus();
    return;
  }
  const send = form.querySelector("button");
  send.disabled = true;
  try {
    const name = await beginRun(body);
    history.pushState(null, "", `/?run=${encodeURIComponent(name)}`);
    showAddress({ focus: true });
  } catch (error) {
    showProblem(error, submit);
  } finally {
    send.disabled = false;
  }
}

/** Show the run that the address names, or the form alone. */
async function showAddress({ focus = false } = {}) {
  clearProblem();
  const name = new URLSearchParams(location.search).get("run");
  try {
    if (name) await openRun(name, focus);
    else showForm();
  } catch (error) {
    showProblem(error, error.status === 401 ? start : showAddress);
  }
}

function showForm() {
  following.abort();
  run = null;
  view = null;
  byId("run").replaceChildren();
  document.title = homeTitle;
  refreshHistory();
  form.elements.question.focus();
}

async function start() {
  const status = await fetchJson("/api/status").catch(({ message, remedy }) => ({
    ready: false,
    error: message,
    remedy,
  }));
  byId("model").textContent = modelText(status);
  const refusal = await fillChoices(form).catch((error) => error);
  showAddress();
  if (refusal?.status === 401) showProblem(refusal);
  else if (!status.ready) showProblem(new Problem(status.error, status.remedy));
}

function modelText({ ready, provider, model }) {
  if (!ready) return "";
  return provider === "extractive" ? "No model: answers are quoted from sources" : model;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
form.elements.question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
document.addEventListener("click", (event) => {
  const opener = event.target.closest?.("a[data-run]");
  const hasModifier = event.metaKey || event.ctrlKey || event.shiftKey || event.button;
  if (!opener || hasModifier) return;
  event.preventDefault();
  history.pushState(null, "", opener.href);
  showAddress({ focus: true });
  byId("run").scrollIntoView({ block: "start" });
});
addEventListener("popstate", () => showAddress());
start();
