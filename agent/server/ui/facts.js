// Facts: each with its value and what it rests on; and where sources disagree, both values.
import { element, section, siteOf, textElement } from "/ui/element.js";
import {
  formatCount,
  formatDate,
  formatScalar,
  formatStanding,
  headName,
  spacedName,
} from "/ui/labels.js";
import { openLink } from "/ui/quote.js";
import { disputesOf, valuesOf } from "/ui/run.js";

const MAX_LARGE = 20; // characters of a value that is set large
const MANY = ["No", "One", "Two", "Three", "Four", "Five"];

/** Facts while they are looked for: never "not found", never a verdict. */
export function openFacts(slots, witnesses) {
  const rows = Object.entries(slots).map(([name, slot]) => {
    const count = witnesses[name] ?? 0;
    const isKnown = slot.status !== "missing";
    const values = hasSeveral(slot) ? valuesOf(slot) : [{ value: slot.value }];
    const elements = values.map(({ value }) => valueElement(value));
    const shown = isKnown ? joinValues(elements, slot) : looking();
    return factRow(
      name,
      shown,
      isKnown && `On ${formatCount(count || 1, "page")}, not checked yet`,
    );
  });
  return section("facts", "Facts", "", factList(rows));
}

const looking = () => element("span", { class: "quiet" }, "Looking");

/** Facts of an answer. */
export function factSection({ slots, sources }, evidence, copies) {
  const rows = Object.entries(slots).map(([name, slot]) => {
    if (slot.status === "missing") {
      const note = `${formatCount(sources.read, "page")} read`;
      return factRow(name, element("span", { class: "quiet" }, "Not found"), note, "missing");
    }
    const values = hasSeveral(slot) ? valuesOf(slot) : [settled(slot)];
    const shown = values.map(({ value, citations }) => [
      valueElement(value),
      evidence.markers(citations, { text: `${spacedName(name)} ${value}` }),
    ]);
    return factRow(
      name,
      joinValues(shown, slot),
      groundText(slot, values, evidence, copies),
      slot.status,
    );
  });
  return section("facts", "Facts", "", factList(rows));
}

const factList = (rows) => (rows.length ? element("dl", { class: "fact-list" }, rows) : null);

function settled(slot) {
  const opposed = new Set((slot.alternatives ?? []).flatMap((one) => one?.citations ?? []));
  return { value: slot.value, citations: slot.citations.filter((n) => !opposed.has(n)) };
}

const factRow = (name, value, note, kind = "") =>
  element(
    "div",
    { class: `fact ${kind}` },
    textElement(headName(name), "dt"),
    element("dd", { class: "value" }, value),
    element("dd", { class: "quiet" }, note || ""),
  );

/** Whether a slot has several values to show: they disagree, or are of several things. */
const hasSeveral = (slot) => slot.status === "conflict" || slot.of;

const joinValues = (values, slot) => {
  const word = slot.status === "conflict" ? " or " : "; ";
  return values.map((value, n) => [n ? element("span", { class: "or" }, word) : "", value]);
};

/** What a value rests on, in words. Copies and pages of one site are no independent sources. */
function groundText(slot, values, evidence, copies) {
  if (slot.status === "conflict") return "Sources disagree; none was preferred";
  if (/^\d{4}(-|$)/.test(slot.of ?? "")) return "The newest first";
  if (slot.of) return "Several things of this name";
  const numbers = values[0].citations.filter((number) => evidence.cited(number).length);
  const own = numbers.filter((number) => !numbers.includes(copies[number]));
  const sites = new Set(own.map((number) => siteOf(evidence.cited(number)[0].url)));
  const others = (slot.alternatives ?? []).length ? "; another value was outweighed" : "";
  const judged = slot.verdict === "unchecked" ? ", not judged" : "";
  if (sites.size > 1) return `${sites.size} independent sources${others}${judged}`;
  if (!sites.size) return "";
  const alone = numbers.length > own.length ? "1 source and its copies" : "1 source, nobody else";
  return `${own.length > 1 ? `${own.length} pages of 1 site` : alone}${others}${judged}`;
}

/** A JSON value: a list as a list, an object as terms with their values. */
function valueElement(value) {
  if (Array.isArray(value)) {
    const items = value.map((item) => element("li", {}, valueElement(item)));
    return element("ul", {}, items);
  }
  if (value === null || typeof value !== "object") return textElement(formatScalar(value));
  const entries = Object.entries(value).map(([key, inner]) => [
    textElement(spacedName(key), "dt"),
    element("dd", {}, valueElement(inner)),
  ]);
  return element("dl", {}, entries);
}

// --- where sources disagree ----------------------------------------------------------------------

/** Each disagreement with both values and their quotes, of equal size, in the order of sources. */
export const disputeElements = (answer, evidence) =>
  disputesOf(answer).map((dispute) => disputeElement(dispute, evidence));

function disputeElement({ name, values }, evidence) {
  const count = MANY[values.length] ?? values.length;
  const sides = values.map((side) => sideElement(side, evidence));
  return section(
    "dispute",
    `${headName(name)}: sources give ${String(count).toLowerCase()} values`,
    "",
    element("div", { class: "sides" }, sides),
  );
}

function sideElement({ value, citations }, evidence) {
  const cited = evidence.nearest(citations, formatScalar(value));
  const isLong = formatScalar(value).length > MAX_LARGE;
  return element(
    "div",
    {},
    element("div", { class: isLong ? "side long" : "side" }, valueElement(value)),
    cited && [
      element("blockquote", { dir: "auto" }, "“", markValue(cited.quote, value), "”"),
      textElement(cited.title || siteOf(cited.url), "strong"),
      textElement(sideNote(cited), "p", { class: "quiet" }),
      openLink(cited),
    ],
  );
}

/** A quote in which the words that decide are marked, or all of it where they are not in it. */
function markValue(quote, value) {
  const text = formatScalar(value);
  const at = quote.toLowerCase().indexOf(text.toLowerCase());
  if (at < 0 || !text) return element("mark", {}, quote);
  const end = at + text.length;
  return [quote.slice(0, at), element("mark", {}, quote.slice(at, end)), quote.slice(end)];
}

const sideNote = ({ url, date, credibility }) =>
  [siteOf(url), formatDate(date), formatStanding(credibility.domain, credibility.reason)]
    .filter(Boolean)
    .join(" · ");
