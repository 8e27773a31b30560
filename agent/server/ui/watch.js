// A watch: whether its answer has changed, and the history of each slot as a plot and a table.
import { element, icon, link, section, siteOf, textElement } from "/ui/element.js";
import { formatMoment, formatScalar, formatTime, headName } from "/ui/labels.js";
import { plot } from "/ui/plot.js";

const PERIODS = [
  [604_800, "week"],
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
];

/** The elements of a watch. */
export const watchElements = (watch) =>
  [
    element("h1", { tabindex: "-1", dir: "auto" }, watch.title || watch.question),
    element(
      "p",
      { class: "state" },
      stateElement(watch),
      element("span", { class: "quiet" }, askedText(watch)),
    ),
    watch.problem && textElement(watch.problem, "p", { class: "note" }),
    watch.answer && textElement(watch.answer.replace(/ ?\[\d+\]/g, ""), "p", { class: "answer" }),
    Object.entries(watch.history).map(([name, points]) => slotSection(name, points, watch)),
    section("said", "What sources say", "", statementList(watch.statements)),
  ]
    .flat()
    .filter(Boolean);

function stateElement({ problem, changed_at: at, begun_at: begun }) {
  if (problem) {
    return element("strong", { class: "warn" }, icon("half"), "Could not look the last time");
  }
  if (!at) return element("strong", { class: "quiet" }, icon("open"), "Not asked yet");
  const isFirst = at.slice(0, 16) === begun.slice(0, 16);
  const text = `${isFirst ? "No change since" : "Changed"} ${formatTime(at)}`;
  return element("strong", {}, icon(isFirst ? "dash" : "differ"), text);
}

function askedText({ every, asked_at: at }) {
  const [seconds, unit] = PERIODS.find(([long]) => every % long === 0) ?? [1, "second"];
  const count = every / seconds;
  const often = count === 1 ? unit : `${count} ${unit}s`;
  const last = at ? `asked ${formatTime(at)}` : "";
  return [last, every ? `every ${often}` : ""].filter(Boolean).join(", ");
}

const slotSection = (name, points, { asked_at: end }) =>
  section("slot", headName(name), "", stepPlot(name, points, end), historyTable(name, points));

/** The values of a slot as steps: each holds until the next one. */
const stepPlot = (name, points, end) =>
  plot(
    points,
    `${headName(name)} over time: ${points
      .map(({ value, since }) => `${formatScalar(value)} since ${formatMoment(since)}`)
      .join("; ")}`,
    { end },
  );

// --- values with their quotes --------------------------------------------------------------------

/** The history of a slot, the newest value first. */
function historyTable(name, points) {
  const rows = points
    .toReversed()
    .map(({ value, since, sources }) =>
      element(
        "tr",
        {},
        textElement(formatScalar(value), "th", { scope: "row" }),
        element("td", {}, formatMoment(since)),
        element("td", {}, sources.map(quoteOf)),
      ),
    );
  const heads = ["Value", "Since", "Words it rests on"];
  const table = element(
    "table",
    { class: "cells" },
    element("caption", { class: "unseen" }, `${headName(name)}: its values, and their sources`),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        heads.map((head) => element("th", { scope: "col" }, head)),
      ),
    ),
    element("tbody", {}, rows),
  );
  const region = { role: "region", tabindex: "0", "aria-label": `${headName(name)}: values` };
  return element("div", { class: "wide", ...region }, table);
}

const quoteOf = ({ quote, url, title, link: place }) => [
  textElement(quote, "blockquote"),
  link(place || url, title || siteOf(url), { class: "quiet" }),
];

const statementList = (statements) =>
  statements.length > 0 &&
  element(
    "ul",
    { class: "items" },
    statements.map(({ value, sources }) =>
      element("li", {}, textElement(formatScalar(value), "p"), sources.map(quoteOf)),
    ),
  );
