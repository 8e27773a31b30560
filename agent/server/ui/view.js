// A run on the page: what is going on, then the answer. It is made once and changed as the run grows.
import { method, parts, slots } from "/ui/answer.js";
import { button, element, said } from "/ui/element.js";
import { buttons } from "/ui/save.js";
import { STATUSES, count, detail, spend, step } from "/ui/words.js";

const LONG = 160; // characters of a question that is not set as a headline

/** A place for one run. `acts` are what its buttons do: `cancel`, `replay`, `again`, `tell`, `fail`. */
export class View {
  constructor(place, acts) {
    this.acts = acts;
    this.shown = { steps: 0, slots: null, answer: null };
    this.title = element("h2", { tabindex: "-1", dir: "auto" });
    this.badge = element("span", { class: "badge" });
    this.spent = element("span", { class: "quiet spent" });
    this.stop = button("Cancel", acts.cancel, { class: "cancel" });
    this.note = element("p", { class: "note", hidden: true });
    this.body = element("div", { class: "body" });
    this.log = element("ol", { class: "log", tabindex: "0", "aria-label": "Activity" });
    this.summary = element("summary");
    this.details = element("details", { class: "activity" }, this.summary, this.log);
    this.tools = element("p", { class: "tools", hidden: true });
    this.method = element("div");
    const state = element("div", { class: "state" }, this.badge, this.spent, this.stop);
    place.replaceChildren(this.title, state, this.note, this.body, this.tools, this.details, this.method);
  }

  /** Show a run as it is now. */
  draw(run) {
    this.title.textContent = run.question;
    this.title.classList.toggle("long", run.question.length > LONG);
    this.spent.textContent = spend(run.usage).join(" · ");
    this.#badge(run);
    this.#note(run);
    this.#steps(run);
    if (run.answer && !run.replaying) this.#answer(run);
    else this.#slots(run);
  }

  #badge(run) {
    const status = run.answer?.status;
    this.badge.className = `badge ${run.ended ? (run.cancelled ? "partial" : status) : "live"}`;
    this.badge.textContent = run.ended ? (run.cancelled ? "Stopped" : STATUSES[status]) : run.replaying ? "Replay" : run.cancelling ? "Stopping" : run.now;
    const busy = !run.ended && !run.replaying;
    if (!busy && document.activeElement === this.stop) this.title.focus();
    this.stop.hidden = !busy;
    this.stop.setAttribute("aria-disabled", String(run.cancelling));
    this.stop.textContent = run.cancelling ? "Stopping" : "Cancel";
  }

  #note(run) {
    const read = run.usage ? count(run.usage.pages, "page") : "nothing";
    const kept = run.answer?.error ? "Nothing had been found yet." : `What had been read (${read}) is kept; the answer is made of that.`;
    const told = run.lost && !run.ended ? "The connection was lost; trying again. The run goes on meanwhile." : run.ended && run.cancelled && run.answer?.error?.kind !== "stopped" ? `Stopped: nothing more is searched, read or paid. ${kept}` : "";
    if (told !== this.note.textContent) this.note.textContent = told;
    this.note.hidden = !told;
  }

  #steps(run) {
    if (run.steps.length < this.shown.steps) this.log.replaceChildren((this.shown.steps = 0) || "");
    const atEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
    this.log.append(...run.steps.slice(this.shown.steps).map(line));
    if (!this.shown.steps) this.details.open = !run.ended;
    if (run.ended && this.shown.answer !== run.answer) this.details.open = false;
    if (atEnd) this.log.scrollTop = this.log.scrollHeight;
    this.shown.steps = run.steps.length;
    this.summary.textContent = `Activity: ${count(run.steps.length, "step")}`;
  }

  #slots(run) {
    const told = JSON.stringify(run.slots);
    if (told === this.shown.slots) return;
    this.body.replaceChildren(slots(run.slots) ?? "");
    this.shown = { ...this.shown, slots: told, answer: null };
    this.tools.hidden = true;
    this.method.replaceChildren();
  }

  #answer(run) {
    if (this.shown.answer === run.answer) return;
    this.shown = { ...this.shown, slots: null, answer: run.answer };
    this.body.replaceChildren(...parts(run.answer).filter(Boolean));
    this.method.replaceChildren(method(run.answer));
    const { replay, again, tell, fail } = this.acts;
    const more = [button("Replay", replay), button("Ask again", again)];
    this.tools.replaceChildren(...(run.answer.error ? [] : buttons(run.name, tell, fail)), ...more);
    this.tools.hidden = false;
  }
}

function line({ type, detail: told }) {
  const shown = type === "slot" && told.endsWith(": missing") ? "gaps" : type;
  const kind = element("span", { class: "kind" }, step(shown));
  return element("li", { class: shown }, kind, said(detail(type, told)));
}
