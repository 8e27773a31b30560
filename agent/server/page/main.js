// The page: ask a question and follow its run. The address names the open run.
import * as api from "/ui/api.js";
import { fetchJson, Problem, runPath } from "/ui/api.js";
import { Article, endAnnouncement, submitOnEnter } from "/ui/article.js";
import { Documents } from "/ui/documents.js";
import * as asking from "/ui/form.js";
import { serviceLabel } from "/ui/labels.js";
import { Library, showRecent } from "/ui/library.js";
import { PlanList } from "/ui/plan.js";
import { CheckForm } from "/ui/report.js";
import { newRun, stepText, withSummary } from "/ui/run.js";

const POLL_INTERVAL = 1000; // ms between requests for what a run has done
const ANNOUNCE_INTERVAL = 4000; // ms between announcements of progress

const byId = (id) => document.getElementById(id);
const form = byId("ask");
const homeTitle = document.title;
const notices = { announce, showProblem };
const library = new Library(byId("library"), notices);
const documents = new Documents(byId("documents"), notices);
const checkForm = new CheckForm(byId("check"), {
  check: submitCheck,
  showFault: (fault) => showProblem(new Problem(fault)),
});
let following = new AbortController(); // stops following the run that is open
let run = null;
let article = null;
let isDrawDue = false;
let announced = { text: "", at: 0 };
let shownSearch = location.search;
let status = {};
let prices = [];

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
  if (run) article?.draw(run);
}

/** Announce a change to screen readers. */
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
  byId("problem").replaceChildren(asking.problemElement(problem, retry));
  byId("token")?.focus();
}

const clearProblem = () => byId("problem").replaceChildren();
/** Show one of the views, or none: a run has a place of its own. */
function showView(shown) {
  for (const part of document.querySelectorAll("[data-view]")) {
    part.hidden = part.dataset.view !== shown;
  }
  byId("view").replaceChildren();
}

// --- a run ---------------------------------------------------------------------------------------

/** Show a run and follow it to its end. With `below`, the answer before it stays above. */
async function openRun(name, { focus = false, below = false } = {}) {
  following.abort();
  following = new AbortController();
  const { signal } = following;
  const summary = await fetchJson(runPath(name), { signal });
  if (below) article?.foot.replaceChildren();
  else byId("runs").replaceChildren();
  article?.quotes?.leave();
  article = new Article(byId("runs"), { ...actions, prices });
  showView("run");
  run = newRun(name, summary);
  draw();
  announce("Research has started.");
  document.title = `${summary.question} · ${homeTitle}`;
  if (focus) article.title.focus();
  await poll(name, signal);
  clearProblem();
  announce(endAnnouncement(run));
}

/** Poll what the run has found and spent, until it has ended. */
async function poll(name, signal) {
  const fetchRun = () => fetchJson(runPath(name), { signal });
  while (!run.ended) {
    await api.pause(POLL_INTERVAL, signal);
    const summary = await api.retryUntilAnswered(fetchRun, signal, setLost);
    changeRun(withSummary(run, summary));
    announceProgress(stepText(run));
  }
}

function setLost(lost) {
  if (lost !== run.lost) changeRun({ ...run, lost });
}

async function cancel() {
  if (run.cancelling) return;
  changeRun({ ...run, cancelling: true });
  announce("Cancelling: what was read is kept");
  try {
    await api.request(`${runPath(run.name)}/cancel`, { method: "POST" });
  } catch (error) {
    changeRun({ ...run, cancelling: false });
    showProblem(error, cancel);
  }
}

/** Ask the same question again, and go further for it. */
function searchDeeper() {
  const { question } = run;
  asking.fillForm(form, { question, depth: "deep" });
  submit();
}

/** Put the question of the run into the form. */
function askInOtherWords() {
  const { question } = run;
  history.pushState(null, "", "/");
  leaveRun();
  VIEWS.ask();
  form.elements.question.value = question;
}

const actions = { ...notices, cancel, followUp, searchDeeper, askInOtherWords };

/** Ask on about the answer that is open. */
async function followUp(field) {
  clearProblem();
  const question = field.value.trim();
  const fault = asking.requestFault({ question });
  if (fault) {
    showProblem(new Problem(fault));
    field.focus();
    return;
  }
  try {
    const about = documents.of(run.name);
    const name = await api.askOn(run.name, { question, documents: about });
    documents.keepFor(name, about);
    history.pushState(null, "", `/?run=${encodeURIComponent(name)}`);
    shownSearch = location.search;
    await openRun(name, { focus: true, below: true });
  } catch (error) {
    showProblem(error, () => followUp(field));
  }
}

// --- asking, and the address ---------------------------------------------------------------------

async function submit() {
  clearProblem();
  if (!status.ready) {
    showStatus();
    return;
  }
  const body = asking.readForm(form);
  const fault = asking.requestFault(body);
  form.elements.question.setAttribute("aria-invalid", String(Boolean(fault)));
  if (fault) {
    showProblem(new Problem(fault));
    form.elements.question.focus();
    return;
  }
  const send = form.querySelector("button.main");
  send.disabled = true;
  await ask(body);
  send.disabled = false;
}

/** Begin the run of a question, or show its plan first. */
async function ask(body) {
  body.documents = await documents.ids();
  if (form.elements.plan.checked && body.strategy === "report") await showPlan(body);
  else await begin(body);
}

/** Begin the run of a question. */
const begin = (body) =>
  open(
    async () => {
      const name = await api.beginRun(body);
      documents.keepFor(name, body.documents);
      return name;
    },
    () => begin(body),
  );

/** Show the plan of a report, which the user may change before it starts. */
async function showPlan(body) {
  announce("Making the plan.");
  byId("price").textContent = "Planning";
  try {
    const offer = await fetchJson("/api/plan", { method: "POST", body });
    history.pushState(null, "", "/?plan");
    leaveRun();
    const list = new PlanList(offer, {
      start: (plan) => begin({ ...body, plan }),
      planAgain: (clarified) => showPlan({ ...body, clarified }),
      announce,
    });
    showElements(list.elements);
    scrollTo(0, 0);
    announce("The plan is ready.");
  } catch (error) {
    showProblem(error, () => showPlan(body));
  }
  asking.showWay(form, prices);
}

/** Begin a run and show it; `retry` is offered where it could not begin. */
async function open(begin, retry) {
  try {
    const name = await begin();
    history.pushState(null, "", `/?run=${encodeURIComponent(name)}`);
    scrollTo(0, 0);
    showAddress({ focus: true });
  } catch (error) {
    showProblem(error, retry);
  }
}

/** Check the report of the form. */
function submitCheck(report) {
  clearProblem();
  return open(
    () => api.beginCheck(report),
    () => submitCheck(report),
  );
}

/** Show the run that the address names, or the form alone. */
async function showAddress({ focus = false } = {}) {
  clearProblem();
  shownSearch = location.search;
  const parameters = new URLSearchParams(location.search);
  try {
    const view = Object.keys(VIEWS).find((one) => parameters.has(one)) ?? "ask";
    if (view !== "run") leaveRun();
    await VIEWS[view](parameters.get(view), { focus });
  } catch (error) {
    showProblem(error, error.status === 401 ? start : showAddress);
  }
}

/** Leave the run that is open; it goes on. */
function leaveRun() {
  following.abort();
  following = new AbortController();
  article?.quotes?.leave();
  run = null;
  article = null;
  byId("runs").replaceChildren();
  document.title = homeTitle;
}

/** What an address shows, by the name of its part; each is called with the value of that part. */
const VIEWS = {
  run: openRun,
  check() {
    showView("check");
    byId("report").focus();
  },
  library() {
    showView("library");
    document.title = `Library · ${homeTitle}`;
    byId("library").querySelector("h1").focus();
    return library.refresh();
  },
  ask() {
    showView("ask");
    showRecent(byId("earlier")).catch(() => {});
    form.elements.question.focus();
  },
};

/** Show elements in place of a view, with the focus on their title. */
function showElements(elements) {
  showView("view");
  byId("view").replaceChildren(...elements.filter(Boolean));
  const title = byId("view").querySelector("h1");
  document.title = `${title.textContent} · ${homeTitle}`;
  title.focus();
}

async function start() {
  status = await fetchJson("/api/status").catch(({ message, remedy }) => ({
    ready: false,
    error: message,
    remedy,
  }));
  byId("model").textContent = serviceText(status);
  form.querySelector("button.main").disabled = !status.ready;
  documents.isOpen = Boolean(status.documents);
  byId("add-file").hidden = !documents.isOpen;
  try {
    const choices = await fetchJson("/api/choices");
    prices = choices.prices;
    asking.showExamples(byId("examples"), choices.examples, askExample);
  } catch (error) {
    if (error.status === 401) {
      showProblem(error);
      return;
    }
  }
  asking.showWay(form, prices);
  showAddress();
  if (!status.ready) showStatus();
}

function askExample(example) {
  asking.fillForm(form, example);
  asking.showWay(form, prices);
  submit();
}

/** Show why nothing can be asked: the fault, then the remedy. */
function showStatus() {
  const [fault, ...advice] = status.error.split(/(?<=[.!]) /);
  showProblem(new Problem(fault, [...advice, status.remedy].filter(Boolean).join(" ")));
}

/** The model and the search in use, in words. */
function serviceText({ ready, provider, model, search = [] }) {
  if (!ready) return "";
  const [first] = search;
  const searched = first === "wikipedia" ? "Wikipedia only" : serviceLabel(first ?? "no search");
  const writer = provider === "extractive" ? "No model: answers are quoted sentences" : model;
  return `${writer} · ${searched}`;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
form.addEventListener("change", () => asking.showWay(form, prices));
submitOnEnter(form.elements.question);

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const opener = event.target.closest?.("a[data-open], .bar a");
  const hasModifier = event.metaKey || event.ctrlKey || event.shiftKey || event.button;
  if (!opener || hasModifier) return;
  event.preventDefault();
  history.pushState(null, "", opener.href);
  scrollTo(0, 0);
  showAddress({ focus: true });
});

// --- files ---------------------------------------------------------------------------------------

const isChecking = () => !byId("checking").hidden;
/** Pass files to the visible form: a report to check, or files to ask about. */
function takeFiles(files) {
  clearProblem();
  if (isChecking()) checkForm.take(files);
  else if (!byId("home").hidden) documents.take(files);
}

for (const { elements } of [form, byId("check")]) {
  elements.file.addEventListener("change", ({ target }) => {
    takeFiles([...target.files]);
    target.value = "";
  });
}
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  const files = [...event.dataTransfer.files];
  if (!files.length) return; // text that is dropped goes into the field
  event.preventDefault(); // else the browser leaves the page for the file
  takeFiles(files);
});

const isTyping = () => /^(input|textarea|select)$/.test(document.activeElement?.localName ?? "");

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    article?.quotes?.close();
  }
  if (isTyping() || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "n" || event.key === "p") article?.step(event.key === "n" ? 1 : -1);
  if (event.key !== "/") return;
  const shown = isChecking() ? byId("report") : form.elements.question;
  const field = article ? article.foot.querySelector("textarea") : shown;
  if (field) event.preventDefault();
  field?.focus();
});
addEventListener("popstate", () => {
  if (location.search !== shownSearch || !location.hash) showAddress();
});
start();
