// A run on the page: what is going on, then the answer. Its frame is made once and changed.
import { answerSections, marginSection, searchDeeper } from "/ui/answer.js";
import { checkSections } from "/ui/check.js";
import { countDropped } from "/ui/checks.js";
import { button, element, icon, textElement } from "/ui/element.js";
import { formatCount, formatSeconds, formatUsage } from "/ui/labels.js";
import { progressSections, searchSection } from "/ui/progress.js";
import { Evidence } from "/ui/quote.js";
import { claimsOf, isQuoted, outcomeOf, stepText } from "/ui/run.js";
import { toolBar } from "/ui/tools.js";

const MAX_HEADLINE = 160; // characters of a question that is set as a headline
const ASK_ON = "Ask on about this answer";
export const LOST = "The connection was lost; trying again. The run goes on meanwhile.";

/** The elements of one run. */
export class Article {
  /** `actions`: `cancel`, `searchDeeper`, `askInOtherWords` and, where it can be, `askOn` are what
   *  the user may do; `announce` and `showProblem` tell something; `prices` are those of the server. */
  constructor(place, actions) {
    this.actions = actions;
    this.evidence = null;
    this.drawn = { progress: "", answer: null }; // what the elements show
    this.title = element("h1", { tabindex: "-1", dir: "auto" });
    this.state = element("p", { class: "state" });
    this.cancel = button("Cancel", actions.cancel, { class: "cancel" });
    this.note = element("p", { class: "note", hidden: true });
    this.body = element("div", { class: "body" });
    this.foot = element("div", { class: "foot" });
    this.margin = element("aside", { class: "margin", "aria-label": "What it rests on" });
    const head = element("div", { class: "top" }, this.title, this.cancel);
    const column = element(
      "div",
      { class: "column" },
      head,
      this.state,
      this.note,
      this.body,
      this.foot,
    );
    this.root = element("article", { class: "run" }, column, this.margin);
    place.append(this.root);
  }

  /** Show a run as it is now. */
  draw(run) {
    this.title.textContent = run.question;
    const isLong = run.question.length > MAX_HEADLINE;
    this.title.classList.toggle("long", isLong);
    this.title.tabIndex = isLong ? 0 : -1; // it scrolls
    this.#drawCancel(run);
    this.#drawState(run);
    this.#drawNote(run);
    if (run.ended) this.#drawAnswer(run);
    else this.#drawProgress(run);
  }

  /** Go to the next number of the text or problem of a check, or the one before. */
  step(direction) {
    const markers = [...this.root.querySelectorAll(".marker, .problem")];
    const at = markers.indexOf(this.evidence?.opener ?? document.activeElement);
    const next = markers[at < 0 && direction < 0 ? markers.length - 1 : at + direction];
    next?.focus();
    next?.click();
  }

  #drawCancel(run) {
    if (run.ended && document.activeElement === this.cancel) this.title.focus();
    this.cancel.hidden = run.ended;
    this.cancel.setAttribute("aria-disabled", String(run.cancelling));
  }

  #drawState(run) {
    const parts = run.ended ? endParts(run) : liveParts(run);
    const text = parts.map((part) => part.textContent).join("|");
    if (text === this.state.dataset.text) return;
    this.state.dataset.text = text;
    this.state.replaceChildren(...parts);
  }

  #drawNote(run) {
    const text = noteText(run);
    if (text !== this.note.textContent) this.note.textContent = text;
    this.note.hidden = !text;
  }

  #drawProgress(run) {
    const progress = JSON.stringify([run.slots, run.activity]);
    if (progress === this.drawn.progress) return;
    this.drawn.progress = progress;
    this.body.replaceChildren(...progressSections(run));
    this.margin.replaceChildren(searchSection(run, false) ?? "");
  }

  #drawAnswer(run) {
    if (this.drawn.answer === run.answer) return;
    this.drawn.answer = run.answer;
    this.margin.replaceChildren(marginSection(run) ?? "");
    this.evidence?.leave();
    this.evidence = new Evidence(run.answer, run.activity, this.margin);
    const tools = run.answer.error ? null : toolBar(run.name, this.actions);
    this.body.classList.toggle("quoted", isQuoted(run.answer)); // no model wrote it
    if (run.answer.check) {
      this.root.classList.add("whole");
      this.foot.replaceChildren();
      this.body.replaceChildren(...checkSections(run, tools, (by) => this.step(by)));
      return;
    }
    const tries = triesOf(this.actions);
    this.body.replaceChildren(...answerSections(run, this.evidence, tools, tries));
    const { askOn } = this.actions;
    this.foot.replaceChildren(askOn ? fieldForm(ASK_ON, "Ask", askOn, { maxlength: "2000" }) : "");
    const text = this.body.querySelector(".answer");
    if (text) this.evidence.openFirst(text);
  }
}

const triesOf = ({ prices, searchDeeper: deepen, askInOtherWords }) => [
  searchDeeper(prices, deepen),
  { text: "Ask in other words", note: "opens the question", act: askInOtherWords },
];

/** A field at the foot of a run, and what sends it. */
function fieldForm(words, verb, send, attributes) {
  const field = element("textarea", {
    rows: "1",
    placeholder: words,
    "aria-label": words,
    dir: "auto",
    ...attributes,
  });
  const form = element(
    "form",
    { class: "box on" },
    field,
    element("button", { class: "main" }, verb),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(field);
  });
  submitOnEnter(field);
  return form;
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

function endParts(run) {
  const { text, icon: shape, tone } = outcomeOf(run);
  return [
    element("strong", { class: tone }, icon(shape), text),
    element("span", { class: "quiet" }, confirmedText(run.answer)),
    element("span", { class: "quiet" }, formatUsage(run.usage)),
  ].filter((part) => part.textContent);
}

/** How many sentences are confirmed, and how many were left out. */
function confirmedText(answer) {
  const claims = claimsOf(answer);
  const confirmed = claims.filter(({ verdict }) => verdict === "supported").length;
  if (!claims.length || answer.status === "insufficient") return "";
  const dropped = countDropped(answer);
  const others = dropped ? `, ${dropped} left out` : "";
  if (confirmed < claims.length) {
    return `${confirmed} of ${formatCount(claims.length, "sentence")} confirmed${others}`;
  }
  return claims.length === 1
    ? `its sentence confirmed${others}`
    : `all ${claims.length} sentences confirmed${others}`;
}

/** That the connection is lost, or what is kept of a run that was stopped. */
function noteText(run) {
  if (!run.ended) return run.lost ? LOST : "";
  if (!run.cancelled || run.answer?.error?.kind === "stopped") return "";
  const pages = run.usage ? formatCount(run.usage.pages, "page") : "nothing";
  const kept = run.answer?.error
    ? "Nothing had been found yet."
    : `What had been read (${pages}) is kept; the answer is made of that.`;
  return `Nothing more is searched, read or paid. ${kept}`;
}

/** The end of a run as it is announced. */
export const endAnnouncement = (run) =>
  `${outcomeOf(run).text}. ${formatSeconds(run.usage?.seconds ?? 0)}. The answer is below the question.`;
