// The plan of a report before it starts: sections are moved, renamed, removed and added.
import { button, element, section, textElement } from "/ui/element.js";
import { formatCount, formatPrice } from "/ui/labels.js";

const MAX_REPLY = 253; // characters of an answer with its question that the server takes

/** A plan that the user may change. `start` gets it as it is to run, `planAgain` the answers of the
 *  user to what is unclear, `announce` what was done. */
export class PlanList {
  constructor(offer, { start, planAgain, announce }) {
    const { estimate, warnings, ...plan } = offer;
    this.plan = plan;
    this.announce = announce;
    // a section waits for others, which may be renamed: it knows them, not their names
    this.sections = plan.sections.map((one) => ({ ...one }));
    for (const one of this.sections) {
      one.after = this.sections.filter(({ heading }) => one.after.includes(heading));
    }
    this.heading = element("h2", { id: "plan-sections" });
    this.list = element("ol", { class: "rows sections", "aria-labelledby": "plan-sections" });
    this.started = button("Start", () => start(this.#edited()), { class: "main" });
    this.elements = [
      element("h1", { tabindex: "-1", dir: "auto" }, plan.topic),
      element("p", { class: "quiet" }, "Plan first: nothing has been searched yet."),
      ...warnings.map((one) => textElement(one, "p", { class: "quiet" })),
      unclearSection(plan, planAgain),
      element(
        "section",
        { class: "planned", "aria-labelledby": "plan-sections" },
        this.heading,
        this.list,
        button("Add a section", () => this.#add(), { class: "plain" }),
      ),
      element(
        "div",
        { class: "start" },
        this.started,
        element("span", { class: "quiet" }, formatPrice(estimate)),
      ),
    ];
    this.#draw();
  }

  /** The plan as the user has changed it. */
  #edited() {
    const sections = this.sections.map((one, n) => ({
      ...one,
      heading: one.heading.trim() || `Section ${n + 1}`,
      questions: one.questions.map((line) => line.trim()).filter(Boolean),
      after: one.after.filter((other) => this.sections.includes(other)).map((o) => o.heading),
    }));
    return { ...this.plan, sections };
  }

  #draw(focused = -1, part = "input") {
    const count = this.sections.length;
    this.heading.textContent = formatCount(count, "section");
    this.list.replaceChildren(...this.sections.map((one, n) => this.#row(one, n)));
    this.started.disabled = !count;
    const row = this.list.children[Math.min(focused, count - 1)];
    const wanted = row?.querySelector(part);
    (wanted?.disabled ? row.querySelector("input") : wanted)?.focus();
  }

  #row(one, n) {
    const move = (by) => ({
      class: by < 0 ? "up" : "down",
      disabled: !this.sections[n + by],
      "aria-label": `Move section ${n + 1} ${by < 0 ? "up" : "down"}`,
    });
    return element(
      "li",
      {},
      element("span", { class: "n" }, String(n + 1)),
      element("div", {}, this.#heading(one, n), this.#questions(one, n), thingsLine(one)),
      element(
        "div",
        { class: "moves" },
        button("↑", () => this.#move(n, -1, ".up"), move(-1)),
        button("↓", () => this.#move(n, 1, ".down"), move(1)),
        button("Remove", () => this.#remove(n), {
          class: "plain",
          "aria-label": `Remove section ${n + 1}`,
        }),
      ),
    );
  }

  #heading(one, n) {
    if (one.heading === this.plan.topic && this.sections.length === 1) {
      return element("p", {}, "The whole question, in one section");
    }
    const rename = ({ target }) => {
      one.heading = target.value;
    };
    return element("input", {
      value: one.heading,
      maxlength: "300",
      dir: "auto",
      placeholder: "What it is about",
      "aria-label": `Heading of section ${n + 1}`,
      on: { input: rename },
    });
  }

  #questions(one, n) {
    const change = ({ target }) => {
      one.questions = target.value.split("\n");
    };
    const field = element("textarea", {
      rows: "1",
      dir: "auto",
      placeholder: "Questions to answer, one per line",
      "aria-label": `Questions of section ${n + 1}, one per line`,
      on: { input: change },
    });
    field.value = one.questions.join("\n");
    return field;
  }

  #move(n, by, part) {
    const [one] = this.sections.splice(n, 1);
    const to = Math.max(0, Math.min(n + by, this.sections.length));
    this.sections.splice(to, 0, one);
    this.#draw(to, part);
    this.announce(`${one.heading}: now section ${to + 1}`);
  }

  #remove(n) {
    const [one] = this.sections.splice(n, 1);
    this.#draw(n);
    this.announce(`Removed: ${one.heading}`);
  }

  #add() {
    this.sections.push({ heading: "", questions: [], things: [], after: [], searches: [] });
    this.#draw(this.sections.length - 1);
  }
}

/** What a section compares, and what it waits for. */
function thingsLine({ things, after }) {
  const parts = [
    things.length ? `compares ${things.join(", ")}` : "",
    after.length ? `after ${after.map(({ heading }) => heading).join(", ")}` : "",
  ];
  const text = parts.filter(Boolean).join(" · ");
  return text && textElement(text, "p", { class: "quiet" });
}

/** What the question leaves open, with fields for answers. */
function unclearSection({ ask, unclear }, planAgain) {
  const others = unclear.filter((one) => !ask.includes(one)).map((one) => textElement(one, "li"));
  const fields = ask.map((one, n) =>
    element(
      "p",
      { class: "field" },
      textElement(one, "label", { for: `unclear-${n}` }),
      element("input", { id: `unclear-${n}`, maxlength: "200", placeholder: "You decide" }),
    ),
  );
  const sendAnswers = (event) => {
    event.preventDefault();
    const answers = [...event.target.querySelectorAll("input")].map(({ value }) => value.trim());
    const replies = ask.map((one, n) => answers[n] && `${one} ${answers[n]}`.slice(-MAX_REPLY));
    planAgain(replies.filter(Boolean));
  };
  const form =
    ask.length > 0 &&
    element("form", { on: { submit: sendAnswers } }, fields, submitButton("Plan again"));
  const list = others.length > 0 && element("ul", { class: "items" }, others);
  return section("unclear", "What is unclear", "", form, list);
}

const submitButton = (text) => element("button", {}, text);
