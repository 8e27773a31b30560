// A run under way: the plan, facts, what was found so far, and the searches with their pages.
import { element, folded, icon, link, section, siteOf, textElement } from "/ui/element.js";
import { formatCount, formatScalar, headName, serviceLabel } from "/ui/labels.js";

const STATES = {
  read: ["page", "read"],
  snippet: ["page", "only the search excerpt was read"],
  blocked: ["dash", "skipped"],
  failed: ["lock", "not readable"],
  found: ["open", "not read"],
};

/** The state of a run that goes on. */
export const progressSections = ({ activity, slots }) =>
  [planSection(activity), factSection(slots, activity.facts), foundSection(activity)].filter(
    Boolean,
  );

/** The searches and pages so far, for the margin. */
export const searchSection = ({ activity }, isOver) =>
  section("searches", "Searches and pages", "", searchElements(activity, isOver));

/** The searches and pages of a run that has ended, folded. */
export function searchFold({ activity }) {
  const searches = searchElements(activity, true);
  if (!searches.length) return null;
  const fold = folded("What was searched and read", searches);
  fold.classList.add("searches");
  return fold;
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
  const isMore = items.length > 1; // than the question itself
  return section("plan", "Plan", "", isMore && element("ul", { class: "rows" }, items));
}

function planState({ results, fault }, pages) {
  if (fault) return ["cross", "could not be searched", "failed"];
  if (results === null) return ["open", "not started", "later"];
  const read = pages.filter(({ became }) => became === "read").length;
  return read
    ? ["page", `${formatCount(read, "page")} read`, "begun"]
    : ["search", formatCount(results, "result"), "begun"];
}

/** Facts so far: never "not found", never a verdict. */
function factSection(slots, witnesses) {
  const rows = Object.entries(slots).map(([name, slot]) => {
    const isKnown = slot.status !== "missing";
    const values = [slot.value, ...(slot.alternatives ?? []).map(({ value }) => value)];
    const shown = values.filter((one) => one != null).map(formatScalar);
    const note = isKnown && `On ${formatCount(witnesses[name] || 1, "page")}, not checked yet`;
    return element(
      "div",
      { class: "fact" },
      textElement(headName(name), "dt"),
      isKnown
        ? textElement(shown.join(" or "), "dd", { class: "value" })
        : element("dd", { class: "quiet" }, "Looking"),
      note && element("dd", { class: "quiet" }, note),
    );
  });
  return section("facts", "Facts", "", rows.length && element("dl", {}, rows));
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
  return section("found", "Found, not checked", "", items.length && element("ul", {}, items));
}

// --- searches and pages --------------------------------------------------------------------------

/** Each search with its pages, then the other pages that were read. */
function searchElements({ queries, pages }, isOver) {
  const searches = queries.filter(({ results }) => results !== null || isOver);
  const others = pages.filter(({ query }) => !queries.some((one) => one.query === query));
  const rows = searches.flatMap((search) => [
    searchHead(search, queries),
    pageList(
      pages.filter(({ query }) => query === search.query),
      isOver,
    ),
  ]);
  return others.length ? [...rows, pageList(others, isOver)] : rows;
}

const searchHead = (search, queries) =>
  element(
    "h3",
    { class: "asked" },
    icon("search"),
    textElement(search.query),
    element("span", { class: "quiet" }, resultText(search, queries)),
  );

/** What a search gave; by which service, where the searches of a run had several. */
function resultText({ results, provider, fault }, queries) {
  if (results === null) return fault || "not searched";
  const services = new Set(queries.map((one) => one.provider).filter(Boolean));
  const service = services.size > 1 && provider ? ` from ${serviceLabel(provider)}` : "";
  return `${formatCount(results, "result")}${service}`;
}

const pageList = (pages, isOver) =>
  element(
    "ul",
    { class: "pages" },
    pages.map((page) => pageElement(page, isOver)),
  );

/** A page: its title and site, and what became of it. */
function pageElement(page, isOver) {
  const [shape, words] = STATES[page.became];
  const state = page.became === "found" && !isOver ? "found" : words;
  const site = siteOf(page.url);
  const why = page.reason ? `${state}: ${page.reason.replace(`${site}: `, "")}` : state;
  return element(
    "li",
    { class: page.became },
    icon(shape),
    element(
      "div",
      {},
      link(page.url, page.title || site, { class: "title" }),
      textElement(`${site}: ${why}`, "p", { class: "quiet" }),
    ),
  );
}
