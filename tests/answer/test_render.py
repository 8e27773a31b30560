"""How an answer looks: all of it is there, in order, and nothing from outside becomes markup."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from typing import Any

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent.answer import messages
from agent.answer.formats import to_fragment, to_html, to_markdown
from agent.answer.html import language_attributes
from agent.answer.json_format import to_json
from agent.answer.markdown_renderer import escape_markdown, format_link, format_table
from agent.answer.schema import Answer
from agent.state import Claim
from agent.state.sanitizing import sanitize_for_display
from tests.support.reports import world_cup_answer

GITHUB = ["table", "strikethrough", "autolink", "tasklist", "tagfilter"]
NASTY = st.text(st.sampled_from("\\`*_[](){}<>|~&#-+=!:/.@$^\"'; \n\t1aw") | st.characters())
EVIL = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![spy](https://spy.example/x.png)",
    "<https://spy.example> and https://spy.example and www.spy.example and a@spy.example",
    "&lt;b&gt; &#60;b&#62; &amp;",
    "| a | b |\n|---|---|\n| c | d |",
    "# heading\n\n- item\n> quote\n```\ncode\n```\n---",
    "1. one",
    "`code` **bold** _em_ ~~gone~~ ~sub~ $x$",
    "\\[not escaped\\](x) \\\\",
    "</blockquote></main><h1>",
    "wow!",
    "half a pair: \ud800",
]


def github(text: str) -> str:
    """As GitHub shows it, but for mail addresses: it links those whether escaped or not."""
    shown = cmarkgfm.markdown_to_html_with_extensions(text, Options.CMARK_OPT_UNSAFE, GITHUB)
    return re.sub(r'<a href="mailto:[^"]*">(.*?)</a>', r"\1", shown)


def common(text: str) -> str:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return str(parser.render(text))


class Shown(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def links(self) -> list[str]:
        return [attrs["href"] or "" for tag, attrs in self.elements if tag == "a"]

    @property
    def tags(self) -> list[str]:
        """The names of the elements, without those that only break a line."""
        return [tag for tag, _ in self.elements]


def words(text: str) -> str:
    return " ".join(sanitize_for_display(text).split())


def examples(test: Callable[..., None]) -> Callable[..., None]:
    """The test with each of the known evils, whatever else is drawn."""
    for text in EVIL:
        test = example(text=text)(test)
    return test


@examples
@given(text=NASTY)
@settings(max_examples=30, deadline=None)
def test_text_stays_text_in_a_paragraph_a_heading_a_list_a_quote_and_a_cell(text: str) -> None:
    if not words(text):
        return
    safe = escape_markdown(text)
    places = {
        safe: {"p"},
        f"## {safe}": {"h2"},
        f"- {safe}": {"ul", "li"},
        f"> {safe}": {"blockquote", "p"},
        f"Before {safe} [1]. After": {"p"},
        format_table(("a", "b"), [(safe, safe)]): {"table", "thead", "tbody", "tr", "th", "td"},
    }
    for markdown, frame in places.items():
        for render in (github, common):
            shown = Shown(render(markdown))
            assert set(shown.tags) <= frame, (markdown, shown.elements)
            assert words(text) in words(shown.text), markdown


@examples
@given(text=NASTY)
@settings(max_examples=30, deadline=None)
def test_a_link_leads_to_the_web_and_ends_where_it_should(text: str) -> None:
    for begin in ("https://example.org/", "HTTP://example.org/a?b=1&copy=2;", ""):
        for render in (github, common):
            shown = Shown(render(f"- before {format_link(begin + text, 'here')} after"))
            assert set(shown.tags) <= {"ul", "li", "a"}
            assert all(re.match(r"https?:", to, re.I) for to in shown.links)
            linked = bool(begin) or re.match(r"\s*https?://[^/?#\s]", text, re.I) is not None
            assert len(shown.links) == linked
            assert words(shown.text) == ("before here after" if linked else "before after")


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "file:///a", "//a", "http://[", "HTTP:"]
)
def test_other_schemes_are_no_links(url: str) -> None:
    assert format_link(url, "here") == ""


@pytest.fixture(scope="module")
def answer() -> Answer:
    """Some of its sentences have the verdict that a model would give them."""
    made = world_cup_answer()
    assert made.report
    match, *others = made.report.sections
    verdicts = {"Kylian": "partial", "Nobody": "unsupported"}
    judged = tuple(
        claim.model_copy(update={"verdict": verdicts.get(claim.text.split()[0], claim.verdict)})
        for claim in match.sentences
    )
    sections = (match.model_copy(update={"sentences": judged}), *others)
    report = made.report.model_copy(update={"sections": sections})
    made = made.model_copy(update={"report": report})
    to_json(made)  # it fits the schema
    return made


def hostile(text: str) -> Answer:
    """An answer with a report in which each string from outside is this text."""
    ours = "status verdict form match via became markdown confidence schema_version topic"
    made = fill(json.loads(to_json(world_cup_answer())), text, [*ours.split(), "kind", "state"])
    made["slots"][text] = made["slots"].pop("winner")
    made["state"] = {"name": "Answered in part", "open": [text], "disputes": [text]}
    return Answer.model_validate(made)


def fill(value: Any, text: str, kept: Sequence[str], key: str = "") -> Any:
    """A value of JSON with this text for each of its own but those under some keys."""
    if isinstance(value, dict):
        return {name: fill(inner, text, kept, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [fill(inner, text, kept, key) for inner in value]
    if not isinstance(value, str) or key in kept:
        return value
    return f"javascript:{text}" if key in ("url", "link") else text


@pytest.mark.parametrize("text", EVIL)
def test_a_hostile_answer_is_inert_in_both_forms(text: str) -> None:
    answer = hostile(text)
    markdown = to_markdown(answer)
    harmless = hostile("harmless")
    for render in (github, common):
        shown = Shown(render(markdown))
        assert shown.tags == Shown(render(to_markdown(harmless))).tags
        assert shown.links == []  # it has no URL that may be a link
        assert words(shown.text).count(words(text)) > 20
    shown = Shown(to_html(answer))
    assert shown.tags == Shown(to_html(harmless)).tags
    assert all(to.startswith("#") for to in shown.links)
    names = {name for _, attributes in shown.elements for name in attributes}
    assert not {"src", "style", "srcset", "action"} & names
    assert not [name for name in names if name.startswith("on")]


def test_both_forms_say_the_same(answer: Answer) -> None:
    shown = {form: words(Shown(text).text) for form, text in forms(answer).items()}
    report = answer.report
    assert report
    wanted = [answer.topic, report.title, report.rationale, "88,966", "89,000", "not found"]
    wanted += [citation.quote for citation in answer.citations]
    wanted += [citation.title for citation in answer.citations]
    wanted += [claim.text.rstrip(".。") for claim in messages.all_claims(answer)]
    wanted += [text for _, text in messages.describe_methodology(report)]
    wanted += [text for _, text in messages.describe_run(answer)]
    wanted += [messages.describe_source(citation) for citation in answer.citations]
    wanted += [
        *messages.list_notes(answer),
        messages.describe_open(answer),
        "partly confirmed",
        "not confirmed",
        "Low.",
    ]
    for form, text in shown.items():
        missing = [one for one in wanted if words(one) not in text]
        assert not missing, (form, missing)


def forms(answer: Answer) -> dict[str, str]:
    return {"markdown": github(to_markdown(answer)), "html": to_html(answer)}


def test_lists_and_tables_are_shown_as_such() -> None:
    listed = {"form": "item", "intro": "The scorers were:"}
    told = {"form": "row", "intro": "The two sides:\n| Side | Goals |\n| --- | --- |"}
    kinds = {"Two players scored.": {}, "Messi": listed, "*Mbappé*": listed}
    kinds |= {"| Argentina | 3 |": told, "| A \\| B | 2 |": told}
    cited: Any = {"citations": (1,), "verdict": "supported"}
    claims = tuple(Claim(text=text, **cited, **kind) for text, kind in kinds.items())
    answer = Answer(topic="Who scored?", status="complete", claims=claims)
    for form, text in forms(answer).items():
        shown = Shown(text)
        tags = [tag for tag, _ in shown.elements]
        assert tags.count("li") >= 2 and tags.count("tr") == 3, form
        assert (tags.count("th"), tags.count("td")) == (2, 4), form
        for line in ("Two players scored [1].", "The scorers were:", "*Mbappé* [1]", "A | B"):
            assert line in words(shown.text), (form, line)
        assert words(shown.text).count("The scorers were:") == 1


@pytest.mark.parametrize(
    "text, language",
    [
        ("阿根廷队夺得冠军", "zh"),
        ("فازت الأرجنتين", "ar"),
        ("Argentina won 冠军", None),
        ("", None),
    ],
)
def test_a_script_gives_its_language_away(text: str, language: str | None) -> None:
    attributes = language_attributes(text)
    assert attributes.get("lang") == language and attributes["dir"] == "auto"


def test_a_fragment_has_its_hooks_and_ids_of_its_own(answer: Answer) -> None:
    shown = Shown(to_fragment(answer.model_copy(update={"report": None}), "run-2-"))
    ids = [attrs["id"] or "" for _, attrs in shown.elements if "id" in attrs]
    assert len(ids) == len(set(ids)) and all(one.startswith("run-2-") for one in ids)
    marks = [attrs for _, attrs in shown.elements if attrs.get("class") == "marker"]
    assert {int(one["data-source"] or 0) for one in marks} <= {one.id for one in answer.citations}
    quotes = {one.quote for one in answer.citations}
    assert all((one["href"] or "")[1:] in ids and one["title"] in quotes for one in marks)
    classes = [str(attrs.get("class")) for _, attrs in shown.elements]
    assert classes.count("disagreement") == 1 and classes.count("side") == 2
    assert {"sentence quoted", "badge filled", "badge missing", "source"} <= set(classes)
    assert not {"h1", "nav", "script", "style"} & set(shown.tags)
