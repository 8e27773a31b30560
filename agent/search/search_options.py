"""The options of a search, and the locale of a query."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from agent.state import Frozen, is_under


class Locale(NamedTuple):
    """A language and a country as search services write them, both in lower case.

    The names are Google's parameters: `hl` is the interface language (`en`, `zh-cn`), `gl` an
    ISO 3166 country code or "".
    """

    hl: str
    gl: str

    @property
    def language(self) -> str:
        """The ISO 639 code alone: `zh`."""
        return self.hl.split("-")[0]


#: Characters of a script -> locale. The first match wins: Japanese text has Han characters too.
LOCALE_BY_SCRIPT: tuple[tuple[str, Locale], ...] = (
    (r"[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]", Locale("ja", "jp")),
    (r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]", Locale("ko", "kr")),
    (r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f]", Locale("zh-cn", "cn")),
    (r"[іїєґІЇЄҐ]", Locale("uk", "ua")),
    (r"[\u0400-\u052f]", Locale("ru", "ru")),
    (r"[پچژگ]", Locale("fa", "ir")),
    (r"[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]", Locale("ar", "sa")),
    (r"[\u0590-\u05ff]", Locale("he", "il")),
    (r"[\u0370-\u03ff\u1f00-\u1fff]", Locale("el", "gr")),
    (r"[\u0e00-\u0e7f]", Locale("th", "th")),
    (r"[\u0900-\u097f]", Locale("hi", "in")),
    (r"[\u0980-\u09ff]", Locale("bn", "bd")),
    (r"[\u0b80-\u0bff]", Locale("ta", "in")),
    (r"[\u0530-\u058f]", Locale("hy", "am")),
    (r"[\u10a0-\u10ff]", Locale("ka", "ge")),
)
#: Language -> country, where the two codes differ. For most they are equal: `de`, `fr`, `it`.
COUNTRY_BY_LANGUAGE = {locale.language: locale.gl for _, locale in LOCALE_BY_SCRIPT} | {
    "en": "us", "cs": "cz", "da": "dk", "et": "ee", "ms": "my", "nb": "no", "sl": "si",
    "sq": "al", "sr": "rs", "sv": "se", "vi": "vn",
}  # fmt: skip
#: The share of non-Latin letters from which their script decides the language: below it they are a
#: name.
MIN_SCRIPT_SHARE = 0.3


def locale_of(text: str, language: str = "") -> Locale:
    """The locale to search in: that of `language` (a BCP 47 tag), else that of the text's script.

    Latin script counts as English: a short query does not show its language.
    """
    tag = language.lower().replace("_", "-").split("-")
    if tag[0].isascii() and tag[0].isalpha() and len(tag[0]) in (2, 3):  # part of a host name
        return _locale_of_tag(tag)
    non_latin = len(re.findall("|".join(chars for chars, _ in LOCALE_BY_SCRIPT), text))
    if non_latin and non_latin >= MIN_SCRIPT_SHARE * sum(map(str.isalpha, text)):
        return next(locale for chars, locale in LOCALE_BY_SCRIPT if re.search(chars, text))
    return Locale("en", "us")


def _locale_of_tag(tag: list[str]) -> Locale:
    language = tag[0]
    region = tag[-1] if len(tag[-1]) == 2 and len(tag) > 1 else ""
    hl = f"{language}-{region or 'cn'}" if language == "zh" else language
    country = COUNTRY_BY_LANGUAGE.get(language, language if len(language) == 2 else "")
    return Locale(hl, region or country)


class SearchOptions(Frozen):
    """The options of a search, the same for every provider; the chain enforces dates and domains.

    `since`: the earliest day of publication; a hit without a date passes. A domain includes its
    subdomains.
    """

    language: str = ""  # a BCP 47 tag; empty: the language of each query
    since: date | None = None
    allow_domains: tuple[str, ...] = ()
    block_domains: tuple[str, ...] = ()
    max_results: int = Field(default=10, ge=1, le=20)

    @field_validator("allow_domains", "block_domains")
    @classmethod
    def _strip_to_host(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        hosts = (urlsplit(d if "//" in d else f"//{d}").hostname or "" for d in domains)
        return tuple(host.removeprefix("www.").strip(".*") for host in hosts if host)

    def for_query(self, query: str) -> tuple[str, SearchOptions]:
        """A query without its `after:YYYY-MM-DD`, and the options with that day as `since`.

        The operator is Google's: https://support.google.com/websearch/answer/2466433. Of two days
        the later one counts; a day that is none stays part of the query.
        """
        days = [day for word in query.split() if (day := _day_after(word))]
        if not days:
            return query, self
        text = " ".join(word for word in query.split() if not _day_after(word))
        since = max(days if self.since is None else [*days, self.since])
        return text or query, self.model_copy(update={"since": since})

    def locale_for(self, query: str) -> Locale:
        """The locale to search a query in."""
        return locale_of(query, self.language)

    def add_site_operators(self, query: str) -> str:
        """The query with the domains as `site:` operators, which most search engines support."""
        allowed = " OR ".join(f"site:{domain}" for domain in self.allow_domains)
        allowed = f"({allowed})" if len(self.allow_domains) > 1 else allowed
        blocked = " ".join(f"-site:{domain}" for domain in self.block_domains)
        return " ".join(filter(None, (query, allowed, blocked)))

    def google_parameters(self, query: str) -> dict[str, str]:
        """Google's own parameters (`q`, `hl`, `gl`, `tbs`), which its resellers pass on."""
        query, options = self.for_query(query)
        hl, gl = self.locale_for(query)
        hl = "iw" if hl == "he" else hl  # Google's code for Hebrew is the old one
        since = f"cdr:1,cd_min:{options.since:%m/%d/%Y}" if options.since else ""
        parameters = {"q": self.add_site_operators(query), "hl": hl, "gl": gl, "tbs": since}
        return {name: value for name, value in parameters.items() if value}

    def time_range(self, today: date) -> str:
        """The shortest of `day`, `week`, `month`, `year` that reaches `since`; "" if none does."""
        days = (today - self.since).days if self.since else 10**6
        ranges = (("day", 1), ("week", 7), ("month", 28), ("year", 365))
        return next((name for name, length in ranges if days <= length), "")

    def is_permitted(self, host: str) -> bool:
        """Whether the domains permit pages of this host."""
        if is_under(host, self.block_domains):
            return False
        return not self.allow_domains or is_under(host, self.allow_domains)


def _day_after(word: str) -> date | None:
    name, _, day = word.partition(":")
    try:
        return date.fromisoformat(day) if name == "after" else None
    except ValueError:
        return None
