"""What an answer says of this machine's folders, taken out before it leaves the machine."""

from __future__ import annotations

from pathlib import Path

from agent.answer.schema import Answer
from agent.settings import Settings
from agent.state import map_texts


def hide_paths(answer: Answer, settings: Settings) -> Answer:
    """The answer without the folders of settings, user and process; the journal by its name."""
    named = (settings.runs_dir, settings.cache_dir, settings.corpus, Path.cwd(), Path.home())
    absolute = [one.absolute() for one in named if one]
    folders = sorted({str(one) for one in absolute if len(one.parts) > 1}, key=len, reverse=True)

    def hide(text: str) -> str:
        for folder in folders:
            text = text.replace(folder, "...")
        return text

    fields = answer.model_dump(mode="json", include={"warnings", "error", "attempts", "run"})
    hidden = {name: map_texts(value, hide) for name, value in fields.items()}
    if hidden["run"] and hidden["run"]["journal"]:
        hidden["run"]["journal"] = Path(hidden["run"]["journal"]).name
    checked = Answer.model_validate({"topic": "", "status": "error", **hidden})
    return answer.model_copy(update={name: getattr(checked, name) for name in hidden})
