"""From the options of a command line to a topic and settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.cli.shell import require_stdin
from agent.errors import UsageError

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.settings import Settings


def read_topic(options: dict[str, Any]) -> str:
    """The topic from the option, the argument or stdin; "" where a journal holds it."""
    topics = [text for text in (options["topic"], options["question"]) if text is not None]
    if not topics and (options["resume"] or options["replay"]):
        return ""
    if len(topics) != 1:
        fault = "Two questions were given." if topics else "No question was given."
        raise UsageError(fault, "Give one: --topic '...', or as the argument, or - for stdin.")
    if topics[0] != "-":
        return str(topics[0])
    try:
        text = str(require_stdin().read(1_000_000).decode("utf-8-sig"))
        if "\0" in text:  # UTF-16 without a mark, of letters that ASCII has
            raise UnicodeError
        return text
    except UnicodeError:
        fault = "Standard input is not UTF-8."
        raise UsageError(fault, "Convert it: iconv -f UTF-16 -t UTF-8.") from None
    except OSError as error:
        fault = f"Standard input cannot be read: {error.strerror}."
        raise UsageError(fault, "Give --topic '...', or the question as the argument.") from None


def read_plan_option(options: dict[str, Any]) -> dict[str, Any]:
    """The options with the plan itself for the name of its file; "": it is to be printed.

    What follows `--plan` and is no file may be the question, unless it is named like one.
    """
    name = options["plan"]
    if not name:
        return options
    is_file = Path(name).suffix in (".md", ".json") or Path(name).exists()
    if not (is_file or options["question"] or options["topic"]):
        return {**options, "plan": "", "question": name}
    from agent.run.plan_file import read_plan

    plan = read_plan(Path(name))
    has_topic = options["topic"] or options["question"]
    return {**options, "plan": plan, **({} if has_topic else {"topic": plan.topic})}


def read_settings(options: dict[str, Any]) -> Settings:
    """Settings from the environment, `.env` and the options, which win.

    Raises UsageError, NotConfigured.
    """
    from agent.settings import load_options

    own: dict[str, Any] = {
        f"{name}_domains": options[f"{name}_domain"] for name in ("allow", "block")
    }
    own["plan"] = options["plan"] or None
    own["slots_schema"] = _read_slots_schema(options["slots_schema"])
    settings = load_options({**options, **own})
    _refuse_idle_options(options, settings)
    return settings


#: What a run that is repeated has from its journal, or does not do.
_NOT_REPLAYED = (
    "resume plan reader max_citations strategy depth slots slots_schema llm search mcp corpus "
    "max_rounds max_steps max_words verify on_unsupported credibility max_seconds max_usd "
    "max_tokens max_calls since allow_domain block_domain lang"
).split()


def _refuse_idle_options(options: dict[str, Any], settings: Settings) -> None:
    """Raise UsageError for the first option that could have no effect beside the others."""
    from agent.settings.loading import OPTION_NAMES

    for names, why in _find_idle_options(options, settings):
        if name := next((name for name in names if options[name]), None):
            flag = f"--{OPTION_NAMES.get(name, name).replace('_', '-')}"
            raise UsageError(f"{flag} has no effect here: {why}.", f"Leave {flag} out.")


def _find_idle_options(
    options: dict[str, Any], settings: Settings
) -> Iterator[tuple[Sequence[str], str]]:
    """Options that have no effect with these settings, and why."""
    strategy = "" if options["resume"] else settings.strategy  # a resumed run has its own
    if options["replay"]:
        yield _NOT_REPLAYED, "a replay repeats the run as recorded"
    if settings.offline or (settings.corpus and "corpus" not in settings.search):
        yield ("since", "allow_domain", "block_domain", "mcp"), "only a corpus is searched"
    if settings.offline:
        yield ("llm",), "with --offline no model is asked"
    if not options["resume"]:
        yield ("retry_failed",), "it needs --resume"
    if strategy in ("slots", "report"):
        yield ("max_steps",), f"the strategy {strategy} has rounds, not steps: use --max-rounds"
    if strategy == "loop":
        yield ("max_rounds",), "the strategy loop has steps, not rounds: use --max-steps"
    if strategy in ("slots", "loop") and not settings.plan:
        yield ("credibility",), "it is for reports only"


def _read_slots_schema(text_or_file: str | None) -> Any:
    """The JSON Schema of typed slots, given as the JSON itself or as the name of its file."""
    from agent.calls.input_file import read_json
    from agent.state import InvalidJson, parse_json

    remedy = "Name a file with a JSON Schema of an object."
    if text_or_file is None:
        return None
    if text_or_file.lstrip()[:1] != "{":
        return read_json(Path(text_or_file), remedy)
    try:
        return parse_json(text_or_file)
    except InvalidJson as error:
        raise UsageError(f"--slots-schema: It is not JSON: {error}.", remedy) from None
