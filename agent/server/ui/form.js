// The form: what can be asked, as the server's own description of its API has it.
import { told, token } from "/ui/api.js";
import { element, said } from "/ui/element.js";
import { depth, strategy } from "/ui/words.js";

/** Fill the choices from what the server knows. */
export async function fill(form) {
  const { components } = await told("/api/openapi.json");
  const fields = components.schemas.Question.properties;
  choose(form.elements.strategy, fields.strategy, strategy);
  choose(form.elements.depth, fields.depth, depth);
}

function choose(select, field, words) {
  const forms = field?.anyOf ?? [field ?? {}];
  const names = forms.flatMap((one) => one.enum ?? (one.const ? [one.const] : []));
  select.replaceChildren(select.options[0], ...names.map((name) => element("option", { value: name }, words(name))));
  select.closest(".field").hidden = names.length < 2;
}

/** What was asked; what was left as it is, is not sent. */
export function given(form) {
  const { question, strategy: chosen, depth: far, slots } = form.elements;
  const names = slots.value.split(/[,，、;\n]/).map((name) => name.trim()).filter(Boolean);
  const asked = { question: question.value.trim() };
  if (chosen.value) asked.strategy = chosen.value;
  if (far.value) asked.depth = far.value;
  if (names.length) asked.slots = names;
  return asked;
}

/** Why a question cannot be sent, or "". */
export function lacking({ question }) {
  if (!question) return "Write a question first.";
  return question.length < 3 ? "A question has at least three characters." : "";
}

/** What went wrong, in words; where a token is wanted, a place for it. */
export function problem(error, again) {
  const words = element("p", { class: "trouble" }, said(error.message, "strong"), " ", said(error.remedy));
  if (error.status !== 401) return words;
  const field = element("input", { id: "token", type: "password", autocomplete: "off" });
  const keep = (event) => {
    event.preventDefault();
    token.set(field.value);
    again();
  };
  const form = element("form", { class: "token", on: { submit: keep } }, element("label", { for: "token" }, "Access token"), field, element("button", { type: "submit" }, "Use it in this tab"));
  return element("div", {}, words, form);
}
