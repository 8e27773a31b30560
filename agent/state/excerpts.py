"""What a prompt shows of a source."""

from __future__ import annotations

from collections.abc import Iterable

from agent.state.values import Frozen, Source

RETRACTED = "[RETRACTED] "  # before the title of a work that was


class Excerpt(Frozen):
    """What a prompt shows of a source: its best passages, in the order of the page.

    `date`: when the page was published or last changed, if known. `same`: the number of a source
    whose excerpt has the same text, which is not repeated here.
    """

    source: int
    title: str
    url: str
    date: str = ""
    passages: tuple[str, ...]
    same: int | None = None

    @property
    def size(self) -> int:
        """How many characters its passages have."""
        return sum(map(len, self.passages))

    def shorten(self, share: float) -> Excerpt:
        """The first passages, with this share of the characters; the last of them may be cut."""
        left, kept = int(share * self.size), []
        for passage in self.passages:
            if left > 0:
                kept.append(passage[:left])
            left -= len(passage)
        return self.model_copy(update={"passages": tuple(kept)})

    @classmethod
    def of(cls, source: Source, passages: Iterable[str], same: int | None = None) -> Excerpt:
        """These passages of a source."""
        return cls(
            source=source.n,
            title=RETRACTED * source.hit.is_retracted + source.page.title,
            url=source.page.url,
            date=source.hit.date or "",
            passages=tuple(passages),
            same=same,
        )
