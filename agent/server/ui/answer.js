// An answer: its text with markers, facts, report, sources, and what the reader should know of it.
import { marked, markers, quote } from "/ui/citation.js";
import { element, link, said, section, site } from "/ui/element.js";
import { MARKS, STATUSES, count, scalar, spaced, spend, strategy, when, worth } from "/ui/words.js";

const ENDS = ".!?。！？";
const LEFT_OUT = /^Left out|were left out/;

/** The answer's parts, in the order in which they are read. */
export function parts(answer) {
  const warnings = answer.warnings.filter((one) => !LEFT_OUT.test(one));
  const dropped = answer.warnings.filter((one) => LEFT_OUT.test(one));
  return [
    trouble(answer.error),
    hero(answer),
    disputes(answer),
    slots(answer.slots, answer.citations),
    ...report(answer),
    section("dropped", "Left out of the answer", listed(dropped.map(why))),
    section("warnings", "What to know", listed(warnings)),
    sources(answer.citations),
  ];
}

export function trouble(error) {
  if (!error) return null;
  return element("p", { class: "trouble" }, said(error.message, "strong"), " ", said(error.remedy));
}

// --- the text ------------------------------------------------------------------------------------

function hero(answer) {
  if (!answer.answer) return null;
  const { title } = answer.report ?? {};
  const heading = answer.report ? said(title === answer.topic ? "In short" : title, "h3", { class: "headline" }) : null;
  const told = element("p", { class: "answer", dir: "auto" }, ...text(answer));
  return element("div", { id: "answer", tabindex: "-1" }, heading, told);
}

/** The answer's text; sentences that are not confirmed say so. */
function text({ answer, claims, citations }) {
  const made = [];
  let at = 0;
  for (const claim of claims) {
    const words = written(claim);
    const found = answer.indexOf(words, at);
    if (found < 0) return marked(answer, citations); // it is not made of its claims: as it stands
    made.push(...marked(answer.slice(at, found), citations), ...sentence(claim, citations));
    at = found + words.length;
  }
  return [...made, ...marked(answer.slice(at), citations)];
}

function sentence(claim, citations) {
  const words = marked(written(claim), citations);
  const mark = MARKS[claim.verdict];
  return mark ? [...words, " ", element("span", { class: `mark ${claim.verdict}` }, mark)] : words;
}

/** A claim as an answer has it: with its markers before the full stop. */
function written({ text: words, citations }) {
  if (!citations.length) return words;
  let cut = words.length;
  while (cut && ENDS.includes(words[cut - 1])) cut -= 1;
  const space = "。！？".includes(words[cut] ?? " ") ? "" : " ";
  return `${words.slice(0, cut)}${space}${citations.map((n) => `[${n}]`).join("")}${words.slice(cut)}`;
}

function disputes({ slots: known }) {
  const names = Object.keys(known).filter((name) => known[name].status === "conflict");
  if (!names.length) return null;
  return element("p", { class: "dispute" }, element("strong", {}, "Sources disagree"), " on ", said(names.map(spaced).join(", ")), ".");
}

/** Why a sentence was left out, under a heading that says so. */
const why = (one) => one.replace(/^Left out of the answer, which/, "The answer").replace(/^Left out, n/, "N");

const listed = (texts) => texts.length && element("ul", { class: "notes" }, texts.map((one) => said(one, "li")));

// --- a report ------------------------------------------------------------------------------------

function report({ report: told, citations }) {
  if (!told) return [];
  const paragraph = (claims) => element("p", { dir: "auto" }, claims.map((claim) => [...sentence(claim, citations), " "]));
  const themes = told.sections.map((one) => [said(one.heading, "h4"), paragraph(one.sentences)]);
  const against = told.conflicts.map((claim) => element("li", { dir: "auto" }, sentence(claim, citations)));
  const none = element("p", {}, "No significant conflicting information was found.");
  const sure = element("p", {}, element("strong", {}, `${told.confidence}.`), " ", said(told.rationale));
  return [
    section("findings", "Main findings", themes),
    section("conflicts", "Conflicting information", against.length ? element("ul", { class: "notes" }, against) : none),
    section("confidence", "Confidence", sure),
  ];
}

// --- facts ---------------------------------------------------------------------------------------

/** Slots as a table, filled or not; nothing where there are none. */
export function slots(known, citations = []) {
  const rows = Object.entries(known).map(([name, slot]) => row(name, slot, citations));
  return section("facts", "Facts", rows.length && element("table", {}, element("tbody", {}, rows)));
}

function row(name, slot, citations) {
  const others = (slot.alternatives ?? []).map((one) => (one && typeof one === "object" && "value" in one ? one : { value: one }));
  const against = new Set(others.flatMap((one) => one.citations ?? []));
  const own = (slot.citations ?? []).filter((n) => !against.has(n));
  const also = others.map((one) => element("div", {}, element("span", { class: "quiet" }, "but also: "), value(one.value), " ", markers(one.citations ?? [], citations)));
  const missing = slot.status === "missing";
  const told = missing ? element("span", { class: "quiet" }, "not found") : [value(slot.value), " ", markers(own, citations)];
  return element("tr", { class: slot.status }, said(spaced(name), "th", { scope: "row" }), element("td", {}, told, also), element("td", { class: "quiet" }, certainty(slot)));
}

function certainty({ status, confidence }) {
  if (status === "conflict") return element("span", { class: "mark partial" }, "in conflict");
  return status === "filled" && confidence != null ? `confidence ${confidence.toFixed(2)}` : "";
}

/** A JSON value: lists as lists, objects as terms and what they are. */
function value(one) {
  if (Array.isArray(one)) return element("ul", {}, one.map((inner) => element("li", {}, value(inner))));
  if (one === null || typeof one !== "object") return said(scalar(one));
  return element("dl", {}, Object.entries(one).map(([key, inner]) => [said(spaced(key), "dt"), element("dd", {}, value(inner))]));
}

// --- what stands behind it -----------------------------------------------------------------------

function sources(citations) {
  const numbers = [...new Set(citations.map((one) => one.id))];
  const items = numbers.map((n) => source(n, citations.filter((one) => one.id === n)));
  return section("sources", "Sources", items.length && element("ol", { class: "sources" }, items));
}

function source(n, quoted) {
  const [first] = quoted;
  const read = first.via === "page" ? `read ${when(first.retrieved_at)}` : "only the search's snippet";
  const about = [site(first.url) || first.url, worth(first.credibility), read].filter(Boolean).join(" · ");
  const once = quoted.filter((one, i) => quoted.findIndex((other) => other.quote === one.quote) === i);
  const quotes = once.map((one) => element("div", { class: "quoted" }, quote(one)));
  return element("li", { id: `source-${n}` }, element("span", { class: "number" }, `[${n}]`), link(first.url, first.title || first.url, { class: "title" }), said(about, "p", { class: "quiet" }), quotes);
}

/** What the run was and took, and who did not answer. */
export function method(answer) {
  const { run, sources: pages, usage, report: told } = answer;
  const read = `${count(pages.found, "page")} found, ${pages.read} read, ${pages.blocked} blocked, ${pages.failed} not readable`;
  const lines = [
    ["Status", STATUSES[answer.status] + (answer.degraded ? "; something stood in for what was asked for" : "")],
    ["Strategy", run && strategy(run.strategy)],
    ["Searches", told?.methodology?.searches.join("; ")],
    ["Models", run?.models.join(", ")],
    ["Search", run?.providers.join(", ")],
    ["Sources", read],
    ["Spent", spend(usage).join(", ") + (usage.input_tokens ? `, ${count(usage.input_tokens + usage.output_tokens, "token")}` : "")],
    ["Run", run?.id],
    ["Journal", run?.journal],
  ].filter(([, words]) => words);
  const failed = answer.attempts.filter((one) => !["ok", "empty"].includes(one.outcome));
  const refused = failed.map((one) => said(`${one.what} ${one.provider}: ${[one.detail || spaced(one.outcome), one.remedy].filter(Boolean).join(" · ")}`, "li"));
  return element(
    "details", { id: "method" },
    element("summary", {}, "How it was done"),
    element("dl", { class: "labelled" }, lines.map(([name, words]) => [element("dt", {}, name), said(words, "dd")])),
    refused.length ? [element("h4", {}, "Did not answer"), element("ul", { class: "notes" }, refused)] : null,
  );
}
