// Elements of the page. Foreign text is only ever a text node.

const SVG = "http://www.w3.org/2000/svg";
/** Shapes on 16 by 16: each verdict and each state has its own. */
const SHAPES = {
  check: "M3 8.5l3.2 3.2L13 5",
  differ: "M2.5 6h11M2.5 10.5h11M11 2.5l-6 11",
  cross: "M4 4l8 8M12 4l-8 8",
  half: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11",
  open: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11",
  turn: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.3 10.3L14 14",
  page: "M4 2h5.5L12 4.5V14H4zM9.5 2v2.5H12",
  lock: "M3.5 7.5h9V14h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  dash: "M3 8h10",
  quote: "M6.5 4.5C4.5 5.5 3.5 7 3.5 9.5v2h3v-3h-2M12.5 4.5c-2 1-3 2.5-3 5v2h3v-3h-2",
};

/** What is filled of a shape. */
const FILLS = { half: "M8 2.5a5.5 5.5 0 1 1 0 11z" };

/** An element with attributes and children: strings become text, null and false nothing. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") addListeners(made, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, String(value));
  }
  const isThere = (child) => child != null && child !== false && child !== "";
  made.append(...children.flat(Number.POSITIVE_INFINITY).filter(isThere));
  return made;
}

function addListeners(target, listeners) {
  for (const [type, listener] of Object.entries(listeners)) target.addEventListener(type, listener);
}

/** An icon, hidden from screen readers: words are next to it. */
export function icon(shape) {
  const svg = svgElement("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" });
  svg.setAttribute("class", `icon ${shape}`);
  svg.append(svgElement("path", { d: SHAPES[shape] }));
  if (FILLS[shape]) svg.append(svgElement("path", { d: FILLS[shape], class: "fill" }));
  return svg;
}

/** An element of a drawing. */
export function svgElement(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** Text from outside, in an element that takes its direction of writing from the text. */
export const textElement = (text, name = "span", attributes = {}) =>
  element(name, { dir: "auto", ...attributes }, String(text ?? ""));

/** A link to a page of the web; only the text for any other address. */
export function link(url, text, attributes = {}) {
  if (!isWebUrl(url)) return textElement(text, "span", { class: attributes.class });
  const newTab = { href: url, target: "_blank", rel: "noopener noreferrer" };
  return textElement(text, "a", { ...newTab, ...attributes });
}

/** Whether an address is of the web: not of a file, a script or inline data. */
export function isWebUrl(url) {
  try {
    return ["http:", "https:"].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

/** The host of an address without www; of a document its place in the corpus. */
export const siteOf = (url) =>
  isWebUrl(url) ? new URL(url).hostname.replace(/^www\./, "") : decode(url);

function decode(url) {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}

/** A button. */
export const button = (text, click, attributes = {}) =>
  element("button", { type: "button", on: { click }, ...attributes }, text);

let sections = 0; // on the page, which may show several runs

/** A section with a heading and a note; null where it would be empty. */
export function section(name, heading, note, ...children) {
  const content = children.flat(Number.POSITIVE_INFINITY).filter(Boolean);
  if (!content.length) return null;
  sections += 1;
  const id = `${name}-${sections}`;
  const title = textElement(heading, "h2", { id });
  const head = element(
    "div",
    { class: "head" },
    title,
    note && element("span", { class: "quiet" }, note),
  );
  return element("section", { class: name, "aria-labelledby": id }, head, content);
}

/** Something that is folded away, with its summary. */
export const folded = (summary, ...children) =>
  element("details", {}, element("summary", {}, summary), children);
