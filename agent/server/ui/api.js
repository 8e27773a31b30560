// Asking the server. What goes wrong is a Problem: what happened, and what to do about it.

const GONE = "The server does not answer.";
const WAITS = [500, 1000, 2000, 4000, 8000]; // ms before a broken stream is taken up again

export class Problem extends Error {
  constructor(message, remedy = "", status = 0) {
    super(message);
    Object.assign(this, { remedy, status });
  }
}

/** The token of this tab, where the server wants one. */
export const token = {
  get: () => sessionStorage.getItem("token") ?? "",
  set: (value) => sessionStorage.setItem("token", value.replace(/[^!-~]/g, "")), // a header carries no more
};

/** A response that is good; else throws Problem. */
export async function ask(path, { body, headers = {}, ...more } = {}) {
  const sent = { ...headers };
  if (token.get()) sent.Authorization = `Bearer ${token.get()}`;
  if (body) sent["Content-Type"] = "application/json";
  const request = { ...more, headers: sent, body: body && JSON.stringify(body), cache: "no-store" };
  let response;
  try {
    response = await fetch(path, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(GONE, "Is it still running? Start it again, then reload this page.");
  }
  if (!response.ok) throw await problem(response);
  return response;
}

export const told = async (path, more) => (await ask(path, more)).json();

/** Begin a run that goes on without us; its name. */
export async function begin(given) {
  const leaving = new AbortController();
  const body = { ...given, detach: true };
  const response = await ask("/api/research/stream", { method: "POST", body, signal: leaving.signal });
  leaving.abort(); // it is followed by its name, as after a reload
  return response.headers.get("X-Run-ID");
}

/**
 * The frames of a run, from its first to `end`. A stream that breaks is taken up where it broke;
 * `lost` is told so, and that it is back. Throws Problem where there is no such run.
 */
export async function* follow(name, signal, lost = () => {}) {
  let after = 0;
  for (let tries = 0; ; tries += 1) {
    try {
      const headers = { "Last-Event-ID": String(after) };
      const response = await ask(`/api/runs/${encodeURIComponent(name)}/events`, { headers, signal });
      lost(false);
      if (response.status === 204) return;
      for await (const frame of events(response.body)) {
        after = frame.n;
        tries = 0;
        yield frame;
        if (frame.type === "end") return;
      }
    } catch (error) {
      if (error.name === "AbortError" || (error instanceof Problem && error.status)) throw error;
    }
    lost(true);
    await pause(WAITS[Math.min(tries, WAITS.length - 1)], signal);
  }
}

/** What some requests bring, made again as long as nobody answers; `lost` is told so. */
export async function insist(work, signal, lost) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Problem) || error.status) throw error;
    }
    lost(true);
    await pause(WAITS[Math.min(tries, WAITS.length - 1)], signal);
  }
}

/** Server-sent events of a body, as frames. */
async function* events(body) {
  let text = "";
  for await (const piece of pieces(body.pipeThrough(new TextDecoderStream()))) {
    const blocks = (text + piece).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.match(/^data: (.*)$/m);
      if (data) yield { n: Number(block.match(/^id: (\d+)$/m)?.[1] ?? 0), ...JSON.parse(data[1]) };
    }
  }
}

/** What a stream holds; Safari's are not iterable. */
async function* pieces(stream) {
  const reader = stream.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
}

export function pause(milliseconds, signal) {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, milliseconds);
    const stop = () => (clearTimeout(timer), fail(new DOMException("left", "AbortError")));
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** What a response that is not good says, in words. */
async function problem(response) {
  const said = await response.json().catch(() => ({}));
  const after = Number(response.headers.get("Retry-After")) || 5;
  const remedies = {
    401: "Whoever started the server has the token.",
    404: "It may have been removed. Ask again, or choose another.",
    429: `Ask again in ${after} seconds.`,
  };
  const wants = token.get() ? "This access token is not the server's." : "This server wants an access token.";
  const asks = response.status === 401 ? wants : words(said.detail);
  const remedy = said.error?.remedy || said.remedy || remedies[response.status] || "";
  return new Problem(asks || `The server answered ${response.status}.`, remedy, response.status);
}

function words(detail) {
  if (!Array.isArray(detail)) return typeof detail === "string" ? detail : "";
  return detail.map((one) => `${one.loc?.slice(1).join(" ") || "request"}: ${one.msg}`).join("; ");
}
