// Markers in a text. Each shows its quotes in a card beside it: on hover, on focus, or kept open.
import { button, element, link, siteOf, textElement } from "/ui/element.js";
import { formatCredibility } from "/ui/labels.js";

const MAX_QUOTES = 2; // in a card; the list of sources has all
const MIN_OVERLAP = 0.6; // of the words that the best quote shares with the sentence
const MARGIN = 8; // px between a card and the edge of the window
let openCitation = null; // the marker and card that are shown

/** A text whose `[1]` are markers; `citations` are those of the answer. The quotes shown first are
 *  those nearest to what is `said`. */
export function textWithMarkers(text, citations, said = text) {
  return text.split(/(\[\d+\])/).map((part) => {
    const number = Number(part.match(/^\[(\d+)\]$/)?.[1]);
    const cited = citations.filter((citation) => citation.id === number);
    return cited.length ? markerElement(number, cited, said) : part;
  });
}

/** The markers of some numbers, without a text. */
export function markersOf(numbers, citations) {
  const known = numbers.filter((number) => citations.some(({ id }) => id === number));
  return textWithMarkers(known.map((number) => `[${number}]`).join(""), citations);
}

/** `[1]` as a button, in a span that gets the card while it is shown. */
function markerElement(number, cited, text) {
  const span = element("span", { class: "citation" });
  const show = () => showCard(span, () => cardElement(number, nearestQuotes(cited, text)));
  const toggle = () => {
    if (span.dataset.kept) closeCard(span);
    else {
      show();
      span.dataset.kept = "yes";
    }
  };
  const label = `Source ${number}: ${cited[0].title || siteOf(cited[0].url)}`;
  const attributes = { class: "marker", "aria-expanded": "false", "aria-label": label };
  span.append(button(`[${number}]`, toggle, attributes));
  span.addEventListener("pointerenter", (event) => {
    if (event.pointerType === "mouse") show();
  });
  span.addEventListener("focusin", show);
  span.addEventListener("pointerleave", () => {
    if (!span.dataset.kept && !span.contains(document.activeElement)) closeCard(span);
  });
  span.addEventListener("focusout", (event) => {
    if (!span.contains(event.relatedTarget)) closeCard(span);
  });
  return span;
}

/** The quotes that share most words with a sentence. */
function nearestQuotes(cited, text) {
  const words = wordsOf(text);
  const overlap = ({ quote }) => [...wordsOf(quote)].filter((word) => words.has(word)).length;
  const best = Math.max(...cited.map(overlap));
  return cited.filter((citation) => overlap(citation) >= MIN_OVERLAP * best).slice(0, MAX_QUOTES);
}

const wordsOf = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu));

/** The source of a marker, its quotes, and the links to them. */
function cardElement(number, cited) {
  const [first] = cited;
  const title = textElement(first.title || first.url);
  const site = siteOf(first.url) || "a document";
  return element(
    "span",
    { class: "card", id: "card" },
    element("span", { class: "title" }, `[${number}] `, title),
    textElement(`${site}, ${formatCredibility(first.credibility)}`, "span", { class: "quiet" }),
    ...cited.flatMap(quoteElements),
  );
}

/** A quote, and the link that opens its page there; without one its address. */
export function quoteElements(citation) {
  const match = citation.match === "exact" ? "" : ` (${citation.match} match)`;
  const opener = link(citation.link, `Open the page at this quote${match}`, { class: "there" });
  const isLink = opener.localName === "a";
  const address = element("span", { class: "quiet" }, citation.url);
  return [textElement(citation.quote, "q"), isLink ? opener : address];
}

function showCard(span, makeCard) {
  if (openCitation === span) return;
  if (openCitation) closeCard(openCitation);
  openCitation = span;
  span.append(makeCard());
  span.firstChild.setAttribute("aria-expanded", "true");
  span.firstChild.setAttribute("aria-describedby", "card");
  placeCard(span);
}

function closeCard(span) {
  delete span.dataset.kept;
  span.querySelector(".card")?.remove();
  span.firstChild.setAttribute("aria-expanded", "false");
  span.firstChild.removeAttribute("aria-describedby");
  if (openCitation === span) openCitation = null;
}

/** Below the marker, or above where there is more room; inside the window. */
function placeCard(span) {
  const marker = span.getBoundingClientRect();
  const card = span.lastChild;
  const { width, height } = card.getBoundingClientRect();
  const fitsBelow = marker.bottom + height < window.innerHeight || marker.top < height;
  const rightmost = document.documentElement.clientWidth - width - MARGIN;
  const left = Math.max(MARGIN, Math.min(marker.left, rightmost));
  card.style.left = `${left - marker.left}px`;
  card.classList.toggle("above", !fitsBelow);
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !openCitation) return;
  const hasFocus = openCitation.contains(document.activeElement);
  if (hasFocus) openCitation.firstChild.focus(); // while its card is there
  closeCard(openCitation);
});
document.addEventListener("pointerdown", (event) => {
  if (openCitation && !openCitation.contains(event.target)) closeCard(openCitation);
});
addEventListener("resize", () => {
  if (openCitation) placeCard(openCitation);
});
