// The quote of a number in the text: next to its sentence, or below it as a sheet.
import { button, element, textElement } from "/ui/element.js";

const DESK = matchMedia("(min-width: 1100px)"); // as in style.css
const MARGIN = 24; // px between a sentence and the sheet below it
const CAREFUL = matchMedia("(prefers-reduced-motion: reduce)");

/** A card that shows a quote of the answer, which the server has written into the same page. */
export class QuoteCard {
  /** `place` gets the card. */
  constructor(place) {
    this.card = element("section", {
      class: "card",
      role: "dialog",
      tabindex: "-1",
      hidden: true,
    });
    place.append(this.card);
    this.place = place;
    this.marker = null; // whose quote is open
    this.resize = () => this.#settle();
    addEventListener("resize", this.resize);
    DESK.addEventListener("change", this.resize);
  }

  /** Open the quote of a marker, or close it; by the keyboard, go there. */
  toggle(marker, byKeyboard) {
    if (this.marker === marker && !DESK.matches) this.close();
    else this.show(marker, byKeyboard);
  }

  /** Open the first quote if the window is wide enough. */
  showFirst(root) {
    const first = root.querySelector(".answer .marker");
    if (first && DESK.matches) this.show(first, false);
  }

  show(marker, byKeyboard) {
    const quote = document.getElementById(marker.hash.slice(1));
    if (!quote) return;
    this.#mark(false);
    this.marker = marker;
    this.#mark(true);
    this.card.replaceChildren(...this.#content(marker, quote));
    this.card.setAttribute("aria-label", marker.getAttribute("aria-label"));
    this.card.hidden = false;
    this.card.scrollTop = 0;
    this.#settle(true);
    if (byKeyboard) this.card.focus({ preventScroll: true });
  }

  /** Close the quote; the focus goes back to its number. */
  close() {
    if (!this.marker) return;
    const { marker } = this;
    const hadFocus = this.card.contains(document.activeElement);
    this.#mark(false);
    this.marker = null;
    this.card.hidden = true;
    document.body.style.removeProperty("padding-bottom");
    if (hadFocus) marker.focus({ preventScroll: true });
  }

  /** Leave the page: nothing is open, and nothing is listened to. */
  leave() {
    this.close();
    removeEventListener("resize", this.resize);
    DESK.removeEventListener("change", this.resize);
  }

  /** Title and kind of the source, the quote, and how the sentence was judged. */
  #content(marker, quote) {
    const source = quote.closest(".source");
    const copy = quote.cloneNode(true);
    copy.removeAttribute("id");
    const title = source.querySelector(".title > :last-child").textContent;
    const why = marker.closest(".sentence")?.dataset.why ?? "The words this rests on.";
    return [
      element(
        "div",
        { class: "title" },
        element("span", { class: "n" }, marker.dataset.source),
        textElement(title, "strong"),
        button("Close", () => this.close(), { class: "plain close" }),
      ),
      ...[...source.children].filter((one) => one.matches("p.quiet")).map(cloned),
      ...copy.children,
      element("p", { class: "quiet why" }, why),
    ];
  }

  #mark(isOpen) {
    this.marker?.setAttribute("aria-expanded", String(isOpen));
    this.marker?.closest(".sentence, td, .side")?.classList.toggle("open", isOpen);
  }

  /** Beside the sentence on a desk; else below it, with the sentence scrolled above the sheet. */
  #settle(scroll = false) {
    if (!this.marker) return;
    const sentence = (this.marker.closest(".sentence") ?? this.marker).getBoundingClientRect();
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
}

const cloned = (one) => one.cloneNode(true);
