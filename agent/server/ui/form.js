// The form: its choices come from the server's OpenAPI description.
import { fetchJson, token } from "/ui/api.js";
import { element, textElement } from "/ui/element.js";
import { depthLabel, strategyLabel } from "/ui/labels.js";

const MIN_QUESTION = 3; // characters

/** Fill the selects with the choices of the server. */
export async function fillChoices(form) {
  const { components } = await fetchJson("/api/openapi.json");
  const fields = components.schemas.Question.properties;
  fillSelect(form.elements.strategy, fields.strategy, strategyLabel);
  fillSelect(form.elements.depth, fields.depth, depthLabel);
}

/** Options for the values of a field's JSON Schema; hidden where there is no choice. */
function fillSelect(select, field, label) {
  const schemas = field?.anyOf ?? [field ?? {}];
  const values = schemas.flatMap((one) => one.enum ?? (one.const ? [one.const] : []));
  const options = values.map((value) => element("option", { value }, label(value)));
  select.replaceChildren(select.options[0], ...options);
  select.closest(".field").hidden = values.length < 2;
}

/** The body of the request; fields that are left at their default are not in it. */
export function readForm(form) {
  const { question, strategy, depth, slots } = form.elements;
  const body = { question: question.value.trim() };
  const names = slots.value.split(/[,，、;\n]/).map((name) => name.trim());
  const slotNames = names.filter(Boolean);
  if (strategy.value) body.strategy = strategy.value;
  if (depth.value) body.depth = depth.value;
  if (slotNames.length) body.slots = slotNames;
  return body;
}

/** Why a question cannot be sent, or "". */
export function questionFault(question) {
  if (!question) return "Write a question first.";
  return question.length < MIN_QUESTION ? "A question has at least three characters." : "";
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
