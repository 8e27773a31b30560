"""What a user may ask of every search provider alike, and the language that a query is in."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from agent.state import Frozen


class Locale(NamedTuple):
    """A language and a country as search services write them, both in lower case.

    `hl` is Google's interface language (`en`, `zh-cn`), `gl` an ISO 3166 country or "".
    """

    hl: str
    gl: str

    @property
    def language(self) -> str:
        """The ISO 639 code alone: `zh`."""
        return self.hl.split("-")[0]


#: Script -> locale, in the order in which they are looked for: Japanese is written with Han too,
#: and Persian and Ukrainian have letters that Arabic and Russian lack.
SCRIPTS: tuple[tuple[str, Locale], ...] = (
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
#: Languages whose country is not spelled like them; `de`, `fr`, `it` and most others are.
COUNTRIES = {locale.language: locale.gl for _, locale in SCRIPTS} | {
    "en": "us", "cs": "cz", "da": "dk", "et": "ee", "ms": "my", "nb": "no", "sl": "si",
    "sq": "al", "sr": "rs", "sv": "se", "vi": "vn",
}  # fmt: skip
#: The share of letters from which on a script decides: a name in another script is not a language.
SHARE = 0.3


def locale_of(text: str, language: str = "") -> Locale:
    """The locale to search in: that of `language` (a BCP 47 tag), else that of the text's script.

    Latin script is taken for English: which of its languages it is, a short query does not tell.
    """
    tag = language.lower().replace("_", "-").split("-")
    if re.fullmatch("[a-z]{2,3}", tag[0]):  # it becomes part of a host name
        region = tag[-1] if len(tag[-1]) == 2 and len(tag) > 1 else ""
        hl = f"{tag[0]}-{region or 'cn'}" if tag[0] == "zh" else tag[0]
        return Locale(hl, region or COUNTRIES.get(tag[0], tag[0] if len(tag[0]) == 2 else ""))
    letters = sum(map(str.isalpha, text))
    foreign = len(re.findall(f"[{''.join(pattern[1:-1] for pattern, _ in SCRIPTS)}]", text))
    if letters and foreign >= SHARE * letters:
        return next(locale for pattern, locale in SCRIPTS if re.search(pattern, text))
    return Locale("en", "us")


class Options(Frozen):
    """What is asked of every provider. Passed on where one can, enforced by the chain where not.

    `since` is the earliest day of publication; a hit without a date is kept. A domain stands for
    its subdomains too.
    """

    language: str = ""  # a BCP 47 tag; empty: that of each query
    since: date | None = None
    allow_domains: tuple[str, ...] = ()
    block_domains: tuple[str, ...] = ()
    max_results: int = Field(default=10, ge=1, le=20)

    @field_validator("allow_domains", "block_domains")
    @classmethod
    def _bare(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        """`https://www.Example.org/x` is a way of saying `example.org`."""
        hosts = (urlsplit(d if "//" in d else f"//{d}").hostname or "" for d in domains)
        return tuple(host.removeprefix("www.").strip(".*") for host in hosts if host)

    def locale(self, query: str) -> Locale:
        """The locale in which to ask a query."""
        return locale_of(query, self.language)

    def with_sites(self, query: str) -> str:
        """The query with the domains as `site:` operators, which most search engines know."""
        allowed = " OR ".join(f"site:{domain}" for domain in self.allow_domains)
        blocked = " ".join(f"-site:{domain}" for domain in self.block_domains)
        grouped = f"({allowed})" if len(self.allow_domains) > 1 else allowed
        return " ".join(filter(None, (query, grouped, blocked)))

    def google(self, query: str) -> dict[str, str]:
        """The parameters that Google's own resellers share (`hl`, `gl`, `tbs`)."""
        hl, gl = self.locale(query)
        parameters = {"q": self.with_sites(query), "hl": "iw" if hl == "he" else hl}
        if gl:
            parameters["gl"] = gl
        if self.since:
            parameters["tbs"] = f"cdr:1,cd_min:{self.since:%m/%d/%Y}"
        return parameters

    def span(self, today: date) -> str:
        """The shortest of `day`, `week`, `month`, `year` that reaches `since`; "" for none."""
        days = (today - self.since).days if self.since else 10**6
        spans = (("day", 1), ("week", 7), ("month", 28), ("year", 365))
        return next((name for name, length in spans if days <= length), "")

    def permits(self, host: str) -> bool:
        """Whether pages of this host are wanted."""
        if _under(host, self.block_domains):
            return False
        return not self.allow_domains or _under(host, self.allow_domains)


def _under(host: str, domains: tuple[str, ...]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)
