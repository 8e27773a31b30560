"""A task has a name and an answer type, checked where its class is defined."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from agent.calls import Task
from agent.state import Frozen


class Verse(Frozen):
    text: str


def define(bases: tuple[type, ...], **fields: Any) -> type[Task[Any]]:
    methods = {"system_prompt": lambda self: "", "prompt": lambda self: ""}
    return type("Poem", bases, {"__module__": __name__, **methods, **fields})


def test_a_task_has_the_name_and_the_answer_type_of_its_class() -> None:
    task = define((Task[Verse],), name="poem")
    for made in (task, define((task,))):
        assert made.name == "poem" and made(topic="x").answer_type is Verse
    with pytest.raises(TypeError, match="Poem has no name"):
        define((Task[Verse],))
    for base in (Task, Task[Any]):
        with pytest.raises(TypeError, match="Poem has no answer type"):
            define((base,), name="poem")


def test_a_task_without_prompts_cannot_be_made() -> None:
    class Silent(Task[Verse]):
        name: ClassVar[str] = "silent"

    with pytest.raises(TypeError, match="abstract"):
        Silent(topic="x")  # type: ignore[abstract]
