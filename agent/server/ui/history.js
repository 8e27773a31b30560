// Earlier questions, newest first. Each is a link that opens its run again.
import { fetchJson } from "/ui/api.js";
import { button, element, textElement } from "/ui/element.js";
import { formatTime, STATUSES } from "/ui/labels.js";

const MAX_RUNS = 200; // as many as the server lists
const MAX_FIRST = 30; // shown until all are asked for
const STATES = { queued: "Waiting", running: "Under way" };

/** List the runs of the server in `aside`; `current` is the name of the open one. */
export async function listRuns(aside, current) {
  const runs = await fetchJson(`/api/runs?limit=${MAX_RUNS}`);
  aside.hidden = !runs.length;
  const items = runs.map((run) => runItem(run, current));
  const list = aside.querySelector("ol");
  const focused = list.querySelector(":focus")?.dataset.run;
  const showAll = () => {
    list.replaceChildren(...items);
    items[MAX_FIRST].firstChild.focus();
  };
  const more = element("li", {}, button(`Show all ${runs.length}`, showAll));
  const isShort = runs.length > MAX_FIRST && list.children.length <= MAX_FIRST + 1;
  list.replaceChildren(...(isShort ? [...items.slice(0, MAX_FIRST), more] : items));
  if (focused) focusRun(items, focused);
}

/** Give the focus back to the link that had it. */
function focusRun(items, name) {
  const item = items.find((one) => one.firstChild.dataset.run === name);
  item?.firstChild.focus({ preventScroll: true });
}

function runItem(run, current) {
  const state = run.cancelled ? "Stopped" : (STATES[run.state] ?? STATUSES[run.status] ?? "");
  const opener = textElement(run.question, "a", {
    href: `/?run=${encodeURIComponent(run.id)}`,
    "data-run": run.id,
    "aria-current": run.id === current ? "page" : null,
  });
  const note = [formatTime(run.started_at), state].filter(Boolean).join(" · ");
  return element("li", {}, opener, element("span", { class: "quiet" }, note));
}
