"""The parts of a question, and which of them a text leaves out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.evidence.asked import find_count, find_untold, split_question
from agent.evidence.lists import find_left_out

DESIGNED = "Ada Quill designed the Orbita Tower."


@pytest.mark.parametrize(
    ("topic", "told", "untold"),
    [
        ("Who designed it and when was it opened?", DESIGNED, ["when was it opened"]),
        ("Who designed it and when was it opened?", f"{DESIGNED} It opened in 1975.", []),
        ("When was it opened? How long is it?", "It opened in 1975.", ["How long is it"]),
        ("When was she born and when did she die?", "Born in 1931.", ["when did she die"]),
        ("Wann wurde er gebaut und wer entwarf ihn?", "1975 gebaut.", ["wer entwarf ihn"]),
        ("Quand a-t-il ouvert et qui l'a conçu ?", "Ada Quill l'a conçu.", ["Quand a-t-il ouvert"]),
        ("大桥何时通车，谁设计的？", "大桥于1975年通车。", ["谁设计的？"]),
        ("Who won the cup?", "Nobody.", []),
        (
            "Who won and who was the referee?",
            "Argentina won. France lost.",
            ["who was the referee"],
        ),
        ("Who won and who was the referee?", "Argentina won. Referee: Bo Lind.", []),
        ("What is the name of the town, where Goethe died?", "Weimar.", []),
        ("Salt and pepper: who sells them?", "Ada.", []),
    ],
)
def test_the_parts_that_are_not_told(topic: str, told: str, untold: list[str]) -> None:
    assert find_untold(topic, told) == untold


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_split(topic: str, told: str) -> None:
    pieces = split_question(topic)
    assert all(piece in topic for piece in pieces)
    assert set(find_untold(topic, told)) <= {piece.strip(" ,?") for piece in pieces}


LISTED = "The line connects the towns Lund, Uppsala, Malmo and Kiruna."


@pytest.mark.parametrize(
    ("told", "quote", "left_out"),
    [
        ("It connects Lund and Malmo.", LISTED, ["Uppsala", "Kiruna"]),
        ("Kiruna, Malmo, Uppsala and Lund.", LISTED, []),
        ("It begins in Lund.", LISTED, []),  # one thing was asked for
        ("Ada Quill and Bo Lind won.", "Ada Quill, Lund's mayor, and Bo Lind won.", []),
    ],
)
def test_a_list_that_is_told_in_part(told: str, quote: str, left_out: list[str]) -> None:
    assert find_left_out(told, [quote]) == left_out


def test_the_digits_behind_a_point_count_nothing() -> None:
    assert find_count("Which towns are in Zum?", "Zum has 1.5 towns a mile: 15 towns.") == 15
    assert find_count("How tall is Ada Quill?", "Ada Quill is 2.06 m tall.") == 0
