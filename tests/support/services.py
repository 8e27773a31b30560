"""Services on loopback that speak the wire formats of Gemini, SerpAPI and the web.

A test sets what they answer. Every request is kept, in order of arrival.
"""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.support.loopback import Loopback
from tests.support.tool_wire import IssuedCalls, ToolResults

GEMINI_KEY = "gemini-secret-key"
SERPAPI_KEY = "serpapi-secret-key"
OPENAI_KEY = "openai-secret-key"
ANTHROPIC_KEY = "anthropic-secret-key"


class Raw(NamedTuple):
    """An HTTP response as it is sent; `status` 0 closes the connection without one.

    `delay`: seconds before it, but none once the test is over.
    """

    status: int
    body: str
    headers: dict[str, str] = {}
    delay: float = 0.0


class ModelRequest(NamedTuple):
    """A request to a model: its task (known by the schema), its prompts and its tool results."""

    task: str
    model: str
    system: str
    prompt: str
    results: ToolResults = ()  # for each turn so far
    fields: tuple[str, ...] = ()  # of the answer, in the order of its schema


#: What never comes while the test runs.
HANGS = Raw(200, "{}", delay=600.0)
#: A reply: an answer object, text as it is, or raw bytes.
Reply = dict[str, Any] | str | Raw
Think = Callable[[ModelRequest], Reply]


def source_ids(prompt: str) -> dict[int, str]:
    """Return the sources in a prompt: number -> text, unescaped."""
    shown = re.findall(r'<source id="(\d+)"[^>]*>(.*?)</source>', prompt, re.S)
    return {int(n): html.unescape(text) for n, text in shown}


def read_topic(prompt: str) -> str:
    """Return the topic in a prompt, unescaped."""
    found = re.search(r"<topic[^>]*>(.*?)</topic>", prompt, re.S)
    return html.unescape(found[1]) if found else ""


def parse_claims(prompt: str) -> dict[int, tuple[list[int], str]]:
    """Return the claims in a prompt: number -> the sources it cites, and its text unescaped."""
    shown = re.findall(r'<claim id="(\d+)" cites="([\d,]*)">(.*?)</claim>', prompt, re.S)
    return {
        int(n): ([int(c) for c in cites.split(",") if c], html.unescape(text))
        for n, cites, text in shown
    }


def judge_by_names(request: ModelRequest) -> dict[str, Any]:
    """Support a claim if one source that it cites has the last word of it, and all its names."""
    shown = source_ids(request.prompt)
    rows = []
    for n, (cites, text) in parse_claims(request.prompt).items():
        words = re.findall(r"[^\W_]+", text.partition(": ")[2] or text)
        wanted = [word for word in words[1:] if word[0].isupper()] + words[-1:]
        sources = [c for c in cites if all(word in shown.get(c, "") for word in wanted)]
        verdict = "supported" if sources and wanted else "unsupported"
        rows.append({"claim": n, "verdict": verdict, "source": sources[0] if sources else None})
    return {"verdicts": rows}


class Services(Loopback):
    """One server for all services; `think`, `hits` and `pages` set its answers."""

    def __init__(self) -> None:
        self.think: Think = lambda request: Raw(500, "no script")
        self.hits: dict[str, list[str]] | Callable[[str], Any] = {}
        self.pages: dict[str, str | Raw] = {}
        self.redirects: dict[str, str] = {}  # of Google; a name that is not in it: to that page
        self.ground: Callable[[str], Raw | dict[str, Any]] = self.ground_by_hits
        self.grounded_queries: list[str] = []
        self.default_hits: list[str] = []
        self.site = ""  # where pages are, if not here: see the fixture `public`
        self.fault: Callable[[], Raw | None] = lambda: None  # if set, the only reply
        self.latency: Callable[[], float] = lambda: 0.0
        self.models = {  # those that models.get knows, and their methods
            "gemini-3.8-flash": ["generateContent", "countTokens"],
            "gemini-3.5-flash-lite": ["generateContent"],
            "embedding-1": ["embedContent"],
        }
        self.model_requests: list[ModelRequest] = []
        self.bodies: list[dict[str, Any]] = []  # of the model requests
        self.forms: list[str] = []  # how each OpenAI request asks for JSON
        self.openai_forms = {"json_schema", "json_object", "prompt"}  # accepted ones
        self.openai_needs_key = True
        self.openai_takes_tools = True
        self.anthropic_forms = {"format", "prompt"}  # accepted ones, as of the newest models
        self.issued_calls = IssuedCalls()  # the tool calls that models made
        self.posted_paths: list[str] = []  # the paths of model requests
        self.search_queries: list[str] = []
        self.page_requests: list[str] = []
        self._lock = threading.Lock()
        super().__init__(_handler(self))

    def environment(self, folder: Path, **more: str) -> dict[str, str]:
        """Return the environment that directs a run to these services."""
        behind_proxy = {"FETCH_THROUGH_PROXY": "1", "ALLOW_PRIVATE_NETWORK": "0"}
        return {
            "GEMINI_API_KEY": GEMINI_KEY,
            "GOOGLE_GEMINI_BASE_URL": f"{self.base}/gemini",
            "SERPAPI_API_KEY": SERPAPI_KEY,
            "SERPAPI_BASE_URL": f"{self.base}/serpapi",
            "SEARCH_PROVIDERS": "serpapi",
            "LLM_RETRY_WAITS": "0,0,0",
            "ALLOW_PRIVATE_NETWORK": "1",
            "RESEARCH_AGENT_RESPECT_ROBOTS": "0",
            "RUNS_DIR": str(folder / "runs"),
            "CACHE_DIR": str(folder / "cache"),
            **(behind_proxy if self.site else {}),
            **more,
        }

    def url(self, name: str) -> str:
        """Return the URL of a page."""
        return f"{self.site or self.base}/web/{name}"

    def tasks(self) -> list[str]:
        """Return the task of each model request, in order."""
        return [request.task for request in self.model_requests]

    # --- the services' replies -----------------------------------------------------------------

    def redirect(self, name: str) -> str:
        """The URL by which Google's search names a page."""
        return f"{self.base}/grounding-api-redirect/{name}"

    def ground_by_hits(self, query: str) -> dict[str, Any]:
        """A grounded reply that names the pages of `hits`, by one search."""
        found = self.hits(query) if callable(self.hits) else self.hits.get(query)
        names = self.default_hits if found is None else found
        chunks = [{"web": {"uri": self.redirect(name), "title": name}} for name in names]
        return {"groundingChunks": chunks, "webSearchQueries": [query]}

    def google(self, body: dict[str, Any], key: str | None) -> Raw:
        """A generateContent reply with the tool google_search."""
        query = body["contents"][0]["parts"][0]["text"]
        with self._lock:
            self.grounded_queries.append(query)
        if key != GEMINI_KEY:
            return _bad_key_reply()
        grounding = self.ground(query)
        if isinstance(grounding, Raw):
            return grounding
        parts = grounding.pop("parts", [{"text": "What Gemini says."}])
        content = {"parts": parts, "role": "model"}
        candidate = {"content": content, "finishReason": "STOP", "groundingMetadata": grounding}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 50, "thoughtsTokenCount": 50}
        return Raw(200, json.dumps({"candidates": [candidate], "usageMetadata": usage}))

    def gemini(self, model: str, body: dict[str, Any], key: str | None) -> Raw:
        if any("googleSearch" in tool for tool in body.get("tools", ())):
            return self.google(body, key)
        results = self.issued_calls.gemini_results(body["contents"])
        if isinstance(results, str):
            return Raw(400, json.dumps({"error": {"code": 400, "message": results}}))
        request = _parse_request(model, body, results)
        with self._lock:
            self.model_requests.append(request)
        if key != GEMINI_KEY:
            return _bad_key_reply()
        reply = self._reply(request)
        if isinstance(reply, Raw):
            return reply
        if isinstance(reply, dict) and body.get("tools"):
            turn = gemini_reply("", request)
            turn["candidates"][0]["content"]["parts"] = self.issued_calls.gemini_parts(reply)
            return Raw(200, json.dumps(turn), delay=self.latency())
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return Raw(200, json.dumps(gemini_reply(text, request)), delay=self.latency())

    def _reply(self, request: ModelRequest) -> Reply:
        """What the script says; where it says nothing of claims, `judge_by_names` judges them."""
        try:
            reply = self.think(request)
        except (KeyError, StopIteration):
            if request.task != "verify":
                raise
            return judge_by_names(request)
        if request.task == "verify" and isinstance(reply, dict) and "verdicts" not in reply:
            return judge_by_names(request)
        if request.task == "reflect" and "answer" in request.fields and isinstance(reply, dict):
            return self._with_draft(reply, request)
        return reply

    def _with_draft(self, reply: dict[str, Any], request: ModelRequest) -> dict[str, Any]:
        """A reading: what the script says of slots, with the answer that it gives when asked."""
        draft: dict[str, Any] = {"answerable": True, "answer": "", "citations": []}
        if "answer" not in reply:
            with suppress(KeyError, StopIteration):
                written = self.think(request._replace(task="synthesize"))
                draft |= written if isinstance(written, dict) else {}
        both = draft | reply
        return {name: both[name] for name in request.fields if name in both}

    def get(self, path: str, headers: dict[str, str]) -> Raw:
        """Route a GET request."""
        parts = urlsplit(path)
        if parts.path == "/serpapi/search":
            parameters = parse_qs(parts.query)
            return self.serpapi(parameters["q"][0], parameters["api_key"][0])
        if found := re.fullmatch(r"/gemini/v1\w*/models/(.+)", parts.path):
            return self.model(found[1], headers.get("x-goog-api-key"))
        if found := re.fullmatch(r"/grounding-api-redirect/(.+)", parts.path):
            location = self.redirects.get(found[1], self.url(found[1]))
            return Raw(302 if location else 200, "", {"Location": location} if location else {})
        if found := re.fullmatch(r"/anthropic/v1/models/(.+)", parts.path):
            return self.anthropic_model(found[1], headers)
        if parts.path == "/openai/api/ps":  # as Ollama lists what is loaded
            loaded = [{"model": "small:latest", "context_length": 2048}]
            return Raw(200, json.dumps({"models": loaded}))
        if parts.path == "/openai/models":
            return self.openai_models(headers.get("Authorization"))
        return self.page(parts.path.removeprefix("/web/"))

    def model(self, name: str, key: str | None) -> Raw:
        """models.get: whether a model exists."""
        if key != GEMINI_KEY:
            return _bad_key_reply()
        if name not in self.models:
            message = f"models/{name} is not found for API version v1beta"
            error = {"code": 404, "message": message, "status": "NOT_FOUND"}
            return Raw(404, json.dumps({"error": error}))
        actions = {"supportedGenerationMethods": self.models[name]}
        return Raw(
            200,
            json.dumps({"name": f"models/{name}", "inputTokenLimit": 1_048_576, **actions}),
            delay=self.latency(),
        )

    def openai_models(self, authorization: str | None) -> Raw:
        """The list of models."""
        if authorization != (f"Bearer {OPENAI_KEY}" if self.openai_needs_key else None):
            return Raw(401, json.dumps({"error": {"message": f"Bad key {authorization}"}}))
        return Raw(200, json.dumps({"object": "list", "data": [{"id": "gpt-test:latest"}]}))

    def openai(self, body: dict[str, Any], authorization: str | None) -> Raw:
        form = (body.get("response_format") or {}).get("type", "prompt")
        form = "tools" if body.get("tools") else form
        results = self.issued_calls.openai_results(body["messages"])
        if isinstance(results, str):
            return Raw(400, json.dumps({"error": {"message": results}}))
        system, prompt = (message["content"] for message in body["messages"][:2])
        asked = _openai_task(body), body["model"], system, prompt
        request = ModelRequest(*asked, results, _openai_fields(body, prompt))
        with self._lock:
            self.model_requests.append(request)
            self.forms.append(form)
        if authorization != (f"Bearer {OPENAI_KEY}" if self.openai_needs_key else None):
            return Raw(401, json.dumps({"error": {"message": f"Bad key {authorization}"}}))
        if form not in self.openai_forms | ({"tools"} if self.openai_takes_tools else set()):
            return Raw(400, json.dumps({"error": {"message": f"response_format {form}?"}}))
        reply = self._reply(request)
        if isinstance(reply, Raw):
            return reply
        if isinstance(reply, dict) and form == "tools":
            turn = openai_reply("", "tool_calls", request)
            turn["choices"][0]["message"] = self.issued_calls.openai_message(reply)
            return Raw(200, json.dumps(turn), delay=self.latency())
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return Raw(200, json.dumps(openai_reply(text, request=request)), delay=self.latency())

    def anthropic(self, body: dict[str, Any], headers: dict[str, str]) -> Raw:
        """A reply of the Messages API. It caches no prompt of less than 10 tokens."""
        fault = find_anthropic_fault(body, headers)
        results = self.issued_calls.anthropic_results(body["messages"])
        if fault or isinstance(results, str):
            return anthropic_error(400, "invalid_request_error", fault or str(results))
        request = parse_anthropic_request(body, results)
        form = anthropic_form(body)
        with self._lock:
            self.model_requests.append(request)
            self.forms.append(form)
        if headers.get("x-api-key") != ANTHROPIC_KEY:
            message = f"invalid x-api-key {headers.get('x-api-key')}"
            return anthropic_error(401, "authentication_error", message)
        if form not in self.anthropic_forms | {"tools"}:
            names = {
                "format": "output_config.format: not supported by this model",
                "tool": "tool_choice forces tool use, which this model does not support",
            }
            return anthropic_error(400, "invalid_request_error", names[form])
        reply = self._reply(request)
        if isinstance(reply, Raw):
            return reply
        if isinstance(reply, dict) and form in ("tools", "tool"):
            calls = (
                reply if form == "tools" else {"calls": [{"name": "answer", "arguments": reply}]}
            )
            content = self.issued_calls.anthropic_content(calls)
            return Raw(200, json.dumps(anthropic_reply(content, "tool_use")))
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return Raw(200, json.dumps(anthropic_reply([{"type": "text", "text": text}])))

    def anthropic_model(self, name: str, headers: dict[str, str]) -> Raw:
        """Whether a model exists."""
        if headers.get("x-api-key") != ANTHROPIC_KEY:
            return anthropic_error(401, "authentication_error", "invalid x-api-key")
        if not name.startswith("claude-"):
            return anthropic_error(404, "not_found_error", f"model: {name}")
        return Raw(200, json.dumps({"type": "model", "id": name}))

    def serpapi(self, query: str, key: str) -> Raw:
        with self._lock:
            self.search_queries.append(query)
        if key != SERPAPI_KEY:
            return Raw(401, json.dumps({"error": f"Invalid API key: {key}"}))
        found = self.hits(query) if callable(self.hits) else self.hits.get(query)
        if isinstance(found, Raw):
            return found
        names = self.default_hits if found is None else found
        if not names:
            none = "Google hasn't returned any results for this query."
            return Raw(200, json.dumps({"error": none}), delay=self.latency())
        rows = [_organic_result(i, self.url(name), name) for i, name in enumerate(names, 1)]
        return Raw(200, json.dumps({"organic_results": rows}), delay=self.latency())

    def page(self, name: str) -> Raw:
        with self._lock:
            self.page_requests.append(name)
        page = self.pages.get(name)
        if page is None:
            return Raw(404, "not here")
        if isinstance(page, Raw):
            return page
        kind = {"Content-Type": "text/html; charset=utf-8"}
        return Raw(200, as_html(name, page), kind, delay=self.latency())


def as_html(title: str, text: str) -> str:
    """Return a page whose main text is `text`, with one paragraph per line."""
    body = "".join(f"<p>{html.escape(line)}</p>" for line in text.split("\n"))
    return f"<html><head><title>{title}</title></head><body><article>{body}</article></body></html>"


def count_prompt_tokens(request: ModelRequest) -> int:
    """The tokens of a request's prompts: a quarter of their characters."""
    return (len(request.system) + len(request.prompt)) // 4


def gemini_reply(text: str, request: ModelRequest, reason: str = "STOP") -> dict[str, Any]:
    """A generateContent reply, with tokens counted as a quarter of the characters."""
    content = {"parts": [{"text": text}], "role": "model"}
    prompt, output = count_prompt_tokens(request), len(text) // 4
    usage = {"promptTokenCount": prompt, "candidatesTokenCount": output}
    return {
        "candidates": [{"content": content, "finishReason": reason, "index": 0}],
        "usageMetadata": {**usage, "totalTokenCount": prompt + output},
        "modelVersion": request.model,
    }


def _parse_request(model: str, body: dict[str, Any], results: ToolResults) -> ModelRequest:
    config = body.get("generationConfig", {})
    known = config.get("responseJsonSchema") or config.get("response_json_schema")
    task = _task_in(json.dumps(body.get("tools") or known))
    system = "".join(part["text"] for part in body["systemInstruction"]["parts"])
    prompt = "".join(part["text"] for part in body["contents"][0]["parts"])
    return ModelRequest(task, model, system, prompt, results, _fields_of(known))


def _fields_of(schema: dict[str, Any] | None) -> tuple[str, ...]:
    return tuple((schema or {}).get("properties", ()))


def _openai_fields(body: dict[str, Any], prompt: str) -> tuple[str, ...]:
    """The fields of the schema that a request sends, or has in its prompt."""
    if named := (body.get("response_format") or {}).get("json_schema"):
        return _fields_of(named["schema"])
    return _fields_of(_schema_in(prompt))


def _schema_in(prompt: str) -> Any:
    """The JSON Schema that a prompt has, if any."""
    text = prompt.rpartition("JSON Schema:\n")[2]
    return json.JSONDecoder().raw_decode(text)[0] if text.startswith("{") else None


def _openai_task(body: dict[str, Any]) -> str:
    """The task of a request, from its schema where it has one: a page may name any field."""
    schema = (body.get("response_format") or {}).get("json_schema") or {}
    if schema.get("name") == "gather":
        return "gather"  # a turn as JSON, whose tools are in the prompt
    return _task_in(json.dumps(body.get("tools") or schema or body))


def _task_in(request: str) -> str:
    """Return the task of a request, known by a field that only its answer has."""
    tasks = {
        "without_sites": "heed",
        "return_answer": "decide",
        "useful": "browse",
        "fetch_page": "gather",
        "prioritized_sub_queries": "plan",
        "need_more": "reflect",
        "verdicts": "verify",
        "summary": "summary",
        "sentences": "section",
        "remembered": "recall",
        "ruling": "judge",
        "citations": "synthesize",
        "question": "understand",
        "capital": "try",
        "queries": "generate_queries",
    }
    return next(name for field, name in tasks.items() if re.search(rf"\b{field}\b", request))


def openai_reply(
    text: str, reason: str = "stop", request: ModelRequest | None = None
) -> dict[str, Any]:
    """A chat completion, with tokens counted as a quarter of the characters.

    A prompt of less than 300 tokens counts as 100.
    """
    message = {"role": "assistant", "content": text}
    count = count_prompt_tokens(request) + len(str(request.results)) // 4 if request else 0
    prompt = count if count >= 300 else 100
    usage = {"prompt_tokens": prompt, "completion_tokens": len(text) // 4}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


def anthropic_reply(content: list[dict[str, Any]], reason: str = "end_turn") -> dict[str, Any]:
    """A message, of whose prompt the cache had 60 tokens and took up 30."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 60, "output_tokens": 20}
    usage |= {"cache_creation_input_tokens": 30}
    return {"type": "message", "content": content, "stop_reason": reason, "usage": usage}


def anthropic_error(status: int, kind: str, message: str) -> Raw:
    """An error as the Messages API words it."""
    return Raw(status, json.dumps({"type": "error", "error": {"type": kind, "message": message}}))


def find_anthropic_fault(body: dict[str, Any], headers: dict[str, str]) -> str:
    """Why the Messages API would refuse a request; "" if it would not."""
    if headers.get("anthropic-version") != "2023-06-01":
        return "anthropic-version: header is required"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        return "max_tokens: Field required"
    if "temperature" in body:
        return "temperature is not supported by this model"
    if json.dumps(body).count('"cache_control"') > 4:
        return "A maximum of 4 blocks with cache_control may be provided."
    schema = json.dumps(body.get("output_config", ""))
    if '"maxItems"' in schema or schema.count('"properties"') > schema.count(
        '"additionalProperties": false'
    ):
        return "output_config.format.schema: additionalProperties must be false"
    return ""


def anthropic_form(body: dict[str, Any]) -> str:
    """How a request asks for its reply."""
    if body.get("output_config"):
        return "format"
    if not body.get("tools"):
        return "prompt"
    return "tool" if body.get("tool_choice") else "tools"


def parse_anthropic_request(body: dict[str, Any], results: ToolResults) -> ModelRequest:
    system = "".join(block["text"] for block in body["system"])
    prompt = "".join(block["text"] for block in body["messages"][0]["content"])
    schema = body.get("output_config", {}).get("format", {}).get("schema")
    if body.get("tool_choice"):
        schema = body["tools"][0]["input_schema"]
    schema = _schema_in(prompt) or schema
    task = _task_in(json.dumps(schema or body["tools"]))
    return ModelRequest(task, body["model"], system, prompt, results, _fields_of(schema))


def _bad_key_reply() -> Raw:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    error = {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}
    return Raw(400, json.dumps({"error": {**error, "details": details}}))


def _organic_result(position: int, link: str, title: str) -> dict[str, Any]:
    return {"position": position, "title": title, "link": link, "snippet": f"About {title}."}


def _handler(services: Services) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Log nothing."""

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length))
            services.posted_paths.append(self.path)
            services.bodies.append(body)
            if self.path == "/anthropic/v1/messages":
                self._answer(services.anthropic(body, dict(self.headers.items())))
                return
            if self.path.startswith("/openai"):
                self._answer(services.openai(body, self.headers.get("Authorization")))
                return
            model = re.search(r"/models/([^:]+):", self.path)
            key = self.headers.get("x-goog-api-key")
            self._answer(services.gemini(model[1] if model else "", body, key))

        def do_GET(self) -> None:
            path = self.path.removeprefix(services.site)  # where this is a proxy
            self._answer(services.get(path, dict(self.headers.items())))

        def _answer(self, raw: Raw) -> None:
            raw = services.fault() or raw
            services.is_over.wait(raw.delay)
            self.close_connection = True
            if not raw.status:
                return
            body = raw.body.encode()
            self.send_response(raw.status)
            kind = {"Content-Type": "application/json", "Connection": "close"}
            for name, value in {**kind, **raw.headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            with suppress(OSError):  # the client has given up
                self.end_headers()
                self.wfile.write(body)

    return Handler
