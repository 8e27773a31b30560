// How an answer was checked: a line for each step that ran, and for what was not judged.
import { element, folded, icon, section, textElement } from "/ui/element.js";
import { formatCount } from "/ui/labels.js";
import { claimsOf } from "/ui/run.js";

const DROPPED = /^Left out|were left out/; // a warning about a sentence that was dropped
/** Warnings that the page tells in its own words, in another place. */
const TOLD =
  /^(Not found: |The sources disagree|The budget is |No model was used|Not read for their low)/;

/** What was checked, and how; and warnings. */
export function checkSection(answer) {
  const lines = [
    ...quoteLines(answer),
    ...claimLines(answer),
    comparedLine(answer),
    ...droppedLines(answer),
  ];
  const items = lines.map(([shape, text]) =>
    element("li", { class: shape }, icon(shape), textElement(text)),
  );
  const list = answer.citations.length ? element("ul", { class: "checks" }, items) : null;
  return section("checked", "How it was checked", "", list);
}

/** What else the run noted, folded: it is for those who want to know. */
export function notedElement({ warnings }) {
  const told = warnings.filter((text) => !DROPPED.test(text) && !TOLD.test(text));
  if (!told.length) return null;
  const items = told.map((text) => textElement(text, "li"));
  const fold = folded(`Noted by the run: ${told.length}`, element("ul", { class: "items" }, items));
  fold.classList.add("noted");
  return fold;
}

/** How many sentences were left out. */
export const countDropped = ({ warnings }) =>
  warnings.filter((text) => /^Left out/.test(text)).length +
  Number(warnings.join("\n").match(/^(\d+) more were left out/m)?.[1] ?? 0);

function quoteLines({ citations }) {
  const exact = citations.filter(({ match }) => match === "exact").length;
  const loose = citations.length - exact;
  const quotes =
    exact === 1 ? "1 quote stands on its page" : `${exact} quotes stand on their pages`;
  const others = `${formatCount(loose, "quote")} ${loose === 1 ? "differs" : "differ"} from the page in case, spaces or signs only.`;
  return [
    ...(exact ? [["check", `${quotes}, letter by letter.`]] : []),
    ...(loose ? [["half", others]] : []),
  ];
}

function claimLines(answer) {
  const claims = claimsOf(answer);
  const of = (verdict) => claims.filter((claim) => claim.verdict === verdict);
  const supported = of("supported");
  const proved = supported.filter(({ by }) => by === "rule").length;
  const computed = supported.filter(({ by }) => by === "calculation").length;
  const names = supported.map(({ by }) => by);
  const judges = [...new Set(names)].filter((by) => by && !["rule", "calculation"].includes(by));
  const judged = supported.length - proved - computed;
  const one = (count, single, many) =>
    `${formatCount(count, "sentence")} ${count === 1 ? single : many}`;
  return [
    proved && [
      "check",
      `${one(proved, "is its page’s own", "are their pages’ own")}, word for word.`,
    ],
    computed && [
      "check",
      `${one(computed, "follows", "follow")} from quoted numbers, computed again.`,
    ],
    judged && [
      "check",
      `A second reading by ${judges.join(", ") || "a model"} found ${one(judged, "said by its", "said by their")} quotes.`,
    ],
    of("partial").length && [
      "half",
      `${one(of("partial").length, "is", "are")} confirmed in part.`,
    ],
    of("unchecked").length && [
      "open",
      `Not judged: ${formatCount(of("unchecked").length, "sentence")}; no second reading was made.`,
    ],
    of("unsupported").length && [
      "cross",
      `${one(of("unsupported").length, "is", "are")} not confirmed.`,
    ],
    of("contradicted").length && [
      "cross",
      `${one(of("contradicted").length, "is", "are")} contradicted by the quotes.`,
    ],
    ["open", "Not judged: whether the pages themselves are right."],
  ].filter(Boolean);
}

/** Whether values of several sources were compared: nothing is said of a step that did not run. */
function comparedLine({ slots, citations }) {
  const compared = Object.values(slots).filter((slot) => (slot.citations ?? []).length > 1).length;
  if (compared) return ["check", `${formatCount(compared, "fact")} compared across sources.`];
  const isAlone = new Set(citations.map(({ id }) => id)).size < 2;
  return [
    "open",
    isAlone ? "One source alone: nothing to compare it with." : "Sources were not compared.",
  ];
}

const droppedLines = ({ warnings }) =>
  warnings
    .filter((warning) => DROPPED.test(warning))
    .map((warning) => ["cross", warning.replace(/^Left out, n/, "Left out: n")]);
