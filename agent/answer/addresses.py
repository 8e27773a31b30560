"""Addresses of a corpus as an answer shows them: `corpus:relative/path`, never a path of a machine.

Only the journal knows where a corpus lies: `corpus` in its header.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePath
from urllib.parse import quote

SCHEME = "corpus:"
_FILE_URL = re.compile(r"\bfile:/[^\s\"'<>()\[\]]*", re.I)
_NOTHING = re.compile(r"(?!)")


class CorpusAddresses:
    """Shortens addresses and texts of a run whose corpus lies at `root`; "" where that is unknown.

    `journal` is the path of the run's journal, of which texts show only the name.
    """

    def __init__(self, root: str = "", journal: str = "") -> None:
        self._name = PurePath(root).name
        self._url = f"file://{quote(os.fsencode(root.rstrip('/')))}" if root else ""
        self._root = _path_pattern(root)
        self._journal, self._journal_name = _path_pattern(journal), PurePath(journal).name

    def shorten_url(self, url: str) -> str:
        """The address of a document within its corpus; any other address as it is.

        Of a file elsewhere only the name is shown: an older journal has no `corpus`.
        """
        if not _FILE_URL.match(url):
            return url
        if self._url and url.startswith(self._url):
            rest = url[len(self._url) :]
            if rest.startswith("/"):
                return SCHEME + rest[1:]
            if rest[:1] in ("", "?", "#"):
                return SCHEME + quote(os.fsencode(self._name)) + rest
        return SCHEME + url.rpartition("/")[2]

    def expand_url(self, url: str) -> str:
        """The address of which `shorten_url` made this one; any other as it is."""
        if not (self._url and url.startswith(SCHEME)):
            return url
        rest, own = url.removeprefix(SCHEME), quote(os.fsencode(self._name))
        is_root = rest.startswith(own) and rest[len(own) :][:1] in ("", "?", "#")
        return self._url + (rest.removeprefix(own) if is_root else f"/{rest}")

    def shorten_text(self, text: str) -> str:
        """A message in which addresses and paths of the corpus and of the journal are short."""
        text = _FILE_URL.sub(lambda found: self.shorten_url(found[0]), text)
        text = self._journal.sub(lambda _: self._journal_name, text)
        return self._root.sub(lambda found: SCHEME if found[1] else "the corpus", text)


def _path_pattern(path: str) -> re.Pattern[str]:
    """A path, whole or as the beginning of one; of one as short as `/` nothing."""
    path = path.rstrip("/\\")
    return re.compile(rf"{re.escape(path)}(?:([/\\])|(?![\w.-]))") if path[1:] else _NOTHING
