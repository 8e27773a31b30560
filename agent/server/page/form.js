// The form of a question: what it asks for, its examples and prices.
import { token } from "/ui/api.js";
import { button, element, textElement } from "/ui/element.js";
import { formatPrice, wayLabel } from "/ui/labels.js";

const MIN_QUESTION = 3; // characters
const WAYS = { facts: "slots", report: "report" }; // and a quick answer in the order that is chosen

/** The body of the request; fields that are left empty are not in it. */
export function readForm(form) {
  const { question, way, order, depth, slots, cap, sites } = form.elements;
  const strategy = WAYS[way.value] ?? order.value;
  const body = { question: question.value.trim(), strategy, depth: depth.value };
  const names = way.value === "facts" ? split(slots.value) : [];
  if (names.length) body.slots = names;
  if (cap.value.trim()) body.max_usd = Number(cap.value.trim().replace(",", ".").replace("$", ""));
  if (sites.value.trim()) body.allow_domains = split(sites.value);
  return body;
}

const split = (text) =>
  text
    .split(/[,，、;\n]/)
    .map((name) => name.trim())
    .filter(Boolean);

/** Why a request cannot be sent, or "". */
export function requestFault({ question, max_usd: cap }) {
  if (!question) return "Write a question first.";
  if (question.length < MIN_QUESTION) return "A question needs at least three characters.";
  return Number.isNaN(cap) || cap <= 0 ? "The spending limit is not an amount in dollars." : "";
}

/** Show the fields and the price of the chosen kind of answer. */
export function showWay(form, prices) {
  const { way, order, depth } = form.elements;
  document.getElementById("facts-field").hidden = way.value !== "facts";
  document.getElementById("plan-field").hidden = way.value !== "report";
  order.closest(".field").hidden = way.value !== "quick";
  const chosen = WAYS[way.value] ?? order.value;
  const strategy = prices.some((price) => price.strategy === chosen) ? chosen : "slots";
  const price = prices.find((one) => one.strategy === strategy && one.depth === depth.value);
  document.getElementById("price").textContent = formatPrice(price);
}

/** Put an example, or an earlier question, into the form. */
export function fillForm(form, { question, strategy = "slots", slots = [], depth = "" }) {
  const { elements } = form;
  elements.question.value = question;
  elements.slots.value = slots.join(", ");
  const way = slots.length ? "facts" : "quick";
  elements.way.value = strategy === "report" ? "report" : way;
  if (elements.way.value === "quick") elements.order.value = strategy;
  if (depth) elements.depth.value = depth;
}

/** Questions that can be answered here; `ask` is called with the one that is chosen. */
export function showExamples(place, examples, ask) {
  const rows = examples.map((example) =>
    element(
      "li",
      {},
      button("", () => ask(example), { class: "entry plain" }),
    ),
  );
  rows.forEach((row, n) => {
    const label = element("span", { class: "quiet" }, wayLabel(examples[n]));
    row.firstChild.append(textElement(examples[n].question), label);
  });
  place.querySelector("ul").replaceChildren(...rows);
  place.hidden = !rows.length;
}

/** A problem in words; where a token is needed, with a form for it. `retry` is called then. */
export function problemElement(problem, retry) {
  const message = textElement(problem.message, "strong");
  const words = element("p", { class: "trouble" }, message, " ", textElement(problem.remedy));
  return problem.status === 401 ? element("div", {}, words, tokenForm(retry)) : words;
}

function tokenForm(retry) {
  const field = element("input", { id: "token", type: "password", autocomplete: "off" });
  const submit = (event) => {
    event.preventDefault();
    token.set(field.value);
    retry();
  };
  return element(
    "form",
    { class: "token", on: { submit } },
    element("label", { for: "token" }, "Access token"),
    field,
    element("button", { type: "submit" }, "Use it in this tab"),
  );
}
