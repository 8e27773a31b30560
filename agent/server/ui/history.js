// Earlier questions, newest first; each opens its run again.
import { told } from "/ui/api.js";
import { button, element, said } from "/ui/element.js";
import { STATUSES, when } from "/ui/words.js";

const MOST = 200; // as many as the server lists
const FIRST = 30; // shown before all are asked for
const STATES = { queued: "Waiting", running: "Under way" };

/** List the runs that there are; the one that is open is marked. */
export async function list(aside, current) {
  const runs = await told(`/api/runs?limit=${MOST}`);
  aside.hidden = !runs.length;
  const items = runs.map((run) => item(run, current));
  const place = aside.querySelector("ol");
  const held = place.querySelector(":focus")?.dataset.run; // who is in the list stays there
  const all = () => (place.replaceChildren(...items), items[FIRST].firstChild.focus());
  const more = element("li", {}, button(`Show all ${runs.length}`, all));
  const short = runs.length > FIRST && place.children.length <= FIRST + 1;
  place.replaceChildren(...(short ? [...items.slice(0, FIRST), more] : items));
  items.find((one) => held && one.firstChild.dataset.run === held)?.firstChild.focus({ preventScroll: true });
}

function item(run, current) {
  const state = run.cancelled ? "Stopped" : (STATES[run.state] ?? STATUSES[run.status] ?? "");
  const address = `/?run=${encodeURIComponent(run.id)}`;
  const here = run.id === current ? "page" : null;
  const opener = said(run.question, "a", { href: address, "data-run": run.id, "aria-current": here });
  const about = [when(run.started_at), state].filter(Boolean).join(" · ");
  return element("li", {}, opener, element("span", { class: "quiet" }, about));
}
