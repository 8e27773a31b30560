// Markers in a text, each of which shows its quote where it stands: on hover, on focus, or kept open.
import { button, element, link, said, site } from "/ui/element.js";
import { worth } from "/ui/words.js";

const MOST = 2; // quotes in a card; the list of sources has all
const ALIKE = 0.6; // of the words that the best quote shares with the sentence
let open = null; // the marker whose card is shown

/** A text whose `[1]` are markers; `citations` are the answer's. */
export function marked(text, citations) {
  return text.split(/(\[\d+\])/).map((part) => {
    const n = Number(part.match(/^\[(\d+)\]$/)?.[1]);
    const quoted = citations.filter((one) => one.id === n);
    return quoted.length ? marker(n, quoted, text) : part;
  });
}

/** Markers of their own, after a value. */
export function markers(numbers, citations) {
  const known = numbers.filter((n) => citations.some((one) => one.id === n));
  return marked(known.map((n) => `[${n}]`).join(""), citations);
}

/** `[1]`: a button beside the card that it shows. */
function marker(n, quoted, text) {
  const whole = element("span", { class: "citation" });
  const attributes = { class: "marker", "aria-expanded": "false", "aria-label": `Source ${n}: ${quoted[0].title || site(quoted[0].url)}` };
  const reveal = () => show(whole, () => card(n, nearest(quoted, text)));
  const keep = () => (reveal(), (whole.dataset.kept = "yes"));
  whole.append(button(`[${n}]`, () => (whole.dataset.kept ? close(whole) : keep()), attributes));
  whole.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && reveal());
  whole.addEventListener("focusin", reveal);
  whole.addEventListener("pointerleave", () => !whole.dataset.kept && !whole.contains(document.activeElement) && close(whole));
  whole.addEventListener("focusout", (event) => !whole.contains(event.relatedTarget) && close(whole));
  return whole;
}

/** The quotes that share most words with a sentence; others only where they come near. */
function nearest(quoted, text) {
  const words = wordsOf(text);
  const shared = (one) => [...wordsOf(one.quote)].filter((word) => words.has(word)).length;
  const best = Math.max(...quoted.map(shared));
  return quoted.filter((one) => shared(one) >= ALIKE * best).slice(0, MOST);
}

const wordsOf = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu));

/** What a marker shows: the source, its words, and the way there. */
function card(n, quoted) {
  const [first] = quoted;
  const source = element("span", { class: "title" }, `[${n}] `, said(first.title || first.url));
  const about = said(`${site(first.url) || "a document"}, ${worth(first.credibility)}`, "span", { class: "quiet" });
  return element("span", { class: "card", id: "card" }, source, about, ...quoted.flatMap(quote));
}

/** A quote and the link that opens its page there. */
export function quote(citation) {
  const loose = citation.match === "exact" ? "" : ` (${citation.match} match)`;
  const there = link(citation.link, `Open the page at this quote${loose}`, { class: "there" });
  return [said(citation.quote, "q"), there.localName === "a" ? there : element("span", { class: "quiet" }, citation.url)];
}

function show(whole, make) {
  if (open === whole) return;
  if (open) close(open);
  open = whole;
  whole.append(make());
  whole.firstChild.setAttribute("aria-expanded", "true");
  whole.firstChild.setAttribute("aria-describedby", "card");
  place(whole.lastChild, whole.getBoundingClientRect());
}

function close(whole) {
  delete whole.dataset.kept;
  whole.querySelector(".card")?.remove();
  whole.firstChild.setAttribute("aria-expanded", "false");
  whole.firstChild.removeAttribute("aria-describedby");
  if (open === whole) open = null;
}

/** Below the marker, or above where there is more room; never out of the window. */
function place(shown, at) {
  const high = window.innerHeight;
  const { width, height } = shown.getBoundingClientRect();
  const below = at.bottom + height < high || at.top < height;
  shown.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8)) - at.left}px`;
  shown.classList.toggle("above", !below);
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !open) return;
  if (open.contains(document.activeElement)) open.firstChild.focus(); // while its card is there
  close(open);
});
addEventListener("resize", () => open && place(open.lastChild, open.getBoundingClientRect()));
document.addEventListener("pointerdown", (event) => open && !open.contains(event.target) && close(open));
