// Earlier questions, newest first: found by their words, opened again, deleted.
import { fetchJson, request, runPath } from "/ui/api.js";
import { button, element, textElement } from "/ui/element.js";
import { formatTime } from "/ui/labels.js";

const MAX_RUNS = 200; // as many as the server lists
const MAX_FIRST = 10; // shown until all are asked for
const LONG = 5; // runs from which on they can be searched
const UNDO_TIME = 10_000; // ms within which a deletion can be taken back
const SEARCH_PAUSE = 200; // ms after the last key
const STATES = { queued: "Waiting", running: "Under way" };
const STATUSES = {
  complete: "Answered",
  partial: "Answered in part",
  insufficient: "Not found",
  error: "No answer",
};

/** The list of earlier questions in a section of the page. */
export class History {
  constructor(place, { announce, showProblem }) {
    this.place = place;
    this.tell = { announce, showProblem };
    this.search = place.querySelector("input");
    this.list = place.querySelector("ul");
    this.doomed = new Map(); // runs that are about to be deleted: name and timer
    let pausing = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(pausing);
      pausing = setTimeout(() => this.refresh(true), SEARCH_PAUSE);
    });
    addEventListener("pagehide", () => this.#deleteNow());
  }

  /** Ask for the runs and list them. */
  async refresh(isSearch = false) {
    const words = this.search.value.trim();
    const query = words ? `&search=${encodeURIComponent(words)}` : "";
    const runs = await fetchJson(`/api/runs?limit=${MAX_RUNS}${query}`);
    if (words !== this.search.value.trim()) return; // typed on
    this.place.hidden = !runs.length && !words;
    if (runs.length > LONG) this.search.parentElement.hidden = false;
    const rows = runs.map((run) => this.#row(run));
    const more = element(
      "li",
      {},
      button(`Show all ${runs.length}`, () => this.#show(rows)),
    );
    const none = element("li", { class: "quiet" }, "No earlier question has these words.");
    const shown = rows.length > MAX_FIRST && !words ? [...rows.slice(0, MAX_FIRST), more] : rows;
    this.list.replaceChildren(...(shown.length ? shown : [none]));
    if (isSearch) this.tell.announce(`${runs.length} found`);
  }

  #show(rows) {
    this.list.replaceChildren(...rows);
    rows[MAX_FIRST].querySelector("a").focus();
  }

  #row(run) {
    if (this.doomed.has(run.id)) return this.#undoRow(run);
    const state = run.cancelled
      ? "Stopped by you"
      : (STATES[run.state] ?? STATUSES[run.status] ?? "");
    const note = [state, formatTime(run.started_at)].filter(Boolean).join(" · ");
    const opener = element(
      "a",
      { class: "row", href: `/?run=${encodeURIComponent(run.id)}`, "data-run": run.id },
      textElement(run.question),
      element("span", { class: "quiet" }, note),
    );
    const isOver = !STATES[run.state];
    const remove = button("Delete", () => this.#delete(run, row), {
      class: "plain delete",
      "aria-label": `Delete: ${run.question}`,
    });
    const row = element("li", { class: "earlier" }, opener, isOver && remove);
    return row;
  }

  /** Delete a run after a while, in which that can be taken back. */
  #delete(run, row) {
    const timer = setTimeout(() => {
      this.#send(run.id).then(() => this.refresh(), this.tell.showProblem);
    }, UNDO_TIME);
    this.doomed.set(run.id, timer);
    const undo = this.#undoRow(run);
    row.replaceWith(undo);
    undo.querySelector("button").focus();
    this.tell.announce("Deleted. Undo within ten seconds.");
  }

  #undoRow(run) {
    const undo = button(
      "Undo",
      () => {
        clearTimeout(this.doomed.get(run.id));
        this.doomed.delete(run.id);
        const row = this.#row(run);
        undone.replaceWith(row);
        row.querySelector("a").focus();
      },
      { class: "plain" },
    );
    const undone = element(
      "li",
      { class: "earlier" },
      element("span", { class: "row quiet" }, "Deleted"),
      undo,
    );
    return undone;
  }

  #send(name, options = {}) {
    clearTimeout(this.doomed.get(name));
    this.doomed.delete(name);
    return request(runPath(name), { method: "DELETE", ...options });
  }

  /** The page is left: nothing can be taken back any more. */
  #deleteNow() {
    for (const name of [...this.doomed.keys()]) {
      this.#send(name, { keepalive: true }).catch(() => {});
    }
  }
}
