// What the page says of a run, in words.

export const STATUSES = {
  complete: "Complete",
  partial: "Partial: stopped early",
  insufficient: "The sources do not say",
  error: "No answer",
};

/** What is said after a sentence; nothing where its quotes confirm it. */
export const MARKS = { partial: "partly confirmed", unsupported: "not confirmed", unchecked: "not checked" };

const STEPS = {
  start: "Began", plan: "Plan", thinking: "Thought", search: "Search", fetch: "Page",
  block: "Blocked", gaps: "Missing", slot: "Fact", error: "Error",
};
const NOW = {
  start: "Planning what to search", plan: "Searching", search: "Searching", fetch: "Reading pages",
  block: "Reading pages", slot: "Writing the answer", gaps: "Searching for what is missing",
  thinking: "Thinking", report: "Writing the answer", answer: "Writing the answer",
};
const TASKS = {
  generate_queries: "planned the searches", plan: "planned the research", reflect: "looked for what is missing",
  gaps: "looked for what is missing", synthesize: "wrote the answer", draft: "wrote the report",
  verify: "checked the sentences", mend: "mended sentences", decide: "chose the next step",
  gather: "chose what to search and read", browse: "read for what helps",
};
const STRATEGIES = {
  auto: "Automatic", slots: "Short answer", report: "Report", loop: "Step by step",
};
const DEPTHS = { quick: "Quick", normal: "Normal", deep: "Deep" };

export const strategy = (name) => STRATEGIES[name] ?? spaced(name);
export const depth = (name) => DEPTHS[name] ?? spaced(name);
export const step = (type) => STEPS[type] ?? type;
export const now = (type) => NOW[type] ?? "Working";
/** A name as words: `goals[0].own_goal` is `goals 1 own goal`. */
export const spaced = (name) => String(name).replaceAll("_", " ").replace(/\[(\d+)\]\.?/g, (_, n) => ` ${Number(n) + 1} `).trim();
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** A step as a person reads it: a model's task by what it did. */
export function detail(type, text) {
  const [task, model] = type === "thinking" ? text.split(/: (.*)/s) : [];
  if (!TASKS[task]) return text;
  return `${model === "extractive" ? "Without a model" : model}: ${TASKS[task]}`;
}

/** What a run has spent. */
export function spend(usage) {
  if (!usage) return [];
  const price = usage.usd == null ? "price not known" : usage.usd ? `$${usage.usd.toFixed(4)}` : "";
  const parts = [
    count(usage.searches, "search", "searches"),
    count(usage.pages, "page"),
    usage.llm_calls ? count(usage.llm_calls, "model call") : "",
    usage.llm_calls ? price : "",
    `${usage.seconds < 10 ? usage.seconds.toFixed(1) : Math.round(usage.seconds)}\u00a0s`,
  ];
  return parts.filter(Boolean);
}

/** How far a source may be trusted. */
export function worth(credibility) {
  const { score, reason } = credibility;
  const level = score > 0.7 ? "high" : score > 0.5 ? "fair" : "low";
  return `${level} credibility, ${score.toFixed(2)}${reason ? `: ${reason}` : ""}`;
}

/** A time as the reader's own clock has it. */
export function when(time) {
  const at = new Date(time);
  const today = at.toDateString() === new Date().toDateString();
  const form = today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
  return Number.isNaN(+at) ? "" : new Intl.DateTimeFormat(undefined, form).format(at);
}

/** A JSON value that is no list and no object. */
export function scalar(value) {
  if (value === true || value === false) return value ? "yes" : "no";
  return value == null ? "not found" : String(value);
}
