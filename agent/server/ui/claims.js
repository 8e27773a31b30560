// Claims of an answer: sentences as paragraphs, items as lists, rows as tables, each with its
// markers, and with a mark where it is not confirmed.
import { textWithMarkers } from "/ui/citation.js";
import { element, textElement } from "/ui/element.js";
import { VERDICT_LABELS } from "/ui/verdicts.js";

const FINAL_STOP = /(?<![.!?。！？])[.!?。！？]+[)"'”’»」』]*$/;
const WIDE_ENDS = "。！？"; // no space stands before the markers, nor after them

/** Claims as blocks in their order; an intro stands once, above its list or table. */
export const claimElements = (claims, citations) =>
  groupClaims(claims).map((group) => blockElements(group, citations));

/** Claims as one list below each intro, whatever their form. */
export const claimList = (claims, citations) =>
  claimElements(
    claims.map((claim) => ({ ...claim, form: "item" })),
    citations,
  );

/** Neighbours of one form and one intro together. */
function groupClaims(claims) {
  const groups = [];
  for (const claim of claims) {
    const last = groups.at(-1);
    if (last?.[0].form === claim.form && last[0].intro === claim.intro) last.push(claim);
    else groups.push([claim]);
  }
  return groups;
}

function blockElements(claims, citations) {
  const [{ form, intro }] = claims;
  if (form === "sentence") return paragraph(claims, citations);
  const lines = intro.split("\n").filter((line) => line.trim());
  const heads = lines.filter((line) => form === "row" && line.startsWith("|"));
  const above = lines.filter((line) => !heads.includes(line)).join(" ");
  const block = form === "item" ? itemList(claims, citations) : rowTable(claims, heads, citations);
  return [above && textElement(above, "p"), block];
}

function paragraph(claims, citations) {
  const sentences = claims.map((claim, index) => [
    index ? gapAfter(claims[index - 1]) : "",
    sentenceElements(claim, citations),
  ]);
  return element("p", { dir: "auto" }, sentences);
}

const gapAfter = ({ text, verdict }) =>
  WIDE_ENDS.includes(text.at(-1)) && verdict === "supported" ? "" : " ";

function itemList(claims, citations) {
  const items = claims.map((claim) =>
    element("li", { dir: "auto" }, sentenceElements(claim, citations)),
  );
  return element("ul", { class: "notes" }, items);
}

function rowTable(claims, heads, citations) {
  const names = heads.slice(0, 1).flatMap(splitCells);
  const head = names.map((name) => textElement(name, "th", { scope: "col" }));
  const rows = claims.map((claim) => element("tr", {}, rowCells(claim, citations)));
  return element(
    "table",
    { class: "rows" },
    head.length > 0 && element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, rows),
  );
}

/** The cells of a row; its markers and its mark are in the last one. */
function rowCells(claim, citations) {
  const cells = splitCells(claim.text);
  const last = `${cells.pop()} ${numbersOf(claim)}`.trim();
  const content = [textWithMarkers(last, citations, claim.text), markElement(claim)];
  return [cells.map((cell) => textElement(cell, "td")), element("td", { dir: "auto" }, content)];
}

/** The cells of a row of a Markdown table. */
const splitCells = (row) =>
  row
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));

const sentenceElements = (claim, citations) => [
  textWithMarkers(sentenceWithNumbers(claim), citations),
  markElement(claim),
];

/** The verdict in words, a space before it; nothing for a claim that is supported. */
function markElement({ verdict }) {
  const mark = VERDICT_LABELS[verdict];
  return mark ? [" ", element("span", { class: `mark ${verdict}` }, mark)] : [];
}

/** A claim as the answer has it: with the numbers of its sources before the full stop. */
function sentenceWithNumbers(claim) {
  const numbers = numbersOf(claim);
  if (!numbers) return claim.text;
  const end = claim.text.match(FINAL_STOP)?.[0] ?? "";
  const body = claim.text.slice(0, claim.text.length - end.length);
  return `${body}${end && WIDE_ENDS.includes(end[0]) ? "" : " "}${numbers}${end}`;
}

const numbersOf = ({ citations }) => citations.map((number) => `[${number}]`).join("");
