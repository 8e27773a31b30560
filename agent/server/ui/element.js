// Elements of the page. What others wrote gets in as text and in no other way.

/** An element with attributes; strings inside become text, null nothing. */
export function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [type, listener] of Object.entries(value)) made.addEventListener(type, listener);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, String(value));
  }
  made.append(...inside.flat(Infinity).filter((one) => one != null && one !== false && one !== ""));
  return made;
}

/** Text of anybody's, in its own direction of writing. */
export const said = (text, name = "span", attributes = {}) =>
  element(name, { dir: "auto", ...attributes }, String(text ?? ""));

/** A link to a page of the web; of any other address only the text. */
export function link(address, text, attributes = {}) {
  if (!isWeb(address)) return said(text, "span");
  const away = { href: address, target: "_blank", rel: "noopener noreferrer" };
  return said(text, "a", { ...away, ...attributes });
}

/** Whether an address leads to a page of the web: not to a file, a script or a document in itself. */
export function isWeb(address) {
  try {
    return ["http:", "https:"].includes(new URL(address).protocol);
  } catch {
    return false;
  }
}

/** The site of an address, or "". */
export const site = (address) => (isWeb(address) ? new URL(address).hostname.replace(/^www\./, "") : "");

/** A button that does one thing. */
export const button = (text, click, attributes = {}) =>
  element("button", { type: "button", on: { click }, ...attributes }, text);

/** A part of the page with its heading; null where there is nothing in it. */
export function section(id, heading, ...inside) {
  const parts = inside.flat(Infinity).filter(Boolean);
  if (!parts.length) return null;
  const name = element("h3", { id: `${id}-heading` }, heading);
  return element("section", { id, "aria-labelledby": `${id}-heading` }, name, ...parts);
}
