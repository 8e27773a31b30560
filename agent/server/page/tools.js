// Buttons that take an answer along: its link, its text, a file, paper.
import { request, runPath } from "/ui/api.js";
import { button, element } from "/ui/element.js";

const CONFIRMED_FOR = 2000; // ms that a button confirms its action
const FILES = [
  ["HTML page", "html", "html"],
  ["Markdown", "markdown", "md"],
  ["PDF", "pdf", "pdf"],
  ["Word", "docx", "docx"],
  ["JSON", "json", "json"],
  ["YAML", "yaml", "yaml"],
  ["BibTeX", "bibtex", "bib"],
  ["RIS", "ris", "ris"],
  ["CSL-JSON", "csl-json", "csl.json"],
];

/** The tools of a run. `announce` gets what was done in words, `showProblem` what went wrong. */
export function toolBar(name, { announce, showProblem }) {
  const done = (act, message) => async (event) => {
    const pressed = event.currentTarget;
    try {
      await act();
      sayIn(pressed, message);
      announce(message);
    } catch (error) {
      showProblem(error);
    }
  };
  const files = FILES.map(([label, format, suffix]) =>
    button(
      label,
      done(() => downloadFile(answerPath(name, format), `${name}.${suffix}`), "Downloaded"),
    ),
  );
  return element(
    "div",
    { class: "tools" },
    button(
      "Copy link",
      done(() => copy(runAddress(name)), "Copied"),
    ),
    button(
      "Copy Markdown",
      done(async () => copy(await fetchText(name, "markdown")), "Copied"),
    ),
    element(
      "details",
      { class: "menu" },
      element("summary", {}, "Download"),
      element("div", {}, files),
    ),
    button("Print", () => print()),
  );
}

/** The address of a run on this server. */
export const runAddress = (name) => `${location.origin}/?run=${encodeURIComponent(name)}`;

function sayIn(pressed, message) {
  const label = pressed.textContent;
  if (label === message) return;
  pressed.textContent = message;
  setTimeout(() => pressed.replaceChildren(label), CONFIRMED_FOR);
}

const answerPath = (name, format) => `${runPath(name)}/answer?format=${format}`;

async function fetchText(name, format) {
  const response = await request(answerPath(name, format));
  return response.text();
}

async function copy(text) {
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

/** Save what the server sends as a file: a plain link could not carry the access token. */
export async function downloadFile(path, name) {
  const response = await request(path);
  const url = URL.createObjectURL(await response.blob());
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
