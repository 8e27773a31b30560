// An answer: its text with markers, facts, report and sources, and how far to trust it.
import { markersOf, quoteElements, textWithMarkers } from "/ui/citation.js";
import { claimElements, claimList } from "/ui/claims.js";
import { element, link, section, siteOf, textElement } from "/ui/element.js";
import {
  formatCount,
  formatCredibility,
  formatScalar,
  formatTime,
  formatUsage,
  STATUSES,
  spacedName,
  strategyLabel,
} from "/ui/labels.js";

const NO_CONFLICTS = "No significant conflicting information was found.";
const NOT_COMPARED = "What the sources say was not compared value by value.";
const DROPPED = /^Left out|were left out/; // a warning about a sentence that was dropped

/** The sections of an answer, in the order in which they are read. */
export function answerSections(answer) {
  const dropped = answer.warnings.filter((warning) => DROPPED.test(warning));
  const warnings = answer.warnings.filter((warning) => !DROPPED.test(warning));
  return [
    errorElement(answer.error),
    answerElement(answer),
    conflictNotice(answer.slots),
    slotsSection(answer.slots, answer.citations),
    ...reportSections(answer),
    section("dropped", "Left out of the answer", noteList(dropped.map(dropReason))),
    section("warnings", "What to know", noteList(warnings)),
    sourcesSection(answer.citations),
  ].filter(Boolean);
}

function errorElement(error) {
  if (!error) return null;
  const message = textElement(error.message, "strong");
  return element("p", { class: "trouble" }, message, " ", textElement(error.remedy));
}

// --- the text ------------------------------------------------------------------------------------

function answerElement(answer) {
  if (!answer.answer) return null;
  const text = element("div", { class: "answer" }, answerText(answer));
  return element("div", { id: "answer", tabindex: "-1" }, reportTitle(answer), text);
}

/** The claims of an answer; its text where it has none. */
const answerText = ({ answer, claims, citations }) =>
  claims.length
    ? claimElements(claims, citations)
    : element("p", { dir: "auto" }, textWithMarkers(answer, citations));

function reportTitle({ report, topic }) {
  if (!report) return null;
  const title = report.title === topic ? "In short" : report.title;
  return textElement(title, "h3", { class: "headline" });
}

function conflictNotice(slots) {
  const names = Object.keys(slots).filter((name) => slots[name].status === "conflict");
  if (!names.length) return null;
  return element(
    "p",
    { class: "dispute" },
    element("strong", {}, "Sources disagree"),
    " on ",
    textElement(names.map(spacedName).join(", ")),
    ".",
  );
}

/** A warning about a dropped sentence, without the words that the heading has. */
const dropReason = (warning) =>
  warning.replace(/^Left out of the answer, which/, "The answer").replace(/^Left out, n/, "N");

/** Texts as a list; nothing where there are none. */
function noteList(texts) {
  if (!texts.length) return null;
  const items = texts.map((text) => textElement(text, "li"));
  return element("ul", { class: "notes" }, items);
}

// --- a report ------------------------------------------------------------------------------------

function reportSections({ report, citations }) {
  if (!report) return [];
  const themes = report.sections.map(({ heading, sentences }) => [
    textElement(heading, "h4"),
    claimElements(sentences, citations),
  ]);
  const level = element("strong", {}, `${report.confidence}.`);
  return [
    section("findings", "Main findings", themes),
    section("conflicts", "Conflicting information", conflictElements(report, citations)),
    section(
      "confidence",
      "Confidence",
      element("p", {}, level, " ", textElement(report.rationale)),
    ),
  ];
}

/** Each conflict; without one whether the values of several sources were compared at all. */
function conflictElements({ conflicts, compared }, citations) {
  if (conflicts.length) return claimList(conflicts, citations);
  return element("p", {}, compared ? NO_CONFLICTS : NOT_COMPARED);
}

// --- facts ---------------------------------------------------------------------------------------

/** Slots as a table, filled or not; null where there are none. */
export function slotsSection(slots, citations = []) {
  const rows = Object.entries(slots).map(([name, slot]) => slotRow(name, slot, citations));
  const table = rows.length && element("table", {}, element("tbody", {}, rows));
  return section("facts", "Facts", table);
}

function slotRow(name, slot, citations) {
  return element(
    "tr",
    { class: slot.status },
    textElement(spacedName(name), "th", { scope: "row" }),
    element("td", {}, slotContent(slot, citations)),
    element("td", { class: "quiet" }, slotNote(slot)),
  );
}

/** The value of a slot with its markers, then the values that other sources give. */
function slotContent(slot, citations) {
  const alternatives = (slot.alternatives ?? []).map(toAlternative);
  const others = new Set(alternatives.flatMap((one) => one.citations ?? []));
  const own = (slot.citations ?? []).filter((number) => !others.has(number));
  const value =
    slot.status === "missing"
      ? element("span", { class: "quiet" }, "not found")
      : [valueElement(slot.value), " ", markersOf(own, citations)];
  return [value, alternatives.map((one) => alternativeElement(one, citations))];
}

/** An alternative as an object; a bare value has no citations. */
const toAlternative = (one) =>
  one && typeof one === "object" && "value" in one ? one : { value: one };

const alternativeElement = (alternative, citations) =>
  element(
    "div",
    {},
    element("span", { class: "quiet" }, "but also: "),
    valueElement(alternative.value),
    " ",
    markersOf(alternative.citations ?? [], citations),
  );

function slotNote({ status, confidence }) {
  if (status === "conflict") return element("span", { class: "mark partial" }, "in conflict");
  return status === "filled" && confidence != null ? `confidence ${confidence.toFixed(2)}` : "";
}

/** A JSON value: a list as a list, an object as terms with their values. */
function valueElement(value) {
  if (Array.isArray(value)) {
    return element(
      "ul",
      {},
      value.map((item) => element("li", {}, valueElement(item))),
    );
  }
  if (value === null || typeof value !== "object") return textElement(formatScalar(value));
  const entries = Object.entries(value).map(([key, inner]) => [
    textElement(spacedName(key), "dt"),
    element("dd", {}, valueElement(inner)),
  ]);
  return element("dl", {}, entries);
}

// --- sources, and how the answer was made --------------------------------------------------------

function sourcesSection(citations) {
  const numbers = [...new Set(citations.map(({ id }) => id))];
  const items = numbers.map((number) =>
    sourceItem(
      number,
      citations.filter(({ id }) => id === number),
    ),
  );
  return section("sources", "Sources", items.length && element("ol", { class: "sources" }, items));
}

function sourceItem(number, citations) {
  const [first] = citations;
  return element(
    "li",
    { id: `source-${number}` },
    element("span", { class: "number" }, `[${number}]`),
    link(first.url, first.title || first.url, { class: "title" }),
    textElement(sourceNote(first), "p", { class: "quiet" }),
    uniqueQuotes(citations).map((one) => element("div", { class: "quoted" }, quoteElements(one))),
  );
}

/** The site of a source, how far to trust it, and when it was read. */
function sourceNote({ url, credibility, via, retrieved_at }) {
  const read = via === "page" ? `read ${formatTime(retrieved_at)}` : "only the search's snippet";
  return [siteOf(url) || url, formatCredibility(credibility), read].filter(Boolean).join(" · ");
}

function uniqueQuotes(citations) {
  const quotes = citations.map(({ quote }) => quote);
  return citations.filter(({ quote }, index) => quotes.indexOf(quote) === index);
}

/** What the run was and took, and which services failed. */
export function methodDetails(answer) {
  const failed = answer.attempts.filter(({ outcome }) => !["ok", "empty"].includes(outcome));
  return element(
    "details",
    { id: "method" },
    element("summary", {}, "How it was done"),
    element("dl", { class: "labelled" }, methodTerms(answer)),
    failed.length ? [element("h4", {}, "Did not answer"), noteList(failed.map(formatAttempt))] : [],
  );
}

function methodTerms({ status, degraded, run, sources, usage, report }) {
  const standIn = degraded ? "; something stood in for what was asked for" : "";
  const tokens = usage.input_tokens + usage.output_tokens;
  const spent = [...formatUsage(usage), usage.input_tokens ? formatCount(tokens, "token") : ""];
  const terms = [
    ["Status", STATUSES[status] + standIn],
    ["Strategy", run && strategyLabel(run.strategy)],
    ["Searches", report?.methodology?.searches.join("; ")],
    ["Models", run?.models.join(", ")],
    ["Search", run?.providers.join(", ")],
    ["Sources", formatSources(sources)],
    ["Spent", spent.filter(Boolean).join(", ")],
    ["Run", run?.id],
    ["Journal", run?.journal],
  ];
  return terms
    .filter(([, text]) => text)
    .map(([name, text]) => [element("dt", {}, name), textElement(text, "dd")]);
}

const formatSources = ({ found, read, blocked, failed }) =>
  `${formatCount(found, "page")} found, ${read} read, ${blocked} blocked, ${failed} not readable`;

function formatAttempt({ what, provider, outcome, detail, remedy }) {
  const reason = [detail || spacedName(outcome), remedy].filter(Boolean).join(" · ");
  return `${what} ${provider}: ${reason}`;
}
