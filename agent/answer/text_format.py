"""The format `text`: an answer as it is read on a terminal.

What comes from pages and models is printed as plain text: nothing in it is markup or moves a
cursor. All styles are set here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from agent.answer import Answer, Citation, phrases
from agent.answer.report import ReportAnswer
from agent.evidence.copies import DISAGREEMENT
from agent.state import Claim
from agent.state.sanitizing import sanitize_for_display

WIDTH = 100  # columns: longer lines are hard to read
INDENT = 4  # columns of what belongs to a source
HEADING, MARKER, AMBER, QUIET = "bold", "cyan", "yellow", "dim"


def to_text(answer: Answer, width: int = WIDTH, *, has_colour: bool = False) -> str:
    """The answer as lines of at most `width` columns; "" for an error, which is told elsewhere."""
    if answer.error:
        return ""
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=has_colour,
        color_system="standard" if has_colour else None,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as capture:
        for part in _render_parts(answer):
            console.print(part)
            console.print()
    return "\n".join(line.rstrip() for line in capture.get().strip("\n").split("\n")) + "\n"


def _render_parts(answer: Answer) -> Iterator[RenderableType]:
    """What stands under each other, a blank line between two."""
    report = answer.report
    yield _plain(report.title if report else answer.topic, HEADING)
    disagreements = list(_find_disagreements(answer))
    rivals = [warning for warning in answer.warnings if warning.startswith(f"{DISAGREEMENT}: ")]
    if disagreements or rivals:
        yield _render_disagreements(disagreements or list(map(_plain, rivals)))
    if answer.status != "complete" or answer.degraded:
        yield _plain(phrases.describe_status(answer), AMBER)
    yield from _render_claims(answer.claims) if answer.claims else [_plain(answer.answer)]
    if any(slot.value is not None for slot in answer.slots.values()):
        yield _render_slots(answer)
    if report:
        yield from _render_report(report)
    if answer.citations:
        yield _render_sources(answer.citations)
    told = () if disagreements else rivals
    if warnings := [_render_warning(warning) for warning in answer.warnings if warning not in told]:
        yield Group(*warnings)
    yield _plain(phrases.summarize_run(answer), QUIET)


def _render_warning(warning: str) -> Text:
    return _join(_plain("! ", AMBER), _plain(warning, QUIET))


def _plain(text: str, style: str = "") -> Text:
    """Foreign text on one line; rich takes nothing in it for markup."""
    return Text(sanitize_for_display(text), style)


def _join(*parts: Text) -> Text:
    return Text().join(parts)


def _markers(numbers: Iterable[int]) -> Text:
    return Text("".join(f"[{n}]" for n in numbers), MARKER)


# --- disagreement --------------------------------------------------------------------------------


def _find_disagreements(answer: Answer) -> Iterator[Text]:
    """A line for each slot in conflict, and each conflict that a report found."""
    for row in phrases.slot_rows(answer):
        if row.is_disputed:
            yield _join(_plain(f"{row.name}: "), _render_values(row))
    for claim in answer.report.conflicts if answer.report else ():
        yield _render_sentence(claim)


def _render_disagreements(lines: Sequence[Text]) -> Panel:
    items = (_join(Text("• "), line) for line in lines)
    return Panel(Group(*items), title=DISAGREEMENT, title_align="left", style=AMBER)


# --- the text ------------------------------------------------------------------------------------


def _render_claims(claims: Iterable[Claim]) -> Iterator[RenderableType]:
    for block in phrases.group_claims(claims):
        if block.intro:
            yield _plain(block.intro)
        if block.form == "row":
            yield _render_rows(block)
        elif block.form == "item":
            yield Group(*(_join(Text("• "), _render_sentence(claim)) for claim in block.claims))
        else:
            yield Text(" ").join(map(_render_sentence, block.claims))


def _render_sentence(claim: Claim) -> Text:
    parts = phrases.split_sentence(claim)
    verdict = Text(f" ({parts.verdict})" if parts.verdict else "", AMBER)
    return _join(_plain(parts.body), _markers(parts.citations), _plain(parts.end), verdict)


def _render_rows(block: phrases.Block) -> Table:
    rows = [phrases.read_cells(claim.text) for claim in block.claims]
    table = _new_table(*block.head or [""] * max(map(len, rows)), "")
    for row, claim in zip(rows, block.claims, strict=True):
        cells = [*row, *[""] * len(table.columns)][: len(table.columns) - 1]
        table.add_row(*map(_plain, cells), _markers(claim.citations))
    return table


def _new_table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=QUIET)
    for head in heads:
        table.add_column(_plain(head), overflow="fold")
    return table


def _render_slots(answer: Answer) -> Table:
    table = _new_table("Fact", "Value", "")
    for row in phrases.slot_rows(answer):
        is_sure = row.value is not None and not row.is_disputed
        slot = answer.slots[row.name]
        told = _plain(phrases.describe_slot(slot), QUIET if is_sure else AMBER)
        table.add_row(_plain(row.name), _render_values(row), told)
    return table


def _render_values(row: phrases.SlotRow) -> Text:
    """The value of a slot and its alternatives, each with the markers of its sources."""
    values = [(row.value, row.citations), *row.alternatives]
    parts = [_join(_plain(f"{phrases.format_value(v)} "), _markers(n)) for v, n in values]
    return Text(", but also " if row.is_disputed else "; ").join(parts)


def _render_report(report: ReportAnswer) -> Iterator[RenderableType]:
    for section in report.sections:
        yield _plain(section.heading, HEADING)
        yield from _render_claims(section.sentences)
    level = _plain(f"Confidence: {report.confidence}. ", HEADING)
    yield _join(level, _plain(report.rationale))


# --- sources -------------------------------------------------------------------------------------


def _render_sources(citations: Sequence[Citation]) -> Group:
    by_source = phrases.group_by_source(citations)
    sources = (_render_source(n, quotes) for n, quotes in by_source.items())
    return Group(Text("Sources", HEADING), *sources)


def _render_source(number: int, citations: Sequence[Citation]) -> Group:
    """A source: its number and title, its address, and each of its quotes."""
    first = citations[0]
    title = Text(f"[{number}] ".ljust(INDENT), MARKER)
    lines = [_plain(first.url, QUIET), *(_plain(f"“{quote.quote}”") for quote in citations)]
    if limits := phrases.describe_limits(first):
        lines.insert(1, _plain(f"{limits} was read", AMBER))
    body = Padding(Group(*lines), (0, 0, 0, INDENT))
    return Group(_join(title, _plain(first.title or first.url, HEADING)), body)
