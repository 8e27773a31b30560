// Elements of the page. Text from outside gets in as text nodes and in no other way.

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

/** Text from outside, in an element that takes its direction of writing from the text. */
export const textElement = (text, name = "span", attributes = {}) =>
  element(name, { dir: "auto", ...attributes }, String(text ?? ""));

/** A link to a page of the web; only the text for any other address. */
export function link(url, text, attributes = {}) {
  if (!isWebUrl(url)) return textElement(text, "span");
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

/** The host of an address without www, or "". */
export const siteOf = (url) => (isWebUrl(url) ? new URL(url).hostname.replace(/^www\./, "") : "");

/** A button. */
export const button = (text, click, attributes = {}) =>
  element("button", { type: "button", on: { click }, ...attributes }, text);

/** A section with a heading; null where it would be empty. */
export function section(id, heading, ...children) {
  const content = children.flat(Number.POSITIVE_INFINITY).filter(Boolean);
  if (!content.length) return null;
  const title = element("h3", { id: `${id}-heading` }, heading);
  return element("section", { id, "aria-labelledby": `${id}-heading` }, title, ...content);
}
