// Claims of an answer: sentences as paragraphs, items as lists, rows as tables, each with its
// numbers, and with a mark where it is not confirmed.
import { element, textElement } from "/ui/element.js";
import { LONG_PARAGRAPH, VERDICT_LABELS } from "/ui/shared.js";

const LAST_WORD = /\S{1,12}$/u; // or the end of it
/** Differences that are another way to say a claim, where it is supported. */
const REWORDED = new Set(["number", "words"]);
const WIDE_ENDS = "。！？"; // no space follows them

/** Claims as blocks in their order; an intro stands once, above its list or table. */
export const claimElements = (claims, evidence) =>
  groupClaims(claims).map((group) => blockElements(group, evidence));

/** Claims as one list below each intro, whatever their form. */
export const claimList = (claims, evidence) =>
  claimElements(
    claims.map((claim) => ({ ...claim, form: "item" })),
    evidence,
  );

/** Neighbours of one form and one intro together; sentences as paragraphs. */
function groupClaims(claims) {
  const groups = [];
  for (const claim of claims) {
    const last = groups.at(-1);
    const isAlike = last?.[0].form === claim.form && last[0].intro === claim.intro;
    if (isAlike && !endsBefore(last, claim)) last.push(claim);
    else groups.push([claim]);
  }
  return groups;
}

/** Whether a long paragraph ends, since the next sentence cites other pages. */
function endsBefore(claims, { form, citations }) {
  const length = claims.reduce((sum, { text }) => sum + text.length, 0);
  const goesOn = citations.some((n) => claims.at(-1).citations.includes(n));
  return form === "sentence" && length > LONG_PARAGRAPH && !goesOn;
}

function blockElements(claims, evidence) {
  const [{ form, intro }] = claims;
  if (form === "sentence") return paragraph(claims, evidence);
  const lines = intro.split("\n").filter((line) => line.trim());
  const heads = lines.filter((line) => form === "row" && line.startsWith("|"));
  const above = lines.filter((line) => !heads.includes(line)).join(" ");
  const block =
    form === "item" ? itemList(claims, evidence) : rowTable(claims, heads, above, evidence);
  return [above && textElement(above, "p"), block];
}

function paragraph(claims, evidence) {
  const sentences = claims.map((claim, index) => [
    index && !WIDE_ENDS.includes(claims[index - 1].text.at(-1)) ? " " : "",
    sentenceElement(claim, evidence),
  ]);
  const notes = claims.flatMap((claim) => noteElements(claim, "answer"));
  return [element("p", { dir: "auto" }, sentences), ...notes];
}

/** The lines below a claim: how its numbers follow, and where a source has other words. */
export function noteElements({ calculation, verdict, differences = [] }, said) {
  const shown = differences.filter(({ kind }) => verdict !== "supported" || !REWORDED.has(kind));
  const lines = shown.map((one) => `page: ${one.page || "–"}; ${said}: ${one.claim || "–"}`);
  if (calculation) {
    const { value, expression } = calculation;
    const round = value === null ? "" : `${Number(value.toFixed(3)).toLocaleString("en")} = `;
    lines.unshift(round + expression);
  }
  return lines.map((line) => textElement(line, "p", { class: "quiet" }));
}

function itemList(claims, evidence) {
  const items = claims.map((claim) =>
    element("li", { dir: "auto" }, sentenceElement(claim, evidence), noteElements(claim, "answer")),
  );
  return element("ul", { class: "items" }, items);
}

/** A sentence, its numbers after the full stop, and a mark where it is not confirmed. */
const sentenceElement = (claim, evidence) =>
  element(
    "span",
    { class: `sentence ${claim.verdict}` },
    withEnd(claim.text, evidence.markers(claim.citations, claim)),
    markElement(claim),
  );

/** A text with its numbers, which do not stand alone on a line. */
function withEnd(text, markers) {
  const end = text.match(LAST_WORD)?.[0] ?? "";
  const body = text.slice(0, text.length - end.length);
  return markers ? [body, element("span", { class: "end" }, end, markers)] : text;
}

function rowTable(claims, heads, caption, evidence) {
  const names = heads.slice(0, 1).flatMap(splitCells);
  const head = names.map((name) => textElement(name, "th", { scope: "col" }));
  const rows = claims.map((claim) => element("tr", {}, rowCells(claim, evidence)));
  const table = element(
    "table",
    { class: "cells" },
    element("caption", { class: "unseen" }, caption || "Values, each with its quote"),
    head.length > 0 && element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, rows),
  );
  const label = { role: "region", tabindex: "0", "aria-label": caption || "Table" };
  return element("div", { class: "wide", ...label }, table);
}

/** The cells of a row; its numbers and its mark are in the last one. */
function rowCells(claim, evidence) {
  const [first, ...cells] = splitCells(claim.text);
  const last = cells.pop();
  const evidenceOfRow = [evidence.markers(claim.citations, claim), markElement(claim)];
  if (last === undefined) return element("td", { dir: "auto" }, first, evidenceOfRow);
  return [
    textElement(first, "th", { scope: "row" }),
    cells.map((cell) => textElement(cell, "td")),
    element(
      "td",
      { dir: "auto" },
      last || element("span", { class: "quiet" }, "not found"),
      evidenceOfRow,
    ),
  ];
}

/** The cells of a row of a Markdown table. */
const splitCells = (row) =>
  row
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));

/** The verdict in words, a space before it; nothing for a claim that is supported. */
function markElement({ verdict }) {
  const mark = VERDICT_LABELS[verdict];
  return mark ? [" ", element("span", { class: `mark ${verdict}` }, mark)] : null;
}
