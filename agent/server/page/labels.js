// Words and formats: how the page names and writes what the server sends.
const STEPS = {
  start: "Planning",
  plan: "Searching",
  search: "Searching",
  fetch: "Reading pages",
  block: "Reading pages",
  slot: "Checking the quotes",
  gaps: "Searching for what is missing",
  report: "Finishing",
  answer: "Finishing",
  reflect: "Checking the quotes",
  synthesize: "Checking the quotes",
  section: "Checking the quotes",
  summary: "Checking the quotes",
  verify: "Finishing",
};
const SERVICES = {
  serpapi: "Google through SerpAPI",
  serper: "Google through Serper",
  google: "Google through Gemini",
  exa: "Exa",
  tavily: "Tavily",
  duckduckgo: "DuckDuckGo",
  wikipedia: "Wikipedia",
  searxng: "SearXNG",
  corpus: "your documents",
  demo: "the documents of the demo",
};

export const serviceLabel = (name) => SERVICES[name] ?? name;

/** What a run does after an event, or after a model has done a task. */
export const stepLabel = (name) => STEPS[name] ?? "";

/** The kind of answer of an example or a run, as the form names it. */
export function wayLabel({ strategy, slots = [] }) {
  if (strategy === "report") return "Report";
  if (slots.length) return "Facts";
  return strategy === "loop" ? "Step by step" : "Quick answer";
}

/** A name as words: `goals[0].own_goal` is `goals 1 own goal`. */
export const spacedName = (name) =>
  String(name)
    .replaceAll("_", " ")
    .replace(/\[(\d+)\]\.?/g, (_, index) => ` ${Number(index) + 1} `)
    .trim();

/** The same as the beginning of a line. */
export function headName(name) {
  const words = spacedName(name);
  return words.charAt(0).toLocaleUpperCase() + words.slice(1);
}

/** A number with its noun: `1 page`, `2 pages`. */
export const formatCount = (number, noun, plural = `${noun}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;

/** What was used: `7 pages · 21 s · $0.003`. */
export function formatUsage(usage, maxUsd = null) {
  if (!usage) return "";
  const limit = maxUsd == null ? "" : ` of at most ${formatDollars(maxUsd)}`;
  const cost = usage.llm_calls || usage.usd ? `${formatCost(usage.usd)}${limit}` : "";
  return [formatCount(usage.pages, "page"), formatSeconds(usage.seconds), cost]
    .filter(Boolean)
    .join(" · ");
}

const formatCost = (usd) => (usd == null ? "price unknown" : formatDollars(usd));

/** Dollars with as many digits as mean something. */
export function formatDollars(usd) {
  if (!usd) return "free";
  return usd < 0.01
    ? `$${usd.toPrecision(1)}`
    : `$${usd.toFixed(usd < 1 ? 3 : 2).replace(/0$/, "")}`;
}

export function formatSeconds(seconds) {
  if (seconds >= 90) return `${Math.round(seconds / 60)}\u00a0min`;
  return `${seconds < 10 ? Number(seconds.toFixed(1)) : Math.round(seconds)}\u00a0s`;
}

/** Time and price of a kind of answer: `2 to 40 s, at most $0.02`. */
export function formatPrice(price) {
  if (!price) return "";
  const { seconds, usd } = price;
  const [least, most] = [seconds.min, seconds.max].map(formatRound);
  const [amount, unit] = least.split("\u00a0");
  const from = most.endsWith(`\u00a0${unit}`) ? amount : least;
  const time = seconds.max <= 3 ? "A few seconds" : `${from} to ${most}`;
  if (!usd) return `${time}, price unknown`;
  return usd.max ? `${time}, at most ${formatDollars(usd.max)}` : `${time}, free`;
}

const formatRound = (seconds) => formatSeconds(Math.max(1, Math.round(seconds)));

/** A time in the reader's time zone and language; "" for none. */
export function formatTime(time) {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date().toDateString();
  const style = isToday ? { timeStyle: "short" } : { dateStyle: "medium" };
  return Number.isNaN(+date) ? "" : new Intl.DateTimeFormat(undefined, style).format(date);
}

/** A JSON value that is neither a list nor an object. */
export function formatScalar(value) {
  if (value === true || value === false) return value ? "yes" : "no";
  return value == null ? "not found" : String(value);
}
