// A table of many things: it fills while it runs, is sorted by a column, and shows a cell's quote.
import { fetchJson, pause, request, retryUntilAnswered } from "/ui/api.js";
import { LOST } from "/ui/article.js";
import { button, element, icon, siteOf, textElement } from "/ui/element.js";
import { formatCount, formatScalar, headName } from "/ui/labels.js";
import { Card, quoteElements } from "/ui/quote.js";
import { downloadFile } from "/ui/tools.js";

const GOES_ON = "Ask for the same table again, and it goes on.";
const POLL_INTERVAL = 1000; // ms between requests for what is filled

const FORMATS = [
  ["csv", "CSV"],
  ["xlsx", "Excel"],
  ["html", "HTML page"],
  ["json", "JSON"],
];

/** The view of a table. */
export class TableView {
  constructor(name, { announce, showProblem }) {
    const path = `/api/tables/${encodeURIComponent(name)}`;
    const stop = () => request(`${path}/cancel`, { method: "POST" }).catch(showProblem);
    const download = (format) =>
      downloadFile(`${path}/file?format=${format}`, `${name}.${format}`).catch(showProblem);
    this.path = path;
    this.announce = announce;
    this.lost = element("p", { class: "note", hidden: true }, LOST);
    this.title = element("h1", { tabindex: "-1", dir: "auto" });
    this.state = element("p", { class: "state" });
    this.stop = button("Cancel", stop, { class: "cancel" });
    this.files = element(
      "div",
      { class: "tools" },
      FORMATS.map(([format, text]) => button(text, () => download(format))),
    );
    this.noted = element("ul", { class: "items" });
    this.heads = element("tr");
    this.rows = element("tbody");
    this.caption = element("caption", { class: "unseen" });
    this.drawn = new Map(); // rows by name: their element, and what it shows
    this.sorted = { column: null, by: 1 };
    const region = { role: "region", tabindex: "0", "aria-label": "Table" };
    const table = element(
      "table",
      { class: "cells things" },
      this.caption,
      element("thead", {}, this.heads),
      this.rows,
    );
    this.region = element("div", { class: "wide", ...region }, table);
    const margin = element("aside", { class: "margin", "aria-label": "What it rests on" });
    this.card = new Card(margin);
    this.root = element(
      "div",
      { class: "run" },
      element(
        "div",
        { class: "column" },
        element("div", { class: "top" }, this.title, this.stop),
        this.state,
        this.lost,
        this.noted,
        this.region,
        this.files,
      ),
      margin,
    );
  }

  /** Ask how far it is and show that; as long as the server does not answer, again. */
  async fetch(signal) {
    const setLost = (isLost) => {
      this.lost.hidden = !isLost;
    };
    const detail = await retryUntilAnswered(
      () => fetchJson(this.path, { signal }),
      signal,
      setLost,
    );
    setLost(false);
    this.draw(detail);
    this.isOver = detail.state !== "running";
  }

  /** Show how it fills, to its end. */
  async follow(signal) {
    while (!this.isOver) {
      await pause(POLL_INTERVAL, signal);
      await this.fetch(signal);
    }
    this.announce(this.state.textContent);
  }

  /** Show a table as it is now. */
  draw(detail) {
    const { table, topic, title, columns } = detail;
    this.table = { columns, rows: [], warnings: [], ...table };
    this.title.textContent = title || topic;
    this.caption.textContent = `${topic}: each value opens the words it rests on`;
    this.state.replaceChildren(...stateParts(detail));
    this.stop.hidden = detail.state !== "running";
    const isEmpty = !this.table.rows.length;
    this.region.hidden = isEmpty;
    this.files.hidden = isEmpty || detail.state === "running";
    this.noted.replaceChildren(...this.table.warnings.map((text) => textElement(text, "li")));
    if (!this.heads.children.length) this.#drawHeads();
    for (const row of this.table.rows) this.#drawRow(row);
    this.#sort();
  }

  #drawHeads() {
    const names = [null, ...this.table.columns.map(({ name }) => name)];
    const heads = names.map((name) => {
      const sort = () => {
        const isAgain = this.sorted.column === name && this.sorted.isChosen;
        this.sorted = { column: name, by: isAgain ? -this.sorted.by : 1, isChosen: true };
        this.#sort();
      };
      const text = name === null ? "Name" : headName(name);
      const sorter = element(
        "button",
        { type: "button", class: "plain", on: { click: sort } },
        text,
      );
      return element("th", { scope: "col" }, sorter);
    });
    this.heads.replaceChildren(...heads);
  }

  /** Draw a row anew only where it has changed: what is open or has the focus stays. */
  #drawRow(row) {
    const shown = JSON.stringify(row);
    const known = this.drawn.get(row.name);
    if (known?.shown === shown) return;
    const made = element(
      "tr",
      {},
      textElement(row.name, "th", { scope: "row" }),
      this.table.columns.map(({ name }) => this.#cell(row, name)),
    );
    known?.made.replaceWith(made);
    this.drawn.set(row.name, { made, shown });
  }

  #cell(row, name) {
    const cell = row.cells[name];
    const about = `${row.name}, ${headName(name)}`;
    if (cell.value == null) {
      const none = () => this.#reason(about, cell.reason);
      return element("td", {}, this.card.button("not found", none, { class: "value quiet" }));
    }
    const values = [cell, ...cell.others].map(({ value, source }) => {
      const content = () => this.#quote(about, cell, source);
      return source
        ? this.card.button(formatScalar(value), content, { class: "value", dir: "auto" })
        : textElement(formatScalar(value));
    });
    const joined = values.flatMap((one, n) =>
      n ? [element("span", { class: "or" }, " or "), one] : one,
    );
    return element("td", { class: cell.status }, joined);
  }

  #quote(about, { status, verdict }, source) {
    const why = { supported: "Confirmed: these words say it.", unchecked: "Not judged." };
    const told =
      status === "conflict" ? "Sources differ; none was preferred." : (why[verdict] ?? "");
    return {
      label: `Quote for ${about}`,
      elements: [
        this.card.head(about),
        textElement(source.title || siteOf(source.url), "p", { class: "quiet" }),
        quoteElements(source),
        element("p", { class: "quiet why" }, told),
      ],
    };
  }

  #reason = (about, reason) => ({
    label: `Why there is nothing for ${about}`,
    elements: [this.card.head(about), textElement(reason, "p")],
  });

  /** Put the rows in order; empty cells come last, whatever the direction. */
  #sort() {
    const { column, by, isChosen } = this.sorted;
    [...this.heads.children].forEach((head, n) => {
      const isSorted = isChosen && column === (n ? this.table.columns[n - 1].name : null);
      if (isSorted) head.setAttribute("aria-sort", by > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    const keyOf = (row) => (column === null ? row.name : row.cells[column].value);
    const sorted = isChosen
      ? this.table.rows.toSorted((a, b) => compare(keyOf(a), keyOf(b), by))
      : this.table.rows;
    const rows = sorted.map(({ name }) => this.drawn.get(name).made);
    if (rows.every((row, n) => row === this.rows.children[n])) return;
    this.rows.replaceChildren(...rows);
  }
}

function compare(a, b, by) {
  if (a == null || b == null) return (a == null) - (b == null);
  if (typeof a === "number" && typeof b === "number") return by * (a - b);
  return by * String(a).localeCompare(String(b), undefined, { numeric: true });
}

/** How far a table is: what goes on or how it ended, and what is missing. */
function stateParts({ state, rows, done, error, table }) {
  const cells = (table?.rows ?? []).flatMap((row) => Object.values(row.cells));
  const empty = cells.filter(({ value }) => value == null).length;
  const [text, shape, tone] = stateOf(state, rows, done, empty);
  const whole = state === "ended" ? "every cell found" : "";
  const missing = empty ? `${formatCount(empty, "cell")} not found` : whole;
  return [
    element("strong", { class: tone }, icon(shape), text),
    cells.length > 0 && element("span", { class: "quiet" }, missing),
    error && textElement(error === "interrupted" ? GOES_ON : error, "span", { class: "quiet" }),
  ].filter(Boolean);
}

/** The state of a table in words, with its icon and its class. */
export function stateOf(state, rows, done, empty = 0) {
  if (state === "running") {
    const far = rows == null ? "Looking for the rows" : `${done} of ${formatCount(rows, "row")}`;
    return [far, "turn", "live"];
  }
  if (state === "stopped") {
    const far = rows == null ? "Stopped: no rows" : `Stopped: ${done} of ${rows} rows`;
    return [far, "half", "warn"];
  }
  return [formatCount(rows, "row"), ...(empty ? ["half", "warn"] : ["check", "ok"])];
}
