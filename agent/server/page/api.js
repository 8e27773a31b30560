// Requests to the server. A failure is a Problem: what happened, and what to do about it.

const NO_ANSWER = "The server does not answer.";
const RETRY_DELAYS = [500, 1000, 2000, 4000, 8000]; // ms

export class Problem extends Error {
  /** `status` is that of the response, 0 where there is none. */
  constructor(message, remedy = "", status = 0) {
    super(message);
    this.remedy = remedy;
    this.status = status;
  }
}

/** The access token, which this tab keeps. */
export const token = {
  get: () => sessionStorage.getItem("token") ?? "",
  // A header can carry no other characters.
  set: (value) => sessionStorage.setItem("token", value.replace(/[^!-~]/g, "")),
};

/** Send a request; its response is good. Throws Problem. */
export async function request(path, { body, headers = {}, ...options } = {}) {
  const sent = { ...headers };
  if (token.get()) sent.Authorization = `Bearer ${token.get()}`;
  const isForm = body instanceof FormData; // the browser sets its content type
  if (body && !isForm) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      ...options,
      headers: sent,
      body: isForm ? body : body && JSON.stringify(body),
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(NO_ANSWER, "Is it still running? Start it again, then reload this page.");
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** The JSON of a response. Throws Problem. */
export async function fetchJson(path, options) {
  const response = await request(path, options);
  return response.json();
}

/** The address of a run in the API. */
export const runPath = (name) => `/api/runs/${encodeURIComponent(name)}`;

/** Begin a run that goes on without a client; returns its name. */
export const beginRun = (question) => begin("/api/research/stream", { ...question, detach: true });

/** Begin to check a report; returns the name of the run. */
export const beginCheck = (report) => begin("/api/check/stream", { ...report, detach: true });

/** Ask on about the answer of a run; returns the name of the new run. */
export const askOn = (name, question) =>
  begin(`${runPath(name)}/follow`, { ...question, detach: true });

async function begin(path, body) {
  const connection = new AbortController();
  const headers = { Accept: "text/event-stream" }; // the name comes first, the answer later
  const { signal } = connection;
  const response = await request(path, { method: "POST", headers, body, signal });
  const name = response.headers.get("X-Run-ID");
  if (!name) return (await response.json()).id;
  connection.abort(); // the run is followed by its name, as after a reload
  return name;
}

/** The result of requests that are repeated as long as the server does not answer. */
export async function retryUntilAnswered(sendRequests, signal, onConnection) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await sendRequests();
    } catch (error) {
      if (!(error instanceof Problem) || error.status) throw error;
    }
    onConnection(true);
    await pauseBeforeRetry(attempt, signal);
  }
}

const pauseBeforeRetry = (attempt, signal) =>
  pause(RETRY_DELAYS[Math.min(attempt, RETRY_DELAYS.length - 1)], signal);

/** Wait for so many milliseconds. Throws AbortError where the signal aborts it. */
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    const stop = () => {
      clearTimeout(timer);
      reject(new DOMException("left", "AbortError"));
    };
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** The problem of a response that is not good, in words. */
async function problemOf(response) {
  const { status } = response;
  const body = await response.json().catch(() => ({}));
  const seconds = Number(response.headers.get("Retry-After")) || 5;
  const remedies = {
    401: "Whoever started the server has the token.",
    404: "It may have been removed. Ask again, or choose another.",
    429: `Ask again in ${seconds} seconds.`,
  };
  const message = status === 401 ? tokenFault() : formatDetail(body.detail);
  const remedy = body.error?.remedy || body.remedy || remedies[status] || "";
  return new Problem(message || `The server answered ${status}.`, remedy, status);
}

const tokenFault = () =>
  token.get() ? "This access token is not the server's." : "This server wants an access token.";

/** The `detail` of an error: a text, or the faults of a body with their places. */
function formatDetail(detail) {
  if (!Array.isArray(detail)) return typeof detail === "string" ? detail : "";
  const place = (fault) => fault.loc?.slice(1).join(" ") || "request";
  return detail.map((fault) => `${place(fault)}: ${fault.msg}`).join("; ");
}
