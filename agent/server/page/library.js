// The library: find, open, rename, tag, export and delete runs.
import { fetchJson, request, runPath } from "/ui/api.js";
import { button, element, textElement } from "/ui/element.js";
import { formatTime } from "/ui/labels.js";
import { downloadFile } from "/ui/tools.js";

const MAX_RUNS = 200; // as many as the server lists
const MAX_FIRST = 10; // rows before "show all"
const MAX_RECENT = 5; // on the first page
const UNDO_TIME = 10_000; // ms within which a deletion can be taken back
const SEARCH_PAUSE = 200; // ms after the last key
const STATES = { queued: "Waiting", running: "Running" };
const noteOf = (run) => STATES[run.state] ?? run.ended ?? "";

const nameOf = (run) => run.title || run.question;

/** A link that opens a run, with its summary. */
function opener(run) {
  const text = [noteOf(run), formatTime(run.started_at)].filter(Boolean).join(" · ");
  return element(
    "a",
    { class: "entry", href: `/?run=${encodeURIComponent(run.id)}`, "data-open": true },
    textElement(nameOf(run)),
    element("span", { class: "quiet" }, text),
  );
}

/** The newest runs, in a section of the first page. */
export async function showRecent(place) {
  const runs = await fetchJson(`/api/runs?limit=${MAX_RECENT}`);
  const rows = runs.map((run) => element("li", {}, opener(run)));
  place.querySelector("ul").replaceChildren(...rows);
  place.hidden = !runs.length;
}

/** The view of all that is kept. */
export class Library {
  constructor(place, { announce, showProblem }) {
    this.place = place;
    this.notify = { announce, showProblem };
    this.search = place.querySelector("input");
    this.parts = place.querySelector("div");
    this.runs = [];
    this.doomed = new Map(); // paths that are about to be deleted, and their timers
    this.isWhole = false; // all are shown
    let pausing = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(pausing);
      pausing = setTimeout(() => this.refresh(true).catch(this.notify.showProblem), SEARCH_PAUSE);
    });
    addEventListener("pagehide", () => this.#deleteNow());
  }

  /** Ask for what is kept and list it. */
  async refresh(isSearch = false) {
    const words = this.search.value.trim();
    const query = `?limit=${MAX_RUNS}&q=${encodeURIComponent(words)}`;
    const runs = await fetchJson(`/api/runs${query}`);
    if (words !== this.search.value.trim()) return; // typed on
    this.runs = runs;
    this.#draw();
    if (isSearch) this.notify.announce(`${runs.length} found`);
  }

  #draw() {
    const none = this.search.value.trim()
      ? "Nothing here matches these words."
      : "Nothing here yet. Your questions and their answers will appear here.";
    const shown = this.isWhole ? this.runs : this.runs.slice(0, MAX_FIRST);
    const isCut = shown.length < this.runs.length;
    const rows = shown.map((run) => this.#row(run));
    const list = element("ul", { class: "rows" }, rows);
    const more = button(`Show all ${this.runs.length}`, () => this.#showAll(), { class: "plain" });
    this.parts.replaceChildren(
      rows.length ? list : element("p", { class: "quiet" }, none),
      isCut ? more : "",
    );
  }

  #showAll() {
    this.isWhole = true;
    this.#draw();
    this.parts.querySelectorAll(".entry")[MAX_FIRST].focus();
  }

  #row(one) {
    const path = runPath(one.id);
    if (this.doomed.has(path)) return this.#undoRow(one, path);
    const name = nameOf(one);
    const isOver = !STATES[one.state];
    const exported = () =>
      downloadFile(`${path}/export`, `${one.id}.zip`).catch(this.notify.showProblem);
    const acts = [
      button("Rename, tag", () => this.#edit(one, path, row)),
      isOver && button("Export", exported),
      isOver && button("Delete", () => this.#delete(one, path, row)),
    ];
    const more = element("summary", { "aria-label": `More: ${name}` }, "More");
    const row = element(
      "li",
      { class: "kept" },
      opener(one),
      element("details", { class: "menu" }, more, element("div", {}, acts)),
      one.tags.length > 0 && this.#tags(one.tags),
    );
    return row;
  }

  /** The tags of something; each finds what else has it. */
  #tags(tags) {
    const find = (tag) => () => {
      this.search.value = tag;
      this.search.focus();
      this.refresh(true).catch(this.notify.showProblem);
    };
    return element(
      "ul",
      { class: "tags", "aria-label": "Tags" },
      tags.map((tag) => element("li", {}, button(tag, find(tag), { dir: "auto" }))),
    );
  }

  /** A form in place of a row for its name and tags. */
  #edit(one, path, row) {
    const close = (changed) => {
      const next = this.#row(changed);
      form.replaceWith(next);
      next.querySelector("summary").focus();
    };
    const save = async (event) => {
      event.preventDefault();
      const { title, tags } = event.target.elements;
      const body = { title: title.value.trim(), tags: tags.value.split(",").map(trimmed) };
      body.tags = body.tags.filter(Boolean);
      try {
        const saved = await fetchJson(path, { method: "PATCH", body });
        Object.assign(one, { title: saved.title, tags: saved.tags });
        close(one);
        this.notify.announce("Saved");
      } catch (error) {
        this.notify.showProblem(error);
      }
    };
    const form = element(
      "li",
      { on: { keydown: (event) => event.key === "Escape" && close(one) } },
      element(
        "form",
        { class: "labels", on: { submit: save } },
        field("title", "Name", { value: nameOf(one), maxlength: "200" }),
        field("tags", "Tags, separated by commas", {
          value: one.tags.join(", "),
          maxlength: "500",
        }),
        element("button", { class: "main" }, "Save"),
        button("Cancel", () => close(one)),
      ),
    );
    row.replaceWith(form);
    form.querySelector("input").select();
  }

  /** Delete something after a while, in which that can be taken back. */
  #delete(one, path, row) {
    const timer = setTimeout(() => {
      this.#send(path).then(() => this.refresh(), this.notify.showProblem);
    }, UNDO_TIME);
    this.doomed.set(path, timer);
    const undo = this.#undoRow(one, path);
    row.replaceWith(undo);
    undo.querySelector("button").focus();
    this.notify.announce("Deleted. Undo within ten seconds.");
  }

  #undoRow(one, path) {
    const takeBack = () => {
      clearTimeout(this.doomed.get(path));
      this.doomed.delete(path);
      const row = this.#row(one);
      undone.replaceWith(row);
      row.querySelector("a").focus();
    };
    const undone = element(
      "li",
      { class: "kept" },
      element("span", { class: "entry quiet" }, `Deleted: ${nameOf(one)}`),
      button("Undo", takeBack, { class: "plain" }),
    );
    return undone;
  }

  #send(path, options = {}) {
    clearTimeout(this.doomed.get(path));
    this.doomed.delete(path);
    return request(path, { method: "DELETE", ...options });
  }

  /** The page is left: nothing can be taken back any more. */
  #deleteNow() {
    for (const path of [...this.doomed.keys()]) {
      this.#send(path, { keepalive: true }).catch(() => {});
    }
  }
}

const trimmed = (text) => text.trim();

const field = (name, text, attributes) =>
  element(
    "label",
    {},
    text,
    element("input", { name, autocomplete: "off", dir: "auto", ...attributes }),
  );
