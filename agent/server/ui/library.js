// The library: runs, watches and tables, to be found, opened, renamed, tagged, exported, deleted.
import { fetchJson, request } from "/ui/api.js";
import { button, element, textElement } from "/ui/element.js";
import { formatTime } from "/ui/labels.js";
import { stateOf } from "/ui/table.js";
import { downloadFile } from "/ui/tools.js";

const MAX_RUNS = 200; // as many as the server lists
const MAX_FIRST = 10; // of a kind that are shown until all are asked for
const MAX_RECENT = 5; // on the first page
const UNDO_TIME = 10_000; // ms within which a deletion can be taken back
const SEARCH_PAUSE = 200; // ms after the last key
const STATES = { queued: "Waiting", running: "Under way" };
const STATUSES = {
  complete: "Answered",
  partial: "Answered in part",
  insufficient: "Not found",
  error: "No answer",
};

/** What is kept: how it is called, its address on the page, what is said of it in a list. */
const KINDS = {
  runs: {
    heading: "Runs",
    query: "run",
    note: (run) =>
      run.cancelled ? "Stopped by you" : (STATES[run.state] ?? STATUSES[run.status] ?? ""),
    time: "started_at",
  },
  watches: {
    heading: "Watches",
    query: "watch",
    note: ({ problem, changed_at: at }) =>
      problem ? "Could not look the last time" : at && `No change since ${formatTime(at)}`,
    time: "asked_at",
  },
  tables: {
    heading: "Tables",
    query: "table",
    note: ({ state, rows, done }) => stateOf(state, rows, done)[0],
    time: "started_at",
  },
};

/** Whether each word is said of something, in any case; of runs the server knows. */
const hasWords = ({ question, topic, title, tags }, words) => {
  const said = [question, topic, title, ...tags].join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
};

const nameOf = (one) => one.title || one.question || one.topic;

/** A link that opens one of a kind, with what is said of it. */
function opener(kind, one) {
  const { query, note, time } = KINDS[kind];
  const text = [note(one), formatTime(one[time])].filter(Boolean).join(" · ");
  return element(
    "a",
    { class: "row", href: `/?${query}=${encodeURIComponent(one.id)}`, "data-open": true },
    textElement(nameOf(one)),
    element("span", { class: "quiet" }, text),
  );
}

/** The newest runs, in a section of the first page. */
export async function showRecent(place) {
  const runs = await fetchJson(`/api/runs?limit=${MAX_RECENT}`);
  const rows = runs.map((run) => element("li", {}, opener("runs", run)));
  place.querySelector("ul").replaceChildren(...rows);
  place.hidden = !runs.length;
}

/** The view of all that is kept. */
export class Library {
  constructor(place, { announce, showProblem }) {
    this.place = place;
    this.tell = { announce, showProblem };
    this.search = place.querySelector("input");
    this.parts = place.querySelector("div");
    this.all = {}; // by kind
    this.doomed = new Map(); // paths that are about to be deleted, and their timers
    this.whole = new Set(); // kinds of which all are shown
    let pausing = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(pausing);
      pausing = setTimeout(() => this.refresh(true).catch(this.tell.showProblem), SEARCH_PAUSE);
    });
    addEventListener("pagehide", () => this.#deleteNow());
  }

  /** Ask for what is kept and list it. */
  async refresh(isSearch = false) {
    const words = this.search.value.trim();
    const queries = { runs: `?limit=${MAX_RUNS}&q=${encodeURIComponent(words)}` };
    const lists = Object.keys(KINDS).map(async (kind) => {
      const all = await fetchJson(`/api/${kind}${queries[kind] ?? ""}`);
      return [kind, queries[kind] ? all : all.filter((one) => hasWords(one, words))];
    });
    const found = await Promise.all(lists);
    if (words !== this.search.value.trim()) return; // typed on
    this.all = Object.fromEntries(found);
    this.#draw();
    if (isSearch) this.tell.announce(`${Object.values(this.all).flat().length} found`);
  }

  #draw() {
    const parts = Object.keys(KINDS).map((kind) => this.#part(kind));
    const none = this.search.value.trim()
      ? "Nothing that is kept has these words."
      : "Nothing is kept yet: ask something, and it is here.";
    const isEmpty = !Object.values(this.all).flat().length;
    this.parts.replaceChildren(
      ...(isEmpty ? [element("p", { class: "quiet" }, none)] : parts.filter(Boolean)),
    );
  }

  #part(kind) {
    const all = this.all[kind];
    if (!all.length) return null;
    const shown = this.whole.has(kind) ? all : all.slice(0, MAX_FIRST);
    const showAll = () => {
      this.whole.add(kind);
      this.#draw();
      const rows = this.parts.querySelectorAll(`[data-kind=${kind}] .row`);
      rows[MAX_FIRST].focus();
    };
    const hidden = all.length - shown.length;
    return element(
      "section",
      { "aria-labelledby": `kept-${kind}`, "data-kind": kind },
      element("h2", { id: `kept-${kind}` }, KINDS[kind].heading),
      element(
        "ul",
        { class: "rows" },
        shown.map((one) => this.#row(kind, one)),
      ),
      hidden > 0 && button(`Show all ${all.length}`, showAll, { class: "plain" }),
    );
  }

  #row(kind, one) {
    const path = `/api/${kind}/${encodeURIComponent(one.id)}`;
    if (this.doomed.has(path)) return this.#undoRow(kind, one, path);
    const name = nameOf(one);
    const isOver = !STATES[one.state];
    const exported = () =>
      downloadFile(`${path}/export`, `${one.id}.zip`).catch(this.tell.showProblem);
    const acts = [
      button("Rename, tag", () => this.#edit(kind, one, path, row)),
      kind === "runs" && isOver && button("Export", exported),
      isOver && button("Delete", () => this.#delete(kind, one, path, row)),
    ];
    const more = element("summary", { "aria-label": `More: ${name}` }, "More");
    const row = element(
      "li",
      { class: "kept" },
      opener(kind, one),
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
      this.refresh(true).catch(this.tell.showProblem);
    };
    return element(
      "ul",
      { class: "tags", "aria-label": "Tags" },
      tags.map((tag) => element("li", {}, button(tag, find(tag), { dir: "auto" }))),
    );
  }

  /** A form in place of a row for its name and tags. */
  #edit(kind, one, path, row) {
    const close = (changed) => {
      const next = this.#row(kind, changed);
      form.replaceWith(next);
      next.querySelector("summary").focus();
    };
    const save = async (event) => {
      event.preventDefault();
      const { title, tags } = event.target.elements;
      const body = { title: title.value.trim(), tags: tags.value.split(",").map(trimmed) };
      body.tags = body.tags.filter(Boolean);
      try {
        const told = await fetchJson(path, { method: "PATCH", body });
        Object.assign(one, { title: told.title, tags: told.tags });
        close(one);
        this.tell.announce("Saved");
      } catch (error) {
        this.tell.showProblem(error);
      }
    };
    const form = element(
      "li",
      { on: { keydown: (event) => event.key === "Escape" && close(one) } },
      element(
        "form",
        { class: "labels", on: { submit: save } },
        field("title", "Name", { value: nameOf(one), maxlength: "200" }),
        field("tags", "Tags, with commas", { value: one.tags.join(", "), maxlength: "500" }),
        element("button", { class: "main" }, "Save"),
        button("Leave it", () => close(one)),
      ),
    );
    row.replaceWith(form);
    form.querySelector("input").select();
  }

  /** Delete something after a while, in which that can be taken back. */
  #delete(kind, one, path, row) {
    const timer = setTimeout(() => {
      this.#send(path).then(() => this.refresh(), this.tell.showProblem);
    }, UNDO_TIME);
    this.doomed.set(path, timer);
    const undo = this.#undoRow(kind, one, path);
    row.replaceWith(undo);
    undo.querySelector("button").focus();
    this.tell.announce("Deleted. Undo within ten seconds.");
  }

  #undoRow(kind, one, path) {
    const takeBack = () => {
      clearTimeout(this.doomed.get(path));
      this.doomed.delete(path);
      const row = this.#row(kind, one);
      undone.replaceWith(row);
      row.querySelector("a").focus();
    };
    const undone = element(
      "li",
      { class: "kept" },
      element("span", { class: "row quiet" }, `Deleted: ${nameOf(one)}`),
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
