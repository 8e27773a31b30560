// An answer: its text with numbers, what sources disagree on, facts, a report, and its sources.
import { checkSection, notedElement } from "/ui/checks.js";
import { claimElements, claimList } from "/ui/claims.js";
import { element, folded, link, section, siteOf, textElement } from "/ui/element.js";
import { disputeElements, factSection } from "/ui/facts.js";
import { formatPrice } from "/ui/labels.js";
import { lookedForSection } from "/ui/progress.js";
import { searchElements, sourceSection } from "/ui/sources.js";

/** The sections of a run that has ended, in the order in which they are read. */
export function answerSections(run, evidence, tools, tries) {
  const { answer, activity } = run;
  const parts = [errorElement(answer.error)];
  if (answer.status === "insufficient") parts.push(...missingSections(run, tries), tools);
  else if (!answer.error) parts.push(...foundSections(answer, activity, evidence, tools));
  parts.push(notedElement(answer), searchFold(run));
  return parts.flat(Number.POSITIVE_INFINITY).filter(Boolean);
}

const foundSections = (answer, activity, evidence, tools) => [
  disputeElements(answer, evidence),
  contentsElement(answer),
  answerElement(answer, evidence),
  tools,
  answer.report ? reportSections(answer, evidence) : [],
  factSection(answer, evidence, activity.copies),
  sourceSection(answer, evidence, activity),
  checkSection(answer),
  printedNotes(answer),
];

function errorElement(error) {
  if (!error) return null;
  const message = textElement(error.message, "strong");
  return element("p", { class: "trouble" }, message, " ", textElement(error.remedy));
}

/** The claims of an answer; its text where it has none. */
function answerElement(answer, evidence) {
  const { claims } = answer;
  const content = claims.length
    ? claimElements(claims, evidence)
    : textElement(answer.answer.replace(/ ?\[\d+\]/g, ""), "p");
  return element("div", { class: "answer" }, content);
}

// --- a report ------------------------------------------------------------------------------------

function contentsElement({ report }) {
  if (!report || report.sections.length < 2) return null;
  const items = report.sections.map(({ heading }, n) =>
    element("li", {}, textElement(heading, "a", { href: `#theme-${n + 1}` })),
  );
  const list = element("nav", { "aria-label": "Contents" }, element("ul", {}, items));
  return element(
    "details",
    { class: "contents" },
    element("summary", {}, `Contents: ${items.length} sections`),
    list,
  );
}

function reportSections({ report, citations }, evidence) {
  const themes = report.sections.map(({ heading, sentences }, n) => {
    return element(
      "section",
      { class: "theme" },
      textElement(heading, "h2", { id: `theme-${n + 1}`, tabindex: "-1" }),
      claimElements(sentences, evidence),
    );
  });
  const conflicts = report.conflicts.length && claimList(report.conflicts, evidence);
  return [
    themes,
    citations.length ? section("dispute", "Where sources disagree", "", conflicts) : null,
  ];
}

// --- nothing found -------------------------------------------------------------------------------

/** The closest words that were read, why they are no answer, and what to try. */
function missingSections({ answer }, tries) {
  const { closest = [], sources } = answer;
  const quotes = closest.map(({ quote, link: place, url, title }) => [
    textElement(`“${quote}”`, "blockquote"),
    element("p", { class: "quiet" }, link(place, title || siteOf(url)), ` · ${siteOf(url)}`),
  ]);
  const none = sources.read
    ? "Nothing that was read answers this."
    : "No page was read, so there is nothing to answer from.";
  return [
    element(
      "div",
      { class: "answer missing" },
      element("p", {}, none),
      closest.length ? textElement("Closest that was read:", "p", { class: "quiet" }) : null,
      quotes,
    ),
    section("tries", "What to try", "", element("ul", { class: "rows" }, tries.map(tryElement))),
  ];
}

const tryElement = ({ text, note, act }) =>
  element(
    "li",
    {},
    element(
      "button",
      { type: "button", class: "row plain", on: { click: act } },
      element("span", {}, text),
      element("span", { class: "quiet" }, note),
    ),
  );

/** What to try where nothing was found, or where sources disagree; each with its price. */
export const searchDeeper = (prices, act) => ({
  text: "Search deeper: more rounds, more pages",
  note: formatPrice(prices.find(({ strategy, depth }) => strategy === "slots" && depth === "deep")),
  act,
});

// --- the end -------------------------------------------------------------------------------------

/** What was searched and read, folded; where nothing was found it stands in the margin. */
function searchFold(run) {
  const searches = searchElements(run.activity, true).flat(2);
  if (!searches.length) return null;
  const fold = folded("What was searched and read", searches);
  fold.classList.add("searches");
  return fold;
}

/** What stands in the margin of an answer beside its quotes. */
export const marginSection = (run) =>
  run.answer.status === "insufficient" ? lookedForSection(run) : null;

/** The quotes as notes with whole addresses, on paper only. */
function printedNotes({ citations }) {
  const notes = citations.map(({ id, title, quote, url }) =>
    element("li", {}, `${id}. ${title}. `, element("q", {}, quote), ` ${url}`),
  );
  return element(
    "section",
    { class: "printed", "aria-hidden": "true" },
    element("h2", {}, "Quotes"),
    element("ul", {}, notes),
  );
}
