// Numbers in a text, and the quote that each opens: beside its sentence, or below as a sheet.
import { button, element, link, siteOf, textElement } from "/ui/element.js";
import { formatDate, formatStanding } from "/ui/labels.js";

const MAX_QUOTES = 2; // of one source that are shown together
const MIN_OVERLAP = 0.6; // of the words that the best quote shares with the sentence
const DESK = matchMedia("(min-width: 1100px)"); // as in style.css
const MARGIN = 24; // px between a sentence and the sheet below it
const CAREFUL = matchMedia("(prefers-reduced-motion: reduce)");

/** A card beside what it is about, or a sheet below it. */
export class Card {
  /** `place` gets the card; the height of what it is about is measured from the top of it. */
  constructor(place) {
    this.card = element("section", {
      class: "quote",
      role: "dialog",
      tabindex: "-1",
      hidden: true,
    });
    place.append(this.card);
    this.place = place;
    this.opener = null; // what is open
    this.resize = () => this.#settle();
    addEventListener("resize", this.resize);
    DESK.addEventListener("change", this.resize);
  }

  /** A button that opens and closes the card. `content` makes its label and what it shows. */
  button(text, content, attributes = {}) {
    const open = (event) => {
      if (this.opener === event.currentTarget && !DESK.matches) this.close();
      else this.show(event.currentTarget, content, event.detail === 0);
    };
    return button(text, open, { "aria-expanded": "false", ...attributes });
  }

  /** Show the card of a button; by the keyboard, go there. */
  show(opener, content, byKeyboard) {
    const { label, elements } = content();
    this.#mark(false);
    this.opener = opener;
    this.#mark(true);
    this.card.replaceChildren(...elements.flat(Number.POSITIVE_INFINITY).filter(Boolean));
    this.card.setAttribute("aria-label", label);
    this.card.hidden = false;
    this.card.scrollTop = 0;
    this.#settle(true);
    if (byKeyboard) this.card.focus({ preventScroll: true });
  }

  /** Close the quote; the focus goes back to its number. */
  close() {
    if (!this.opener) return false;
    const hadFocus = this.card.contains(document.activeElement);
    const { opener } = this;
    this.#mark(false);
    this.opener = null;
    this.card.hidden = true;
    document.body.style.removeProperty("padding-bottom");
    if (hadFocus) opener.focus();
    return true;
  }

  /** Leave the page: nothing is open, and nothing is listened to. */
  leave() {
    this.close();
    removeEventListener("resize", this.resize);
    DESK.removeEventListener("change", this.resize);
  }

  #mark(isOpen) {
    this.opener?.setAttribute("aria-expanded", String(isOpen));
    this.opener?.closest(".sentence, td, .fact")?.classList.toggle("open", isOpen);
  }

  /** Beside the sentence on a desk; else below it, with the sentence scrolled above the sheet. */
  #settle(scroll = false) {
    if (!this.opener) return;
    const sentence = (this.opener.closest(".sentence") ?? this.opener).getBoundingClientRect();
    document.body.style.removeProperty("padding-bottom");
    if (DESK.matches) {
      const top = sentence.top - this.place.getBoundingClientRect().top;
      this.card.style.top = `${Math.max(0, top)}px`;
      return;
    }
    this.card.style.removeProperty("top");
    if (!scroll) return;
    const { height } = this.card.getBoundingClientRect();
    document.body.style.paddingBottom = `${height}px`; // so that the last line can be above it
    const covered = sentence.bottom + MARGIN - (innerHeight - height);
    if (covered > 0) scrollBy({ top: covered, behavior: CAREFUL.matches ? "instant" : "smooth" });
  }

  /** The first line of the card, with what closes it. */
  head(title, number = "") {
    return element(
      "div",
      { class: "title" },
      number && element("span", { class: "n" }, number),
      textElement(title, "strong"),
      button("Close", () => this.#closeByHand(), { class: "plain close" }),
    );
  }

  #closeByHand() {
    const { opener } = this;
    this.close();
    opener?.focus({ preventScroll: true });
  }
}

/** What the numbers of an answer lead to. */
export class Evidence extends Card {
  constructor(answer, activity, place) {
    super(place);
    this.answer = answer;
    this.activity = activity;
  }

  /** The numbers of some sources as buttons; `claim` is what they stand behind, as a text. */
  markers(numbers, claim = {}) {
    const known = numbers.filter((number) => this.cited(number).length);
    if (!known.length) return null;
    return element(
      "sup",
      {},
      known.map((number) => this.#marker(number, claim)),
    );
  }

  /** The citations of a source, each with what stands around its quote. */
  cited(number) {
    const all = this.answer.citations.map((one, n) => ({
      ...one,
      ...this.activity.contexts[n],
      date: one.date ?? "",
    }));
    return all.filter(({ id }) => id === number);
  }

  /** The citation of some sources that is nearest to a text. */
  nearest(numbers, text) {
    return nearestQuotes(
      numbers.flatMap((number) => this.cited(number)),
      text,
    )[0];
  }

  #marker(number, claim) {
    const [{ title, url }] = this.cited(number);
    return this.button(String(number), () => this.#content(number, claim), {
      class: "marker",
      "aria-label": `Quote ${number}, from ${title || siteOf(url)}`,
    });
  }

  /** Open the first quote, where there is room for it beside the text. */
  openFirst(root) {
    const first = root.querySelector(".marker");
    const claim = this.answer.claims.find(({ citations }) => citations.length);
    if (!first || !DESK.matches) return;
    this.show(first, () => this.#content(Number(first.textContent), claim ?? {}), false);
  }

  #content(number, claim) {
    const cited = nearestQuotes(this.cited(number), claim.text ?? "");
    const [first] = cited;
    const { credibility, date } = first;
    const title = first.title || siteOf(first.url);
    const standing = formatStanding(credibility.domain, credibility.reason);
    return {
      label: `Quote ${number}: ${title}`,
      elements: [
        this.head(title, String(number)),
        textElement(siteOf(first.url), "p", { class: "quiet" }),
        textElement([standing, formatDate(date)].filter(Boolean).join(", "), "p", {
          class: "quiet",
        }),
        cited.map(quoteElements),
        element("p", { class: "quiet why" }, reasonText(claim, first)),
      ],
    };
  }
}

/** A quote with a sentence before and after it, and the link that opens its page there. */
export const quoteElements = (citation) => [
  element(
    "blockquote",
    { dir: "auto" },
    citation.before && [element("span", {}, citation.before), " "],
    element("mark", {}, citation.quote),
    citation.after && [
      /^[\p{P}]/u.test(citation.after) ? "" : " ",
      element("span", {}, citation.after),
    ],
  ),
  citation.place && element("p", { class: "quiet" }, citation.place),
  openLink(citation),
];

/** The link that opens the page of a quote at its words; nothing for a document. */
export const openLink = ({ link: address }) => {
  const opener = link(address, "Open the page at these words", { class: "there" });
  return opener.localName === "a" ? opener : null;
};

/** Why a sentence is taken for confirmed, in words. */
function reasonText({ verdict, by }, { match, via }) {
  const place = via === "page" ? "" : " These words are the search’s own excerpt of the page.";
  const letters =
    match === "exact" ? "" : " They differ from the page in case, spaces or signs only.";
  return `${verdictText(verdict, by)}${letters}${place}`;
}

function verdictText(verdict, by) {
  if (verdict === "supported") {
    return by === "rule"
      ? "Confirmed: the sentence is the page’s own, word for word."
      : `Confirmed: ${by || "a second reading"} found the sentence said in these words.`;
  }
  if (verdict === "partial") return "In part: these words say some of the sentence.";
  if (verdict === "contradicted") return "Contradicted: these words say something else.";
  if (verdict === "unsupported") return "Not confirmed: these words do not say it.";
  return verdict ? "Not judged: no second reading was made." : "The words that this rests on.";
}

/** The quotes that share most words with a sentence. */
function nearestQuotes(cited, text) {
  const words = wordsOf(text);
  const overlap = ({ quote }) => [...wordsOf(quote)].filter((word) => words.has(word)).length;
  const best = Math.max(...cited.map(overlap));
  return cited
    .filter((citation) => overlap(citation) >= MIN_OVERLAP * best)
    .toSorted((a, b) => overlap(b) - overlap(a))
    .slice(0, MAX_QUOTES);
}

const wordsOf = (text) =>
  new Set(
    String(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  );
