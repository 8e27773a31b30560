// Files to ask about: uploaded to the server, and shown as chips until they are removed.
import { fetchJson, Problem, request } from "/ui/api.js";
import { button, element, icon, textElement } from "/ui/element.js";
import { formatCount } from "/ui/labels.js";

const MAX_DOCUMENTS = 8; // that a question may name, and the largest in bytes, as the server has it
const LARGEST_DOCUMENT = 50_000_000;
const STORED = "documents"; // in the storage of this tab: no other tab knows the ids
const NOT_TAKEN = new Problem("This server does not accept files.", "Start it with --documents.");

/** The files of the next question. */
export class Documents {
  constructor(place, { announce, showProblem }) {
    this.place = place;
    this.notify = { announce, showProblem };
    this.isOpen = false; // whether the server takes files
    this.sent = Promise.resolve(); // the files that are on their way
    const isKept = ({ expires }) => new Date(expires) > new Date();
    this.all = (read(STORED) ?? []).filter(isKept);
    this.#draw();
  }

  /** Send files, one after the other. */
  take(files) {
    for (const file of files) this.sent = this.sent.then(() => this.#send(file));
    return this.sent;
  }

  /** The ids of the files, once all are there; undefined without any. */
  async ids() {
    await this.sent;
    return this.all.length ? this.all.map(({ id }) => id) : undefined;
  }

  /** The documents that a run used, for a follow-up. */
  of = (run) => read(`${STORED} ${run}`);

  keepFor(run, ids) {
    if (ids) sessionStorage.setItem(`${STORED} ${run}`, JSON.stringify(ids));
  }

  async #send(file) {
    this.#draw(file.name);
    try {
      const uploaded = await this.#post(file);
      this.all.push(uploaded);
      this.notify.announce(`${uploaded.name} can be asked about.`);
    } catch (error) {
      this.notify.showProblem(error, () => this.take([file]));
    }
    this.#draw();
  }

  async #post(file) {
    if (!this.isOpen) throw NOT_TAKEN;
    if (this.all.length >= MAX_DOCUMENTS) {
      throw new Problem(`A question has at most ${MAX_DOCUMENTS} files.`, "Remove one first.");
    }
    if (file.size > LARGEST_DOCUMENT) {
      throw new Problem(`${file.name} is larger than ${LARGEST_DOCUMENT / 1e6} MB.`, "Split it.");
    }
    const form = new FormData();
    form.append("file", await readable(file), file.name);
    return fetchJson("/api/documents", { method: "POST", body: form });
  }

  async #remove(one) {
    this.all = this.all.filter((other) => other !== one);
    this.#draw();
    this.notify.announce(`${one.name} is removed.`);
    const path = `/api/documents/${encodeURIComponent(one.id)}`;
    await request(path, { method: "DELETE" }).catch((error) => {
      if (error.status !== 404) this.notify.showProblem(error); // it has expired
    });
  }

  #draw(sending = "") {
    sessionStorage.setItem(STORED, JSON.stringify(this.all));
    const chips = this.all.map((one) => this.#chip(one));
    if (sending) {
      chips.push(element("li", {}, icon("turn"), textElement(sending), quiet("is being read")));
    }
    this.place.replaceChildren(...chips);
    this.place.hidden = !chips.length;
  }

  #chip(one) {
    const remove = async () => {
      const next = document.getElementById("question");
      await this.#remove(one);
      next.focus();
    };
    const label = { class: "plain", "aria-label": `Remove ${one.name}` };
    return element(
      "li",
      {},
      icon("page"),
      textElement(one.name),
      quiet(noteOf(one)),
      button("Remove", remove, label),
    );
  }
}

const read = (name) => JSON.parse(sessionStorage.getItem(name)) ?? undefined;

const quiet = (text) => element("span", { class: "quiet" }, text);

/** How long a file is, and what of it was not read. */
const noteOf = ({ pages, not_read: missing }) =>
  [
    pages ? formatCount(pages, "page") : "",
    ...missing.map(({ what, count, why }) => `not read: ${count} ${what}, ${why}`),
  ]
    .filter(Boolean)
    .join(" · ");

/** A file that can be read: a folder that was dropped cannot. Throws Problem. */
const readable = (file) =>
  file
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => file,
      () => {
        throw new Problem(`${file.name} cannot be read.`, "Choose files, not folders.");
      },
    );
