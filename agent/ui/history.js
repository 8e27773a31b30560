// Earlier questions, newest first; each opens its run again.
import { told } from "/ui/api.js";
import { element, said } from "/ui/element.js";
import { STATUSES, when } from "/ui/words.js";

const MOST = 30;
const STATES = { queued: "Waiting", running: "Under way" };

/** List the runs that there are; the one that is open is marked. */
export async function list(aside, current) {
  const runs = await told(`/api/runs?limit=${MOST}`);
  aside.hidden = !runs.length;
  aside.querySelector("ol").replaceChildren(...runs.map((run) => item(run, current)));
}

function item(run, current) {
  const state = run.cancelled ? "Stopped" : (STATES[run.state] ?? STATUSES[run.status] ?? "");
  const address = `/?run=${encodeURIComponent(run.id)}`;
  const here = run.id === current ? "page" : null;
  const opener = said(run.question, "a", { href: address, "data-run": run.id, "aria-current": here });
  const about = [when(run.started_at), state].filter(Boolean).join(" · ");
  return element("li", {}, opener, element("span", { class: "quiet" }, about));
}
