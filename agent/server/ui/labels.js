// Labels and formats: how the page names and writes what the server sends.

export const STATUSES = {
  complete: "Complete",
  partial: "Partial: not all is found and confirmed",
  insufficient: "The sources do not say",
  error: "No answer",
};

const STEPS = {
  start: "Began",
  plan: "Plan",
  thinking: "Thought",
  search: "Search",
  fetch: "Page",
  block: "Blocked",
  gaps: "Missing",
  slot: "Fact",
  error: "Error",
};
/** What a run does after a frame of a type. */
const ACTIVITIES = {
  start: "Planning what to search",
  plan: "Searching",
  search: "Searching",
  fetch: "Reading pages",
  block: "Reading pages",
  slot: "Writing the answer",
  gaps: "Searching for what is missing",
  thinking: "Thinking",
  report: "Writing the answer",
  answer: "Writing the answer",
};
/** What a model did in a task. */
const TASKS = {
  generate_queries: "planned the searches",
  plan: "planned the research",
  reflect: "looked for what is missing",
  gaps: "looked for what is missing",
  synthesize: "wrote the answer",
  draft: "wrote the report",
  verify: "checked the sentences",
  mend: "mended sentences",
  decide: "chose the next step",
  gather: "chose what to search and read",
  browse: "read for what helps",
};
const STRATEGIES = {
  auto: "Automatic",
  slots: "Short answer",
  report: "Report",
  loop: "Step by step",
};
const DEPTHS = { quick: "Quick", normal: "Normal", deep: "Deep" };

export const strategyLabel = (name) => STRATEGIES[name] ?? spacedName(name);
export const depthLabel = (name) => DEPTHS[name] ?? spacedName(name);
export const stepLabel = (type) => STEPS[type] ?? type;
export const activityLabel = (type) => ACTIVITIES[type] ?? "Working";

/** A name as words: `goals[0].own_goal` is `goals 1 own goal`. */
export const spacedName = (name) =>
  String(name)
    .replaceAll("_", " ")
    .replace(/\[(\d+)\]\.?/g, (_, index) => ` ${Number(index) + 1} `)
    .trim();

/** A number with its noun: `1 page`, `2 pages`. */
export const formatCount = (number, noun, plural = `${noun}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;

/** The detail of a step: of a model's task, what the model did. */
export function formatStepDetail(type, detail) {
  const [task, model] = type === "thinking" ? detail.split(/: (.*)/s) : [];
  if (!TASKS[task]) return detail;
  return `${model === "extractive" ? "Without a model" : model}: ${TASKS[task]}`;
}

/** The usage of a run as a list of words. */
export function formatUsage(usage) {
  if (!usage) return [];
  const parts = [
    formatCount(usage.searches, "search", "searches"),
    formatCount(usage.pages, "page"),
    usage.llm_calls ? formatCount(usage.llm_calls, "model call") : "",
    usage.llm_calls ? formatPrice(usage.usd) : "",
    formatSeconds(usage.seconds),
  ];
  return parts.filter(Boolean);
}

function formatPrice(usd) {
  if (usd == null) return "price not known";
  return usd ? `$${usd.toFixed(4)}` : "";
}

function formatSeconds(seconds) {
  const rounded = seconds < 10 ? seconds.toFixed(1) : Math.round(seconds);
  return `${rounded}\u00a0s`;
}

/** How far a source may be trusted. */
export function formatCredibility({ score, reason }) {
  const note = reason ? `: ${reason}` : "";
  return `${credibilityLevel(score)} credibility, ${score.toFixed(2)}${note}`;
}

function credibilityLevel(score) {
  if (score > 0.7) return "high";
  return score > 0.5 ? "fair" : "low";
}

/** A time in the reader's time zone and language; "" for none. */
export function formatTime(time) {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date().toDateString();
  const style = isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
  return Number.isNaN(+date) ? "" : new Intl.DateTimeFormat(undefined, style).format(date);
}

/** A JSON value that is neither a list nor an object. */
export function formatScalar(value) {
  if (value === true || value === false) return value ? "yes" : "no";
  return value == null ? "not found" : String(value);
}
