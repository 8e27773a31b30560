// A run as the page knows it: a value that grows by frames. No element is touched here.
import { now } from "/ui/words.js";

const UNSEEN = new Set(["report", "answer", "end"]); // they are the end, not a step on the way

/** A run of which nothing is known but its name. */
export const begun = (name, summary = {}) => ({
  name,
  question: summary.question ?? "",
  queued: summary.state === "queued",
  now: summary.state === "queued" ? "Waiting for room" : "Beginning",
  frames: [],
  steps: [],
  slots: summary.slots ?? {},
  usage: summary.usage ?? null,
  answer: null,
  cancelling: false,
  cancelled: false,
  lost: false,
  ended: false,
  replaying: false,
});

/** The run with one more frame. */
export function grown(run, frame) {
  const next = { ...run, frames: [...run.frames, frame], queued: false };
  if (!UNSEEN.has(frame.type)) next.steps = [...run.steps, { type: frame.type, detail: frame.detail }];
  if (frame.type === "slot") next.slots = { ...run.slots, ...known(frame.detail) };
  if (frame.type === "end") return { ...next, now: "Fetching the answer" };
  return { ...next, now: now(frame.type) };
}

/** The run with what the server says of it: what it spent, what it knows. */
export const informed = (run, { usage, slots, cancelled, state }) => ({
  ...run,
  usage,
  slots: Object.keys(slots).length ? slots : run.slots,
  cancelled,
  queued: state === "queued",
});

/** The run with its answer. */
export const finished = (run, answer) => ({
  ...run,
  answer,
  ended: true,
  cancelling: false,
  lost: false,
  question: answer.topic || run.question,
  slots: answer.slots,
  usage: answer.run ? answer.usage : run.usage,
});

/** The run before its first frame, to be played again; its facts are not known yet. */
export function rewound(run) {
  const names = Object.keys(run.slots);
  const slots = Object.fromEntries(names.map((name) => [name, { value: null, status: "missing" }]));
  return { ...begun(run.name), question: run.question, slots, replaying: true };
}

/** `winner: Argentina (in conflict)` as a slot. */
function known(detail) {
  const [name, told = ""] = detail.split(/: (.*)/s);
  if (told === "missing") return { [name]: { value: null, status: "missing" } };
  const value = told.replace(/ \(in conflict\)$/, "");
  return { [name]: { value, status: value === told ? "filled" : "conflict" } };
}
