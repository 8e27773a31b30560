"""The formats `json` and `yaml`: the answer object as text that keeps its JSON Schema."""

from __future__ import annotations

import json
import re
from typing import Any

from agent.answer.schema import Answer, answer_validator

#: Breaks of lines to YAML 1.1 alone: texts with one are written in quotation marks.
_OLD_BREAKS = re.compile("[\r\x85\u2028\u2029]")


def to_json(answer: Answer, *, compact: bool = False) -> str:
    """The answer as JSON text with a trailing newline; with `compact` on one line.

    The text is validated. Raises jsonschema.ValidationError, which would be a bug of this program.
    """
    separators = (",", ":") if compact else None
    indent = None if compact else 2
    value = _dump(answer)
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators) + "\n"


def to_yaml(answer: Answer) -> str:
    """The same object as YAML in block style. Texts are the same to readers of YAML 1.1 and 1.2."""
    import yaml

    dumper: Any = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, _represent_text)
    return str(yaml.dump(_dump(answer), None, dumper, allow_unicode=True, sort_keys=False))


def _represent_text(dumper: Any, text: str) -> Any:
    """Lines as lines; in quotation marks what a reader could take for a number.

    YAML 1.2 has numbers that 1.1 has not, such as `1e3` and `0o17`.
    """
    style = None if text[:1].isalpha() else '"'
    style = "|" if "\n" in text and not _OLD_BREAKS.search(text) else style
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _dump(answer: Answer) -> Any:
    value = answer.model_dump(mode="json")
    answer_validator().validate(value)
    return value
