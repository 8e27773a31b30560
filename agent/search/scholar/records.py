"""From a service's record of a work to a hit. No record is trusted to have its documented shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from agent.search.hits import MAX_SNIPPET, MAX_TITLE, MAX_URL
from agent.search.table_service import as_text, read_path
from agent.state import Hit, Json, get_objects, get_path, is_web_url, sanitize_line, strip_markup

MAX_ABSTRACT = 6000  # characters
MAX_AUTHORS = 50
MAX_FIELD = 300  # characters of a name, a DOI, a venue
ARXIV_DOI = "10.48550/arxiv."
#: How publishers begin the title of a retracted work, and how services name the notice.
RETRACTED_TITLES = ("retracted:", "retracted article:", "[retracted]", "withdrawn:")
TAKEN_BACK = {"retraction", "removal", "withdrawal", "retracted publication"}
#: Type of CSL -> kinds of works as services write them, without case and signs. Others: `document`.
_TYPES = (
    "article:postedcontent preprint;article-journal:journalarticle article review researcharticle;"
    "paper-conference:proceedingsarticle conference conferencepaper;book:book monograph editedbook;"
    "chapter:bookchapter booksection;report:report;thesis:dissertation thesis;dataset:dataset"
)
_DOI_PREFIXES = ("", "doi:", "https://doi.org/", "http://doi.org/", "http://dx.doi.org/")


def read_authors(row: object, path: str) -> list[Json]:
    """Authors at `path:family:given:literal`, or at `path:name` with their names in one piece."""
    where, *names = path.split(":")
    rows = get_objects(row, *where.split("."))[:MAX_AUTHORS]
    names_of_rows = [
        [strip_markup(as_text(read_path(o, n)), MAX_FIELD) for n in names] for o in rows
    ]
    return [made for one in names_of_rows if (made := make_name(*one))]


def make_name(family: str, given: str | None = None, literal: str = "") -> Json:
    """A name of CSL-JSON. Without a given name it is cut before its last word, or at its comma."""
    if given is None:
        family, comma, given = family.partition(",")
        if not comma:
            given, _, family = family.rpartition(" ")
    name = {"family": family.strip(), "given": given.strip()}
    return {k: v for k, v in (name if family else {"literal": literal}).items() if v}


def build_hit(service: str, record: Json) -> Iterator[Hit]:
    """Yield the hit of a record in the names of CSL, or none where it has no title or address.

    Besides these it may have `day` (text or numbers), `retracted` (a notice, or True) and `place`
    (an address of its open text).
    """
    title = strip_markup(as_text(record.get("title")), MAX_TITLE)
    doi = read_doi(record.get("DOI"))
    address = _find_address(doi, record.get("URL"))
    if not title or not address:
        return
    names = "container-title publisher volume issue page PMID PMCID".split()
    fields = {name: strip_markup(as_text(record.get(name)), MAX_FIELD) for name in names}
    day = read_day(record.get("day"))
    # blanks replace the tags of JATS, which end lines
    abstract = strip_markup(as_text(record.get("abstract")).replace("<", " <"), MAX_ABSTRACT)
    is_retracted = _tells_retraction(record.get("retracted"))
    fields |= {"id": doi or address, "title": title, "DOI": doi, "URL": address, "source": service}
    fields["type"] = "article" if doi.startswith(ARXIV_DOI) else read_type(record.get("type"))
    fields["status"] = "retracted" * (is_retracted or title.casefold().startswith(RETRACTED_TITLES))
    work = {**fields, "author": record.get("author"), "abstract": abstract}
    work["issued"] = {"date-parts": [day]} if day else None
    place = record.get("place")
    dated = "-".join(f"{number:02}" for number in day) or None
    texts = {"url": address, "snippet": sanitize_line(abstract, MAX_SNIPPET), "date": dated}
    places = (place,) if isinstance(place, str) and is_place(place) else ()
    filled = {name: value for name, value in work.items() if value}
    yield Hit(title=title, work=filled, places=places, **texts)


def is_place(url: str) -> bool:
    """Whether a text is an address that can be read."""
    return len(url) <= MAX_URL and " " not in url and is_web_url(url)


def _find_address(doi: str, page: object) -> str:
    if doi.startswith(ARXIV_DOI):
        return f"https://arxiv.org/abs/{quote(doi.removeprefix(ARXIV_DOI), safe='/.')}"
    if doi:
        return f"https://doi.org/{quote(doi, safe='/:;()._-')}"
    return page if isinstance(page, str) and is_place(page) else ""


def read_doi(value: object) -> str:
    """A DOI in lower case, without the address of its resolver; "" for what is none."""
    start, mark, rest = sanitize_line(value, MAX_FIELD).casefold().partition("10.")
    is_doi = bool(mark) and start in _DOI_PREFIXES and "/" in rest and " " not in rest
    return mark + rest if is_doi else ""


def read_type(value: object) -> str:
    """The type of CSL for the first known of the kinds that a service gives a work."""
    kinds = value if isinstance(value, list) else [value]
    words = ["".join(filter(str.isalpha, str(kind).casefold())) for kind in kinds]
    rows = (row.partition(":") for row in _TYPES.split(";"))
    return next((name for name, _, labels in rows if {*words} & {*labels.split()}), "document")


def read_day(value: object) -> list[int]:
    """Year, month and day, as far as they are known, of YYYY-MM-DD or of a list of numbers."""
    parts = value if isinstance(value, list) else as_text(value)[:10].split("-")
    numbers = [int(part) for part in map(str, parts[:3]) if part.isdecimal() and len(part) < 5]
    return numbers if numbers and numbers[0] >= 1000 and all(numbers) else []


def _tells_retraction(value: object) -> bool:
    """Whether a service says so: by a mark, or among the kinds of a work or of its notices."""
    rows: Iterable[object] = value if isinstance(value, list) else ()
    kinds = {str(get_path(one, "type") or one).casefold() for one in rows}
    return value is True or not kinds.isdisjoint(TAKEN_BACK)
