"""The check of a corpus: how much of it is in the index, what is not, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath

from agent.doctor.results import Result
from agent.search.corpus import Corpus
from agent.state.sanitizing import sanitize_line

PATIENCE = 6.0  # seconds for files that are not in the index yet: the doctor has ten
MAX_KINDS = 10  # reasons, and suffixes
MAX_EXAMPLES = 3  # files that are named for each reason
MAX_NAME = 200  # characters


def check_corpus(path: Path, cache: Path) -> Result:
    """What of a corpus is found by a search. Raises UsageError where nothing is.

    Files are read meanwhile; those for which there is no time are read by the next run.
    """
    corpus = Corpus(path, cache, patience=PATIENCE)
    try:
        left_out = [*_describe_skipped(corpus), *_describe_unknown(corpus.unknown_files)]
        detail = "; ".join([corpus.progress.rstrip(".") or f"{corpus.size:,} documents", *left_out])
        return Result("warn" if corpus.progress or left_out else "ok", detail, _find_remedy(corpus))
    finally:
        corpus.close()


def _describe_skipped(corpus: Corpus) -> list[str]:
    """The files that cannot be read in whole, by their reasons."""
    reasons = list(corpus.files_by_fault().items())
    lines = [f"{fault}: {_list_names(names)}" for fault, names in reasons[:MAX_KINDS]]
    if rest := sum(len(names) for _, names in reasons[MAX_KINDS:]):
        lines.append(f"files that cannot be read for other reasons: {rest:,}")
    return lines


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(sanitize_line(name, MAX_NAME) for name in names[:MAX_EXAMPLES])
    return f"{len(names):,} ({shown}{', ...' if len(names) > MAX_EXAMPLES else ''})"


def _describe_unknown(files: Sequence[str]) -> list[str]:
    """The files that are no documents, by their suffixes."""
    if not files:
        return []
    suffixes = Counter(PurePath(name).suffix.lower() or "without suffix" for name in files)
    kinds = [
        f"{sanitize_line(suffix, MAX_NAME)}: {count:,}"
        for suffix, count in suffixes.most_common(MAX_KINDS)
    ]
    more = ", ..." if len(suffixes) > MAX_KINDS else ""
    return [f"files of other types: {len(files):,} ({', '.join(kinds)}{more})"]


def _find_remedy(corpus: Corpus) -> str:
    return "Ask, or run this again: reading goes on where it ended." if corpus.progress else ""
