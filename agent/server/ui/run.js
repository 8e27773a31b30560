// A run as the page knows it: a value that changes as a whole. No element is touched here.
import { checkOutcome } from "/ui/check.js";
import { activityLabel } from "/ui/labels.js";

const NO_ACTIVITY = { queries: [], pages: [], found: [], facts: {}, contexts: [], copies: {} };

/** A run with its name, and what a summary of it says. */
export const newRun = (name, summary) =>
  withSummary(
    {
      name,
      question: summary.question ?? "",
      step: "Planning",
      answer: null,
      cancelling: false,
      lost: false, // the connection is
      ended: false,
    },
    summary,
  );

/** The run with one more frame. */
export const withFrame = (run, frame) => ({
  ...run,
  queued: false,
  step: activityLabel(frame) || run.step,
});

/** The run with what a summary of it says. */
export const withSummary = (run, summary) => ({
  ...run,
  usage: summary.usage,
  maxUsd: summary.max_usd,
  slots: summary.slots,
  activity: { ...NO_ACTIVITY, ...summary.activity },
  cancelled: summary.cancelled,
  queued: summary.state === "queued",
  isCheck: summary.is_check,
  told: summary.answer?.report ?? "", // of a check: what came of it, in lines
});

/** The run with its answer. */
export const withAnswer = (run, answer) => ({
  ...run,
  answer,
  ended: true,
  cancelling: false,
  lost: false,
  question: answer.topic || run.question,
  slots: answer.slots,
  usage: answer.run ? answer.usage : run.usage,
});

/** What a run does now, in words. */
export function stepText(run) {
  if (run.cancelling) return "Cancelling: what was read is kept";
  if (run.queued) return "Waiting for room";
  const read = run.activity.pages.filter(({ state }) => state === "read").length;
  return run.step === "Reading pages" && read ? `Reading pages: ${read} so far` : run.step;
}

/** How a run ended: words, an icon, a class, and a sentence about it where one is needed. */
export function outcomeOf(run) {
  const { answer } = run;
  if (run.cancelled) return { text: "Stopped by you", icon: "dash", tone: "quiet" };
  if (answer.check && !answer.error) return checkOutcome(run);
  if (answer.error) return { text: "No answer", icon: "cross", tone: "bad" };
  if (answer.status === "insufficient") return insufficientOutcome(answer);
  if (disputesOf(answer).length) return { text: "Sources disagree", icon: "differ", tone: "warn" };
  if (isStandIn(answer)) {
    const text = "The model did not answer: these are quoted sentences";
    return { text, icon: "half", tone: "warn" };
  }
  const limit = limitOf(answer);
  if (limit) return { text: limit, icon: "half", tone: "warn" };
  const claims = claimsOf(answer);
  const isWhole = answer.status === "complete" && !answer.degraded;
  if (!isWhole) return { text: "Answered in part", icon: "half", tone: "warn" };
  if (claims.some(({ verdict }) => verdict !== "supported")) {
    return { text: "Answered, not all of it judged", icon: "half", tone: "quiet" };
  }
  return { text: "Answered", icon: "check", tone: "ok" };
}

function insufficientOutcome(answer) {
  if (answer.sources.read) return { text: "Not found", icon: "open", tone: "warn" };
  const text = limitOf(answer) ? "Stopped: nothing was read" : "Nothing was found to read";
  return { text, icon: "dash", tone: "warn" };
}

/** Whether quoted sentences stand in for a model that was to answer. */
const isStandIn = ({ degraded, run }) => degraded && run?.models.includes("extractive");

/** Which limit ended the run early, or "". */
function limitOf({ warnings }) {
  const [, cap] = warnings.join("\n").match(/^The budget is .*\(--max-(\w+)/m) ?? [];
  if (!cap) return "";
  return cap === "seconds" ? "Time limit reached" : "Spending limit reached";
}

/** Whether an answer is made of quoted sentences: no model wrote it. */
export const isQuoted = ({ run }) => run?.models.join() === "extractive";

/** The claims of an answer and its report. */
export const claimsOf = ({ claims, report }) => [
  ...claims,
  ...(report?.sections ?? []).flatMap(({ sentences }) => sentences),
];

/** Each disagreement: a name and the values, each with the numbers of its sources. */
export const disputesOf = ({ slots }) =>
  Object.entries(slots)
    .filter(([, { status }]) => status === "conflict")
    .map(([name, slot]) => ({ name, values: valuesOf(slot) }));

/** The values of a slot, in the order of their citations; each source stands for one of them. */
export function valuesOf(slot) {
  const others = (slot.alternatives ?? []).map(toAlternative);
  const opposed = new Set(others.flatMap(({ citations }) => citations));
  const own = (slot.citations ?? []).filter((number) => !opposed.has(number));
  const value = nameThing(slot.value, slot.of);
  const values = slot.value == null ? others : [{ value, citations: own }, ...others];
  const first = ({ citations }) => citations[0] ?? Number.POSITIVE_INFINITY;
  return values.toSorted((a, b) => first(a) - first(b));
}

/** An alternative as an object; a bare value has no citations. */
const toAlternative = (one) =>
  one && typeof one === "object" && "value" in one
    ? { value: nameThing(one.value, one.of), citations: one.citations ?? [] }
    : { value: one, citations: [] };

/** A value with what it is of, where sources tell of several things of one name. */
const nameThing = (value, of) => (of ? `${value} (${of})` : value);
