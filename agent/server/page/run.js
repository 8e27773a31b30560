// A run as the page knows it: a value that changes as a whole. No element is touched here.
import { stepLabel } from "/ui/labels.js";

/** A run: its name and its summary. */
export const newRun = (name, summary) => withSummary({ name, cancelling: false }, summary);

/** A run with its summary and, once it has ended, its answer. */
export const withSummary = (run, summary) => ({
  ...run,
  question: summary.answer?.topic || summary.question,
  step: stepLabel(summary.step) || run.step || "Planning",
  usage: summary.usage,
  maxUsd: summary.max_usd,
  slots: summary.slots,
  activity: summary.activity,
  cancelled: summary.cancelled,
  queued: summary.state === "queued",
  isCheck: summary.is_check,
  answer: summary.answer,
  outcome: summary.outcome,
  html: summary.html,
  ended: Boolean(summary.outcome),
  lost: false, // the connection
});

/** What a run does now, in words. */
export function stepText(run) {
  if (run.cancelling) return "Cancelling: what was read is kept";
  if (run.queued) return "Waiting in the queue";
  if (run.activity.waits) return run.activity.waits.replace(/ s$/, "\u00a0s");
  const read = run.activity.pages.filter(({ state }) => state === "read").length;
  return run.step === "Reading pages" && read ? `Reading pages: ${read} so far` : run.step;
}
