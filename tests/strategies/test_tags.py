"""The parser of tagged replies: what was written is read, whatever a model forgot."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.llm import Generation
from agent.llm.replies import parse_reply
from agent.strategies.loop import tags
from agent.strategies.loop.decide import ChooseAction

PLAIN = st.text(st.characters(blacklist_characters="<＜>＞", blacklist_categories=["Cs"])).map(
    str.strip
)
NAME = st.sampled_from(tags.NAMES)


@given(st.lists(st.tuples(NAME, PLAIN, st.booleans(), PLAIN), max_size=8))
def test_what_was_written_is_read(parts: list[tuple[str, str, bool, str]]) -> None:
    """With a close tag, or without one where the next tag follows."""
    text = "".join(
        f"<{name}>{body}</{name}>{between}" if closed else f"<{name}>{body}"
        for name, body, closed, between in parts
    )
    for name in tags.NAMES:
        assert tags.find_all_contents(text, name) == [
            body for n, body, _, _ in parts if n == name and body
        ]


@given(st.text(), NAME)
def test_any_text_is_read(text: str, name: str) -> None:
    found = tags.find_all_contents(text, name)
    assert all(found) and all(part in text for part in found)
    assert tags.find_content(text, name) == (found[0] if found else None)


@given(
    st.lists(
        st.sampled_from(["<action>", "</query>", "<", "{", "}", "search_web", " ", "<ANSWER", ">"])
    )
)
def test_any_reply_is_a_decision_or_a_refusal(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        decision, _ = parse_reply(Generation(text=text), ChooseAction(topic="x"))
    except ValueError:
        assert not tags.starts_with_tag(text)
    else:
        assert all(query in text for query in decision.queries)


def test_case_blanks_and_wide_brackets_are_forgiven() -> None:
    text = "Thinking.\n< ACTION >search_web</ action >＜query＞一＜/query＞<Query> two words "
    assert tags.find_content(text, "action") == "search_web"
    assert tags.find_all_contents(text, "query") == ["一", "two words"]


def test_a_long_hostile_reply_is_read_to_its_end() -> None:
    """In hundredths of a second; anything but linear time would hang here."""
    for text in ("<" * 200_000, "<action" * 30_000, "< / " * 50_000):
        assert tags.find_all_contents(text, "query") == []
    assert tags.find_all_contents("<query>" * 30_000 + "x", "query") == ["x"]


def test_the_first_mark_decides_which_form_a_reply_has() -> None:
    assert tags.starts_with_tag("Either of {Ada, Eve}. <action>search_web")
    assert not tags.starts_with_tag('{"plan": "<action>search_web</action>"}')
