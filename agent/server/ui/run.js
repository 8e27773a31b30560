// A run as the page knows it: a value that grows by frames. No element is touched here.
import { activityLabel } from "/ui/labels.js";

const END_TYPES = new Set(["report", "answer", "end"]); // types of frames that are no step

/** A run with its name, and what a summary of it says. */
export const newRun = (name, summary = {}) => ({
  name,
  question: summary.question ?? "",
  queued: summary.state === "queued",
  activity: summary.state === "queued" ? "Waiting for room" : "Beginning",
  frames: [],
  steps: [],
  slots: summary.slots ?? {},
  usage: summary.usage ?? null,
  answer: null,
  cancelling: false,
  cancelled: false,
  lost: false, // the connection is
  ended: false,
  replaying: false,
});

/** The run with one more frame. */
export function withFrame(run, frame) {
  const { type, detail } = frame;
  const next = { ...run, frames: [...run.frames, frame], queued: false };
  if (!END_TYPES.has(type)) next.steps = [...run.steps, { type, detail }];
  if (type === "slot") next.slots = { ...run.slots, ...parseSlot(detail) };
  return { ...next, activity: type === "end" ? "Fetching the answer" : activityLabel(type) };
}

/** The run with the usage and the slots of a summary. */
export const withSummary = (run, { usage, slots, cancelled, state }) => ({
  ...run,
  usage,
  slots: Object.keys(slots).length ? slots : run.slots,
  cancelled,
  queued: state === "queued",
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

/** The run before its first frame, for a replay: its slots have no values yet. */
export function forReplay(run) {
  const names = Object.keys(run.slots);
  const slots = Object.fromEntries(names.map((name) => [name, { value: null, status: "missing" }]));
  return { ...newRun(run.name), question: run.question, slots, replaying: true };
}

/** The slot of a frame's detail: `winner: Argentina (in conflict)`. */
function parseSlot(detail) {
  const [name, text = ""] = detail.split(/: (.*)/s);
  if (text === "missing") return { [name]: { value: null, status: "missing" } };
  const value = text.replace(/ \(in conflict\)$/, "");
  return { [name]: { value, status: value === text ? "filled" : "conflict" } };
}
