"""The tag format of the loop's replies: `<action>search_web</action> <query>...</query>`.

A model that is not held to a JSON schema may answer in this format instead. Its tags are `action`
(search_web or return_answer), `query` (one query a line) and `answer`. They may be written in any
case, with one blank inside the brackets, and with full-width brackets (＜ ＞), as Chinese models
do. A close tag may be missing: a content ends at the next tag of the format, or with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

NAMES = ("action", "query", "answer")
_JSON_OBJECT = re.compile(r'\{\s*["}]')  # not any brace: thoughts in prose have braces too
_TAG = re.compile(rf"[<＜]\s?(/?)\s?({'|'.join(NAMES)})\s?[>＞]", re.I)


def find_all_contents(text: str, name: str) -> list[str]:
    """The contents of all tags of a name, in order, without blanks around them and empty ones."""
    return [content for tag, content in _iterate_tags(text) if tag == name and content]


def find_content(text: str, name: str) -> str | None:
    """The content of the first tag of a name that is not empty; None if there is none."""
    return next(iter(find_all_contents(text, name)), None)


def starts_with_tag(text: str) -> bool:
    """Whether a tag of the format comes before any JSON object of a text."""
    tag = _TAG.search(text)
    return tag is not None and not _JSON_OBJECT.search(text, 0, tag.start())


def _iterate_tags(text: str) -> Iterator[tuple[str, str]]:
    """Each open tag's name, and the text up to the next tag of the format, whatever its name."""
    tags = list(_TAG.finditer(text))
    ends = [*(tag.start() for tag in tags[1:]), len(text)]
    for tag, end in zip(tags, ends, strict=False):  # without any tag there is one end
        if not tag[1]:
            yield tag[2].lower(), text[tag.end() : end].strip()
