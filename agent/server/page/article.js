// A run on the page: what is going on, then the answer. Its frame is made once and changed.
import { button, element, icon } from "/ui/element.js";
import { formatCount, formatPrice, formatSeconds, formatUsage } from "/ui/labels.js";
import { progressSections, searchFold, searchSection } from "/ui/progress.js";
import { QuoteCard } from "/ui/quote.js";
import { stepText } from "/ui/run.js";
import { toolBar } from "/ui/tools.js";

const MAX_HEADLINE = 160; // characters of a question that is set as a headline
const FOLLOW_UP = "Follow up on this answer";
const LOST = "The connection was lost; trying again. The run continues meanwhile.";
const ICONS = { ok: "check", warn: "half", bad: "cross", quiet: "dash", quoted: "quote" };
const STEPS = ".marker, a.verdict:not(.supported, .quoted)"; // where `n` and `p` go

/** The elements of one run. */
export class Article {
  /** `actions`: `cancel`, `followUp`, `searchDeeper` and `askInOtherWords` are what the user may
   *  do; `announce` and `showProblem` report to the user; `prices` are those of the server. */
  constructor(place, actions) {
    this.actions = actions;
    this.quotes = null;
    this.drawn = { progress: "", html: null }; // what the elements show
    this.title = element("h1", { tabindex: "-1", dir: "auto" });
    this.state = element("p", { class: "state" });
    this.cancel = button("Cancel", actions.cancel, { class: "cancel" });
    this.note = element("p", { class: "note", hidden: true });
    this.body = element("div", { class: "body", on: { click: (event) => this.#open(event) } });
    this.foot = element("div", { class: "foot" });
    this.margin = element("aside", { class: "margin", "aria-label": "What it rests on" });
    const head = element("div", { class: "top" }, this.title, this.cancel);
    const parts = [head, this.state, this.note, this.body, this.foot];
    const column = element("div", { class: "column" }, parts);
    this.root = element("article", { class: "run" }, column, this.margin);
    place.append(this.root);
  }

  /** Show a run as it is now. */
  draw(run) {
    this.title.textContent = run.question;
    const isLong = run.question.length > MAX_HEADLINE;
    this.title.classList.toggle("long", isLong);
    this.title.tabIndex = isLong ? 0 : -1; // it scrolls
    if (run.ended && document.activeElement === this.cancel) this.title.focus();
    this.cancel.hidden = run.ended;
    this.cancel.setAttribute("aria-disabled", String(run.cancelling));
    this.#drawState(run);
    const note = noteText(run);
    if (note !== this.note.textContent) this.note.textContent = note;
    this.note.hidden = !note;
    if (run.ended) this.#drawAnswer(run);
    else this.#drawProgress(run);
  }

  /** Go to the next number of the text or problem of a check, or the one before. */
  step(direction) {
    const stops = [...this.body.querySelectorAll(STEPS)].filter((one) => one.checkVisibility());
    const at = stops.indexOf(this.quotes?.marker ?? document.activeElement);
    const next = stops[at < 0 && direction < 0 ? stops.length - 1 : at + direction];
    next?.focus();
    next?.click();
  }

  /** A number opens its quote, a verdict what decides. */
  #open(event) {
    const opener = event.target.closest(".marker, a.verdict");
    if (!opener || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    if (opener.matches(".marker")) {
      this.quotes.toggle(opener, event.detail === 0);
      return;
    }
    const evidence = document.getElementById(opener.hash.slice(1));
    evidence.open = true;
    evidence.scrollIntoView({ block: "nearest" });
  }

  #drawState(run) {
    const parts = run.ended ? endParts(run) : liveParts(run);
    const text = parts.map((part) => part.textContent).join("|");
    if (text === this.state.dataset.text) return;
    this.state.dataset.text = text;
    this.state.replaceChildren(...parts);
  }

  #drawProgress(run) {
    const progress = JSON.stringify([run.slots, run.activity]);
    if (progress === this.drawn.progress) return;
    this.drawn.progress = progress;
    this.body.replaceChildren(...progressSections(run));
    this.margin.replaceChildren(searchSection(run, false) ?? "");
  }

  #drawAnswer(run) {
    if (this.drawn.html === run.html) return;
    this.drawn.html = run.html;
    const isMissing = run.answer.status === "insufficient" && !run.isCheck;
    this.root.classList.toggle("whole", run.isCheck);
    this.body.classList.toggle("quoted", run.outcome.quoted);
    this.body.replaceChildren(parseHtml(run.html));
    this.margin.replaceChildren((isMissing && searchSection(run, true)) || "");
    this.#addTools(run);
    this.#addTries();
    const method = this.body.querySelector("section[id$='-method']");
    if (method) this.body.append(method); // how it was made is read last
    if (!isMissing) this.body.append(searchFold(run) ?? "");
    this.quotes?.leave();
    this.quotes = new QuoteCard(this.margin);
    this.quotes.showFirst(this.body);
    const canFollow = !run.isCheck && !run.answer.error;
    this.foot.replaceChildren(canFollow ? followForm(this.actions.followUp) : "");
  }

  #addTools(run) {
    if (run.answer.error) return;
    const tools = toolBar(run.name, this.actions);
    const next = button("Next problem", () => this.step(1), { class: "next" });
    if (this.body.querySelector("a.verdict:not(.supported, .quoted)")) tools.prepend(next);
    const lead = this.body.querySelector("section[id$='-answer'], section[id$='-report']");
    if (run.isCheck) lead?.before(tools);
    else lead?.after(tools);
  }

  /** What to try, as buttons with their prices. */
  #addTries() {
    const { prices, searchDeeper, askInOtherWords } = this.actions;
    const price = prices.find(({ strategy, depth }) => strategy === "slots" && depth === "deep");
    const acts = {
      deeper: [searchDeeper, formatPrice(price)],
      rephrase: [askInOtherWords, "edit the question"],
    };
    for (const [name, [act, note]] of Object.entries(acts)) {
      const item = this.body.querySelector(`li.${name}`);
      if (!item) continue;
      const words = element("span", {}, item.textContent);
      const row = button(words, act, { class: "entry plain" });
      row.append(element("span", { class: "quiet" }, note));
      item.replaceChildren(row);
    }
  }
}

/** Markup of the server, in which every text of others is escaped; its links open a new tab. */
function parseHtml(html) {
  const template = element("template");
  template.innerHTML = html;
  for (const link of template.content.querySelectorAll("a[href^='http']")) link.target = "_blank";
  return template.content;
}

/** The field at the foot of an answer, and what sends it. */
function followForm(send) {
  const field = element("textarea", {
    rows: "1",
    placeholder: FOLLOW_UP,
    "aria-label": FOLLOW_UP,
    dir: "auto",
    maxlength: "2000",
  });
  const submit = (event) => {
    event.preventDefault();
    send(field);
  };
  submitOnEnter(field);
  const ask = element("button", { class: "main" }, "Ask");
  return element("form", { class: "box on", on: { submit } }, field, ask);
}

/** Enter submits the form of a field, Shift and Enter begin a new line. */
export function submitOnEnter(field) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    field.form.requestSubmit();
  });
}

// --- the line below the question -----------------------------------------------------------------

function liveParts(run) {
  const { usage, maxUsd } = run;
  const spent = usage && [
    formatCount(usage.searches, "search", "searches"),
    formatUsage({ ...usage, pages: 0 }, maxUsd).replace(/^0 pages · /, ""),
  ];
  return [
    element("strong", { class: "live" }, icon("turn"), stepText(run)),
    element("span", { class: "quiet" }, spent ? spent.join(" · ") : ""),
  ];
}

function endParts({ outcome, usage }) {
  return [
    element("strong", { class: outcome.tone }, icon(ICONS[outcome.tone]), outcome.text),
    element("span", {}, outcome.open),
    element("span", { class: "quiet" }, outcome.confirmed),
    element("span", { class: "quiet" }, formatUsage(usage)),
  ].filter((part) => part.textContent);
}

/** That the connection is lost, or what is kept of a run that was stopped. */
function noteText(run) {
  if (!run.ended) return run.lost ? LOST : "";
  if (!run.cancelled || run.answer.error?.kind === "stopped") return "";
  const pages = formatCount(run.usage.pages, "page");
  const kept = run.answer.error
    ? "Nothing had been found yet."
    : `What had been read (${pages}) is kept and used for the answer.`;
  return `Nothing more is searched, read or paid. ${kept}`;
}

/** The end of a run as it is announced. */
export const endAnnouncement = ({ outcome, usage }) =>
  `${outcome.text}. ${formatSeconds(usage.seconds)}. The answer is below the question.`;
