// A check of a report: the form for one, and its text with marks beside what decides on each.
import { noteElements } from "/ui/claims.js";
import { button, element, folded, icon, link, section, siteOf, textElement } from "/ui/element.js";
import { formatCount } from "/ui/labels.js";
import { CHECK_LABELS, SOURCE_LABELS } from "/ui/shared.js";

const ICONS = {
  supported: "check",
  partial: "half",
  contradicted: "cross",
  unsupported: "cross",
  unreadable: "lock",
  unchecked: "open",
};
const FAILING = ["contradicted", "unsupported"];
const LARGEST = 8_000_000; // bytes of a file; in base64 they fit into a request

// --- the form ------------------------------------------------------------------------------------

/** The form: a report is pasted, chosen as a file, or dropped. `check` gets what to send. */
export class CheckForm {
  constructor(form, { check, showFault }) {
    this.form = form;
    this.showFault = showFault;
    this.text = form.elements.report;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const report = this.text.value.trim();
      if (report) check(this.#ask({ report }));
      else this.#refuse("Paste a report first, or choose its file.");
    });
    this.check = check;
  }

  /** Check the file that was chosen or dropped. */
  take([file]) {
    return this.#read(file).then(this.check, ({ message }) => this.#refuse(message));
  }

  #ask(report) {
    const { search, archive } = this.form.elements;
    return { ...report, search: search.checked, archive: archive.checked || null };
  }

  #refuse(message) {
    this.showFault(message);
    this.text.focus();
  }

  async #read(file) {
    if (file.size > LARGEST) throw new Error("The file is larger than 8 MB.");
    const bytes = new Uint8Array(await file.arrayBuffer());
    const pieces = [];
    for (let at = 0; at < bytes.length; at += 0x8000) {
      pieces.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
    }
    return this.#ask({ report: btoa(pieces.join("")), encoding: "base64", name: file.name });
  }
}

// --- what came of it -----------------------------------------------------------------------------

/** How a check ended: the words that the other formats have, an icon and a class. */
export function checkOutcome({ answer: { check }, told }) {
  const [text] = told.split("\n");
  if (check.claims.some(({ verdict }) => FAILING.includes(verdict))) {
    return { text, icon: "cross", tone: "bad" };
  }
  const isWhole = check.shares.judged && check.shares.holding === check.shares.claims;
  return isWhole ? { text, icon: "check", tone: "ok" } : { text, icon: "half", tone: "warn" };
}

/** The sections of a check. `step` goes to the next problem. */
export function checkSections({ answer, told }, tools, step) {
  const { check } = answer;
  const sources = new Map(check.sources.map((source) => [source.id, source]));
  const [, ...found] = told.split("\n");
  const hasProblem = check.claims.some(({ verdict }) => verdict !== "supported");
  return [
    element(
      "div",
      { class: "told" },
      found.map((line) => textElement(line, "p", { class: "quiet" })),
      tallyOf(check),
      hasProblem && button("Next problem", () => step(1), { class: "next" }),
    ),
    element(
      "section",
      { class: "report", "aria-label": "The report" },
      rowsOf(check).map((row) => rowElement(row, sources, check.report.title)),
    ),
    tools,
    section("sources", "By source", "", sourceTable(check.sources)),
    check.uncited.length > 0 &&
      folded(
        `${formatCount(check.uncited.length, "sentence")} without a source`,
        element(
          "ul",
          { class: "items" },
          check.uncited.map(({ text }) => textElement(text, "li")),
        ),
      ),
    answer.warnings.length > 0 &&
      section(
        "noted",
        "Noted",
        "",
        element(
          "ul",
          { class: "items" },
          answer.warnings.map((one) => textElement(one, "li")),
        ),
      ),
    element("p", {}, element("a", { href: "/?check", class: "another" }, "Check another")),
  ].filter(Boolean);
}

function tallyOf({ counts }) {
  const rows = Object.entries(CHECK_LABELS).filter(([verdict]) => counts[verdict]);
  const words = ([verdict, label]) =>
    element(
      "li",
      {},
      element("span", { class: toneOf(verdict) }, icon(ICONS[verdict])),
      element("strong", {}, String(counts[verdict])),
      ` ${label}`,
    );
  return rows.length > 0 && element("ul", { class: "tally" }, rows.map(words));
}

const toneOf = (verdict) =>
  ({ supported: "ok", partial: "warn", contradicted: "bad", unsupported: "bad" })[verdict] ??
  "quiet";

/** The lines of the report, each cut at its claims. Offsets count characters, not UTF-16 units. */
function rowsOf({ report, claims }) {
  const characters = Array.from(report.text);
  const cut = (start, end) => characters.slice(start, end).join("");
  const rows = [[]];
  let at = 0;
  const addText = (text) => {
    const [first, ...others] = text.split("\n");
    rows.at(-1).push({ text: first });
    rows.push(...others.map((line) => [{ text: line }]));
  };
  for (const claim of claims.toSorted((a, b) => a.start - b.start)) {
    if (claim.start < at) continue;
    addText(cut(at, claim.start));
    rows.at(-1).push({ text: cut(claim.start, claim.end), claim });
    at = claim.end;
  }
  addText(cut(at));
  return rows.filter((row) => row.some(({ text }) => text.trim()));
}

function rowElement(row, sources, title) {
  const words = row.map(({ text }) => text).join("");
  const claims = row.filter(({ claim }) => claim);
  if (!claims.length && /^#+ /.test(words)) return headingElement(words.replace(/^#+ /, ""), title);
  const beside = new Map(claims.map((piece) => [piece, evidenceElement(piece.claim, sources)]));
  const line = element(
    "p",
    { dir: "auto" },
    row.map((piece) => (piece.claim ? marked(piece, beside.get(piece)) : piece.text)),
  );
  return element("div", { class: "pair" }, line, element("div", {}, [...beside.values()]));
}

/** A heading of the report; its title stands above already. */
const headingElement = (words, title) => (words.trim() === title ? "" : textElement(words, "h3"));

/** A claim with its mark, a button that opens what decides. */
function marked({ text, claim: { verdict } }, evidence) {
  const isHeld = verdict === "supported";
  const open = () => {
    evidence.open = true;
    evidence.scrollIntoView({ block: "nearest" });
  };
  const mark = button("", open, {
    class: `mark ${verdict}${isHeld ? "" : " problem"}`,
    "aria-label": `${CHECK_LABELS[verdict]}: show what decides`,
  });
  mark.append(icon(ICONS[verdict]), isHeld ? "" : CHECK_LABELS[verdict]);
  return [element("span", { class: `sentence ${verdict}` }, text.replaceAll("\n", " ")), " ", mark];
}

function evidenceElement(claim, sources) {
  const { verdict, reason, quote } = claim;
  const numbers = claim.source ? [claim.source] : claim.sources;
  const label = CHECK_LABELS[verdict];
  return element(
    "details",
    { class: `evidence ${verdict}`, open: verdict !== "supported" && verdict !== "unchecked" },
    element(
      "summary",
      { class: toneOf(verdict) },
      icon(ICONS[verdict]),
      textElement(reason ? `${label}: ${reason}` : label),
    ),
    noteElements(claim, "report"),
    quote && textElement(quote, "blockquote"),
    numbers.filter((n) => sources.has(n)).map((n) => pageLine(sources.get(n), claim.link)),
  );
}

function pageLine(source, at) {
  const state = source.status === "read" ? "" : ` · ${SOURCE_LABELS[source.status]}`;
  const where = at || source.url;
  return element(
    "p",
    { class: "quiet" },
    textElement(`[${source.id}] ${source.title || siteOf(source.url)}`),
    `${state} · `,
    where ? link(where, "Open") : "no address",
  );
}

function sourceTable(sources) {
  if (!sources.length) return null;
  const heads = ["Source", "Sentences", "State"];
  const total = ({ counts }) => Object.values(counts).reduce((sum, n) => sum + n, 0);
  const rows = sources.toSorted((a, b) => total(b) - total(a) || a.id - b.id);
  const table = element(
    "table",
    { class: "cells" },
    element("caption", { class: "unseen" }, "Sources, and what each carries"),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        heads.map((head) => element("th", { scope: "col" }, head)),
      ),
    ),
    element("tbody", {}, rows.map(sourceRow)),
  );
  return element(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": "Sources" },
    table,
  );
}

function sourceRow({ id, url, title, counts, status, reason, notice }) {
  const carried = Object.entries(CHECK_LABELS)
    .filter(([verdict]) => counts[verdict])
    .map(([verdict, label]) => `${counts[verdict]} ${label}`);
  const why = notice || (status === "read" ? "" : reason);
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, `[${id}] `, link(url, title || siteOf(url) || "no address")),
    element("td", {}, carried.join(", ") || "none"),
    element("td", {}, textElement(SOURCE_LABELS[status] + (why ? `: ${why}` : ""))),
  );
}
