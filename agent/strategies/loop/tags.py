"""Tagged text: `<action>search_web</action>`, as models write it that were not held to a schema.

Format: system D's own. Tags in any case, with full-width brackets too; a missing close tag is
forgiven: a content then ends where the next tag of the format stands, or with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NAMES = ("action", "query", "answer")
_OBJECT = re.compile(r'\{\s*["}]')  # not any brace: thoughts in prose have them too
_TAG = re.compile(rf"[<＜]\s?(/?)\s?({'|'.join(NAMES)})\s?[>＞]", re.I)


def contents(text: str, name: str) -> list[str]:
    """What stands in each tag of a name, in order, without the blanks around it; never empty."""
    return [content for tag, content in _tagged(text) if tag == name and content]


def content(text: str, name: str) -> str | None:
    """What stands in the first tag of a name that is not empty."""
    return next(iter(contents(text, name)), None)


def begins(text: str) -> bool:
    """Whether a tag of the format stands in a text before any JSON object does."""
    found = _TAG.search(text)
    return bool(found) and not _OBJECT.search(text, 0, found.start() if found else 0)


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    """Each open tag with the text up to the next tag of the format, whichever that is."""
    tags = list(_TAG.finditer(text))
    ends = [*(tag.start() for tag in tags[1:]), len(text)]
    for tag, end in zip(tags, ends, strict=False):  # with no tag there is an end all the same
        if not tag[1]:
            yield tag[2].lower(), text[tag.end() : end].strip()
