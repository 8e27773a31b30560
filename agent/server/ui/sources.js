// Sources: those that are cited as tiles, the others folded; and the searches that found them.
import { element, folded, icon, link, section, siteOf, textElement } from "/ui/element.js";
import { formatCount, formatDate, formatStanding, isRated, serviceLabel } from "/ui/labels.js";

const STATES = {
  read: ["page", "read"],
  snippet: ["page", "only the search’s excerpt was read"],
  passed_over: ["dash", "passed over"],
  unreadable: ["lock", "not readable"],
  waiting: ["open", "not read"],
};

/** The cited sources as tiles; those read and not cited, and those that could not be read. */
export function sourceSection(answer, evidence, { pages }) {
  const numbers = [...new Set(answer.citations.map(({ id }) => id))];
  const tiles = numbers.map((number) => tileElement(number, evidence.cited(number)));
  const cited = new Set(answer.citations.map(({ url }) => url));
  const read = pages.filter(({ state, url }) => state === "read" && !cited.has(url));
  const failed = pages.filter(({ state }) => ["unreadable", "passed_over"].includes(state));
  const note = [`${numbers.length} cited`, read.length && `${read.length} read and not cited`];
  return section(
    "sources",
    "Sources",
    note.filter(Boolean).join(", "),
    tiles.length && element("ul", { class: "tiles" }, tiles),
    read.length &&
      folded(`Read and not cited: ${formatCount(read.length, "page")}`, pageList(read)),
    failed.length &&
      folded(`Could not be read: ${formatCount(failed.length, "page")}`, pageList(failed)),
  );
}

function tileElement(number, cited) {
  const [{ url, title, credibility, via, date, partial_text: partial }] = cited;
  const standing = formatStanding(credibility.domain, credibility.reason);
  const kind = via === "page" ? standing : "Only the search’s excerpt was read";
  const part = partial && "Only a part of it was read";
  return element(
    "li",
    {},
    element("span", { class: "n" }, String(number)),
    element(
      "div",
      {},
      link(url, title || siteOf(url), { class: "title" }),
      textElement(siteOf(url), "p", { class: "quiet" }),
      textElement([kind, part, formatDate(date)].filter(Boolean).join(" · "), "p", {
        class: "quiet",
      }),
    ),
  );
}

const pageList = (pages) =>
  element(
    "ul",
    { class: "pages" },
    pages.map((page) => pageElement(page, true)),
  );

/** A page: its title and site, and what became of it. */
function pageElement(page, isOver) {
  const [shape, words] = STATES[page.state];
  const state = page.state === "waiting" && !isOver ? "found" : words;
  const site = siteOf(page.url);
  const why = page.note ? `${state}: ${page.note.replace(`${site}: `, "")}` : state;
  return element(
    "li",
    { class: page.state },
    icon(shape),
    element(
      "div",
      {},
      link(page.url, page.title || site, { class: "title" }),
      textElement(`${site}: ${why}`, "p", { class: "quiet" }),
      page.state !== "passed_over" &&
        isRated(page.standing) &&
        element("p", { class: "quiet" }, formatStanding(page.standing, page.kind)),
    ),
  );
}

/** Each search with the pages that it found. */
export function searchElements({ queries, pages }, isOver) {
  const searches = queries.filter(({ results }) => results !== null || isOver);
  const besides = pages.filter(({ query }) => !queries.some((one) => one.query === query));
  return [
    searches.map((search) => [
      searchHead(search, queries),
      element(
        "ul",
        { class: "pages" },
        pages
          .filter(({ query }) => query === search.query)
          .map((page) => pageElement(page, isOver)),
      ),
    ]),
    besides.length
      ? element(
          "ul",
          { class: "pages" },
          besides.map((one) => pageElement(one, isOver)),
        )
      : [],
  ];
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
export function resultText({ results, provider, fault }, queries = []) {
  if (results === null) return fault || "not searched";
  const services = new Set(queries.map((one) => one.provider).filter(Boolean));
  const service = services.size > 1 && provider ? ` from ${serviceLabel(provider)}` : "";
  return `${formatCount(results, "result")}${service}`;
}
