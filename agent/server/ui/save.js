// An answer taken along: copied, or kept as a file.
import { ask } from "/ui/api.js";
import { button, element } from "/ui/element.js";

const path = (name, format) => `/api/runs/${encodeURIComponent(name)}/answer?format=${format}`;
const fetched = async (name, format) => (await ask(path(name, format))).blob();

/** The buttons; `tell` says in words what was done, `fail` gets what went wrong. */
export function buttons(name, tell, fail) {
  const doing = (work, done) => () => work().then(() => tell(done), fail);
  return [
    button("Copy as Markdown", doing(() => copy(name, "markdown"), "Copied as Markdown.")),
    button("Copy as JSON", doing(() => copy(name, "json"), "Copied as JSON.")),
    button("Download HTML", doing(() => download(name, "html", "html"), "Downloaded.")),
  ];
}

async function copy(name, format) {
  const text = await (await fetched(name, format)).text();
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = element("textarea", { class: "unseen", "aria-hidden": "true" }); // no https: the old way
  document.body.append(area);
  area.value = text;
  area.select();
  document.execCommand("copy");
  return area.remove();
}

async function download(name, format, ending) {
  const address = URL.createObjectURL(await fetched(name, format));
  element("a", { href: address, download: `${name}.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
