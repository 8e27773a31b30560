// Buttons that copy an answer or download it as a file.
import { request, runPath } from "/ui/api.js";
import { button, element } from "/ui/element.js";

/** The buttons of a run. `announce` gets what was done in words, `showProblem` what went wrong. */
export function saveButtons(name, announce, showProblem) {
  const saveButton = (label, save, message) =>
    button(label, () => save().then(() => announce(message), showProblem));
  return [
    saveButton("Copy as Markdown", () => copy(name, "markdown"), "Copied as Markdown."),
    saveButton("Copy as JSON", () => copy(name, "json"), "Copied as JSON."),
    saveButton("Download HTML", () => download(name, "html", "html"), "Downloaded."),
  ];
}

async function fetchAnswer(name, format) {
  const response = await request(`${runPath(name)}/answer?format=${format}`);
  return response.blob();
}

async function copy(name, format) {
  const answer = await fetchAnswer(name, format);
  const text = await answer.text();
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else copyBySelection(text);
}

/** Copy without the Clipboard API, which there is over https and on localhost only. */
function copyBySelection(text) {
  const area = element("textarea", { class: "unseen", "aria-hidden": "true" });
  document.body.append(area);
  area.value = text;
  area.select();
  document.execCommand("copy");
  area.remove();
}

async function download(name, format, suffix) {
  const url = URL.createObjectURL(await fetchAnswer(name, format));
  element("a", { href: url, download: `${name}.${suffix}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
