// A plot: values over time, of a watch or of an answer. The table beside it has all that it shows.
import { element, svgElement, textElement } from "/ui/element.js";
import { formatDate, formatScalar } from "/ui/labels.js";

const MAX_LANES = 6; // different texts that a plot shows; the table has all
const HEIGHT = 100; // of a plot, in units of its own; it is as wide as its place

/**
 * Values over time; null where there is no change to be seen. `told` is what it shows, in words.
 * Between two values the line goes in steps, or straight where only the points are known.
 */
export function plot(points, told, { end = "", isStraight = false }) {
  const lanes = [...new Set(points.map(({ value }) => formatScalar(value)))];
  const numbers = points.map(({ value }) => toNumber(value));
  const isNumeric = numbers.every(Number.isFinite);
  if (lanes.length < 2 || (!isNumeric && lanes.length > MAX_LANES)) return null;
  const heights = isNumeric
    ? scale(numbers, Math.min(...numbers), Math.max(...numbers))
    : points.map((point) => laneHeight(lanes, point));
  const times = points.map(({ since }) => +new Date(since));
  const last = Math.max(+new Date(end) || 0, ...times);
  const across = scale(times, times[0], last).map((share) => 2 + share * 96);
  const down = heights.map((share) => (0.1 + 0.8 * (1 - share)) * HEIGHT);
  const next = (x, y) => (isStraight ? `L${x} ${y}` : `H${x}V${y}`);
  const line = across.map((x, n) => (n ? next(x, down[n]) : `M${x} ${down[n]}`)).join("");
  const dots = across.map((x, n) => `M${x} ${down[n]}h0`).join("");
  const svg = svgElement("svg", {
    viewBox: `0 0 100 ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": told,
  });
  svg.append(
    svgElement("path", { d: isStraight ? line : `${line}H98` }),
    svgElement("path", { d: dots, class: "dots" }),
  );
  const lastDay = isStraight ? points.at(-1).since : new Date(last).toISOString();
  const labels = isNumeric ? extremesOf(points, numbers) : lanes.toReversed();
  return element(
    "div",
    { class: "plot" },
    element(
      "div",
      { class: "lanes", "aria-hidden": "true" },
      labels.map((text) => textElement(text)),
    ),
    svg,
    element(
      "div",
      { class: "dates", "aria-hidden": "true" },
      element("span", {}, formatDate(points[0].since)),
      element("span", {}, formatDate(lastDay)),
    ),
  );
}

/** A value as a number: groups of three may have commas or spaces between them. */
const toNumber = (value) =>
  typeof value === "number" || /^-?\d{1,3}([, ]?\d{3})*(\.\d+)?$/.test(String(value))
    ? Number(String(value).replace(/[, ]/g, ""))
    : Number.NaN;

/** Numbers as shares of the way from the least to the most. */
const scale = (numbers, least, most) => numbers.map((one) => (one - least) / (most - least || 1));

const laneHeight = (lanes, { value }) => lanes.indexOf(formatScalar(value)) / (lanes.length - 1);

/** The largest value and the smallest one, as they were said. */
const extremesOf = (points, numbers) =>
  [Math.max(...numbers), Math.min(...numbers)].map((one) => sayPoint(points[numbers.indexOf(one)]));

const sayPoint = ({ value, said }) => said ?? formatScalar(value);
