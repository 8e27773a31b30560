// An answer: its text with markers, facts, report and sources, and how far to trust it.
import { markersOf, quoteElements, textWithMarkers } from "/ui/citation.js";
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
  VERDICT_MARKS,
} from "/ui/labels.js";

const SENTENCE_ENDS = ".!?。！？";
const WIDE_ENDS = "。！？"; // no space stands before their markers
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
  const text = element("p", { class: "answer", dir: "auto" }, ...answerText(answer));
  return element("div", { id: "answer", tabindex: "-1" }, reportTitle(answer), text);
}

function reportTitle({ report, topic }) {
  if (!report) return null;
  const title = report.title === topic ? "In short" : report.title;
  return textElement(title, "h3", { class: "headline" });
}

/** The text of an answer with its markers; a sentence that is not confirmed has a mark. */
function answerText({ answer, claims, citations }) {
  const content = [];
  let position = 0;
  for (const claim of claims) {
    const sentence = sentenceWithNumbers(claim);
    const start = answer.indexOf(sentence, position);
    if (start < 0) return textWithMarkers(answer, citations); // it does not consist of its claims
    content.push(...textWithMarkers(answer.slice(position, start), citations));
    content.push(...sentenceElements(claim, citations));
    position = start + sentence.length;
  }
  return [...content, ...textWithMarkers(answer.slice(position), citations)];
}

function sentenceElements(claim, citations) {
  const words = textWithMarkers(sentenceWithNumbers(claim), citations);
  const mark = VERDICT_MARKS[claim.verdict];
  if (!mark) return words;
  return [...words, " ", element("span", { class: `mark ${claim.verdict}` }, mark)];
}

/** A claim as the answer has it: with the numbers of its sources before the full stop. */
function sentenceWithNumbers({ text, citations }) {
  if (!citations.length) return text;
  let end = text.length;
  while (end && SENTENCE_ENDS.includes(text[end - 1])) end -= 1;
  const space = WIDE_ENDS.includes(text[end] ?? " ") ? "" : " ";
  const numbers = citations.map((number) => `[${number}]`).join("");
  return `${text.slice(0, end)}${space}${numbers}${text.slice(end)}`;
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
    element("p", { dir: "auto" }, sentencesOf(sentences, citations)),
  ]);
  const level = element("strong", {}, `${report.confidence}.`);
  return [
    section("findings", "Main findings", themes),
    section("conflicts", "Conflicting information", conflictList(report.conflicts, citations)),
    section(
      "confidence",
      "Confidence",
      element("p", {}, level, " ", textElement(report.rationale)),
    ),
  ];
}

const sentencesOf = (claims, citations) =>
  claims.map((claim) => [...sentenceElements(claim, citations), " "]);

function conflictList(claims, citations) {
  if (!claims.length) {
    return element("p", {}, "No significant conflicting information was found.");
  }
  const item = (claim) => element("li", { dir: "auto" }, sentenceElements(claim, citations));
  return element("ul", { class: "notes" }, claims.map(item));
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
