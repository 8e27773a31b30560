// A run under way: the plan, what was found so far, and the searches with their pages.
import { element, icon, link, section, siteOf, textElement } from "/ui/element.js";
import { openFacts } from "/ui/facts.js";
import { formatCount } from "/ui/labels.js";
import { resultText, searchElements } from "/ui/sources.js";

/** What is known while a run goes on. */
export const progressSections = ({ activity, slots }) =>
  [planSection(activity), openFacts(slots, activity.facts), foundSection(activity)].filter(Boolean);

/** The searches and pages so far, for the margin. */
export const searchSection = ({ activity }, isOver) =>
  section("searches", "Searches and pages", "", searchElements(activity, isOver));

/** What was looked for, for an answer that was not found. */
export function lookedForSection({ activity }) {
  const items = activity.queries.map((query) => {
    const pages = activity.pages.filter((page) => page.query === query.query);
    const read = pages.filter(({ state }) => state === "read").length;
    const note = [resultText(query, activity.queries), read ? `${read} read` : ""]
      .filter(Boolean)
      .join(", ");
    return element("li", {}, textElement(query.query, "p"), element("p", { class: "quiet" }, note));
  });
  return section("looked", "What was looked for", "", items.length && element("ul", {}, items));
}

function planSection({ queries, pages }) {
  const items = queries.map((query) => {
    const own = pages.filter((page) => page.query === query.query);
    const [shape, words, state] = planState(query, own);
    return element(
      "li",
      { class: state },
      icon(shape),
      textElement(query.query),
      element("span", { class: "quiet" }, words),
    );
  });
  return section("plan", "Plan", "", items.length && element("ul", { class: "rows" }, items));
}

function planState({ results, fault }, pages) {
  if (fault) return ["cross", "could not be searched", "failed"];
  if (results === null) return ["open", "not begun", "later"];
  const read = pages.filter(({ state }) => state === "read").length;
  return read
    ? ["page", `${formatCount(read, "page")} read`, "begun"]
    : ["search", formatCount(results, "result"), "begun"];
}

function foundSection({ found }) {
  const items = found.map(({ text, url, title }) =>
    element(
      "li",
      {},
      textElement(text, "blockquote"),
      link(url, siteOf(url) || title, { class: "quiet" }),
    ),
  );
  const note = "words from the pages; the answer is not written yet";
  return section("found", "Found so far", note, items.length && element("ul", {}, items));
}
