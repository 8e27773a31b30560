"""Chinese end to end, German and Arabic where text is cut and quoted."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from agent.evidence import anchor_quote, content_words
from agent.llm.extractive.backend import Extractive
from agent.state.excerpts import Excerpt
from agent.steps.synthesize import WriteAnswer
from tests.evidence.test_evidence import source


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("Er rief „Größe“ – laut.", 'rief "Größe" - laut', "rief „Größe“ – laut"),
        ("Die STRASSE ist lang.", "Die Straße ist lang", "Die STRASSE ist lang"),
        ("فَازَ الفَرِيقُ اليوم.", "فاز الفريق", "فَازَ الفَرِيقُ"),
        ("فاز الفريق اليوم.", "\u200fفاز الفريق\u200f", "فاز الفريق"),
        ("他说“我来了”，就走。", "他说「我来了」,就走", "他说“我来了”，就走"),
        ("共１２３４米。", "共1234米", "共１２３４米"),
        ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", "เป็นเมืองหลวง", "เป็นเมืองหลวง"),
    ],
)
def test_quotes_are_found_across_ways_of_writing(text: str, quote: str, found: str) -> None:
    place = anchor_quote(quote, source(text))
    assert place and place.text == found and text[place.start : place.end] == found


ASKED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
QUESTIONS = [(tag, *pair) for tag, rows in ASKED.items() for pair in rows["asked"].items()]


def pages_in(language: str) -> tuple[Excerpt, ...]:
    pages = ASKED[language]["pages"]
    return tuple(
        Excerpt(source=n, title=title, url=f"https://{n}.example", passages=(text,))
        for n, (title, text) in enumerate(zip(pages[::2], pages[1::2], strict=True), 1)
    )


@pytest.mark.parametrize(("language", "question", "said"), QUESTIONS)
def test_a_question_is_answered_in_its_language(language: str, question: str, said: str) -> None:
    task = WriteAnswer(topic=question, evidence=pages_in(language), max_words=40)
    draft = task.answer_type.model_validate_json(Extractive().generate(task, "").text)
    assert said in draft.answer


@pytest.mark.parametrize("language", ASKED)
def test_pages_about_something_else_answer_in_no_language(language: str) -> None:
    others = {"de": "Wer erfand die Dampfmaschine von Wien?", "zh": "谁发明了维也纳的蒸汽机？"}
    question = others.get(language, "Who invented the steam engine of Vienna?")
    task = WriteAnswer(topic=question, evidence=pages_in(language))
    assert not task.answer_type.model_validate_json(Extractive().generate(task, "").text).answer


def test_runs_without_blanks_are_cut_where_words_end() -> None:
    assert content_words("城を建てた", "ja") == ["城", "建"]  # the endings say nothing
    assert content_words("桥的总设计师", "zh") == ["总设", "设计", "计师", *"桥总设计师"]
    assert content_words("りんごはおいしい", "ja")[:2] == ["りん", "んご"]  # nothing else there
    assert "的总" in content_words("桥的总设计师")  # of no language in particular
    assert content_words("die war son") == ["die", "war", "son"]  # no stop words here
    assert content_words("die war Brücke", "de") == content_words("Brücke", "de")
