// A run on the page: what is going on, then the answer. Its elements are made once and changed.
import { answerSections, methodDetails, slotsSection } from "/ui/answer.js";
import { button, element, textElement } from "/ui/element.js";
import { formatCount, formatStepDetail, formatUsage, STATUSES, stepLabel } from "/ui/labels.js";
import { saveButtons } from "/ui/save.js";

const MAX_HEADLINE = 160; // characters of a question that is set as a headline
const NEAR_END = 40; // px from the end of the log within which it scrolls on
const LOST = "The connection was lost; trying again. The run goes on meanwhile.";

/** The elements of one run. */
export class View {
  /** `actions` has a function for each button: `cancel`, `replay`, `askAgain`; and two to tell
   *  the user something: `announce` and `showProblem`. */
  constructor(place, actions) {
    this.actions = actions;
    this.drawn = { steps: 0, slots: null, answer: null }; // what the elements show
    this.title = element("h2", { tabindex: "-1", dir: "auto" });
    this.badge = element("span", { class: "badge" });
    this.usage = element("span", { class: "quiet spent" });
    this.cancel = button("Cancel", actions.cancel, { class: "cancel" });
    this.note = element("p", { class: "note", hidden: true });
    this.body = element("div", { class: "body" });
    this.log = element("ol", { class: "log", tabindex: "0", "aria-label": "Activity" });
    this.logSummary = element("summary");
    this.activity = element("details", { class: "activity" }, this.logSummary, this.log);
    this.tools = element("p", { class: "tools", hidden: true });
    this.method = element("div");
    place.replaceChildren(
      this.title,
      element("div", { class: "state" }, this.badge, this.usage, this.cancel),
      this.note,
      this.body,
      this.tools,
      this.activity,
      this.method,
    );
  }

  /** Show a run as it is now. */
  draw(run) {
    this.title.textContent = run.question;
    this.title.classList.toggle("long", run.question.length > MAX_HEADLINE);
    this.usage.textContent = formatUsage(run.usage).join(" · ");
    this.#drawBadge(run);
    this.#drawCancel(run);
    this.#drawNote(run);
    this.#drawSteps(run);
    if (run.answer && !run.replaying) this.#drawAnswer(run);
    else this.#drawSlots(run);
  }

  #drawBadge(run) {
    this.badge.className = `badge ${badgeClass(run)}`;
    this.badge.textContent = badgeText(run);
  }

  #drawCancel(run) {
    const isBusy = !run.ended && !run.replaying;
    if (!isBusy && document.activeElement === this.cancel) this.title.focus();
    this.cancel.hidden = !isBusy;
    this.cancel.setAttribute("aria-disabled", String(run.cancelling));
    this.cancel.textContent = run.cancelling ? "Stopping" : "Cancel";
  }

  #drawNote(run) {
    const text = noteText(run);
    if (text !== this.note.textContent) this.note.textContent = text;
    this.note.hidden = !text;
  }

  #drawSteps(run) {
    if (run.steps.length < this.drawn.steps) {
      this.drawn.steps = 0;
      this.log.replaceChildren();
    }
    const { scrollHeight, scrollTop, clientHeight } = this.log;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
    this.log.append(...run.steps.slice(this.drawn.steps).map(stepItem));
    if (!this.drawn.steps) this.activity.open = !run.ended;
    if (run.ended && this.drawn.answer !== run.answer) this.activity.open = false;
    if (isAtEnd) this.log.scrollTop = this.log.scrollHeight;
    this.drawn.steps = run.steps.length;
    this.logSummary.textContent = `Activity: ${formatCount(run.steps.length, "step")}`;
  }

  #drawSlots(run) {
    const slots = JSON.stringify(run.slots);
    if (slots === this.drawn.slots) return;
    this.body.replaceChildren(slotsSection(run.slots) ?? "");
    this.drawn = { ...this.drawn, slots, answer: null };
    this.tools.hidden = true;
    this.method.replaceChildren();
  }

  #drawAnswer(run) {
    if (this.drawn.answer === run.answer) return;
    this.drawn = { ...this.drawn, slots: null, answer: run.answer };
    this.body.replaceChildren(...answerSections(run.answer));
    this.method.replaceChildren(methodDetails(run.answer));
    const { replay, askAgain, announce, showProblem } = this.actions;
    const save = run.answer.error ? [] : saveButtons(run.name, announce, showProblem);
    this.tools.replaceChildren(...save, button("Replay", replay), button("Ask again", askAgain));
    this.tools.hidden = false;
  }
}

function badgeClass(run) {
  if (!run.ended) return "live";
  return run.cancelled ? "partial" : run.answer?.status;
}

function badgeText(run) {
  if (run.ended) return run.cancelled ? "Stopped" : STATUSES[run.answer?.status];
  if (run.replaying) return "Replay";
  return run.cancelling ? "Stopping" : run.activity;
}

/** That the connection is lost, or what is kept of a run that was stopped. */
function noteText(run) {
  if (!run.ended) return run.lost ? LOST : "";
  if (!run.cancelled || run.answer?.error?.kind === "stopped") return "";
  const pages = run.usage ? formatCount(run.usage.pages, "page") : "nothing";
  const kept = run.answer?.error
    ? "Nothing had been found yet."
    : `What had been read (${pages}) is kept; the answer is made of that.`;
  return `Stopped: nothing more is searched, read or paid. ${kept}`;
}

function stepItem({ type, detail }) {
  const shown = type === "slot" && detail.endsWith(": missing") ? "gaps" : type;
  const label = element("span", { class: "kind" }, stepLabel(shown));
  return element("li", { class: shown }, label, textElement(formatStepDetail(type, detail)));
}
