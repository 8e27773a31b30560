"""What others may ask of this program: a question, and how far to go for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import ConfigDict, Field, StringConstraints, create_model

from agent.run.request import LONGEST_TOPIC
from agent.settings import Settings
from agent.state import Frozen

SHORTEST_QUESTION = 3  # characters

#: What an asker may set, where the settings know it; everything else is the server's.
ASKABLE = (
    "strategy slots slots_schema depth max_rounds max_words max_seconds max_usd max_tokens "
    "max_calls lang since allow_domains block_domains verify on_unsupported cache"
).split()
#: Of these an asker may have less than the server has, never more.
CAPPED = ("max_seconds", "max_usd", "max_tokens", "max_calls")
LONGEST_LIST, LONGEST_TEXT = 50, 253  # names; characters: the longest name of a host
Configure = Callable[[Mapping[str, Any]], Settings]


class Asked(Frozen):
    """A question, and how far to go for it."""

    model_config = ConfigDict(defer_build=False)  # FastAPI cannot wrap one that is not yet built

    question: Annotated[
        str,
        StringConstraints(
            strip_whitespace=True, min_length=SHORTEST_QUESTION, max_length=LONGEST_TOPIC
        ),
    ]
    detach: bool = Field(default=False, description="the run goes on when the client goes away")

    def given(self, own: Settings) -> dict[str, Any]:
        """The settings that were asked for, within the server's own."""
        asked = self.model_dump(include=set(ASKABLE) & Settings.model_fields.keys())
        given = {name: value for name, value in asked.items() if value is not None}
        for name in set(CAPPED) & given.keys():
            cap = getattr(own, name)
            given[name] = given[name] if cap is None else min(given[name], cap)
        return given


Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT)
]


def _field(name: str) -> Any:
    """A setting as an optional field with the bounds that the settings have."""
    field = Settings.model_fields[name]
    kind: Any = field.annotation
    if kind == tuple[str, ...]:
        return (tuple[Text, ...] | None, Field(default=None, max_length=LONGEST_LIST))
    longest = LONGEST_TEXT if kind is str else None
    bounded = Annotated[(kind, *field.metadata)] if field.metadata else kind
    return (bounded | None, Field(default=None, max_length=longest))


def _is_askable(name: str) -> bool:
    """Never a path: an asker names no file of the server's."""
    field = Settings.model_fields.get(name)
    return field is not None and Path not in (field.annotation, *get_args(field.annotation))


if TYPE_CHECKING:
    Question = Asked
else:
    Question = create_model(
        "Question",
        __base__=Asked,
        __doc__=Asked.__doc__,
        **{name: _field(name) for name in ASKABLE if _is_askable(name)},
    )
