"""Chinese end to end, German and Arabic where text is cut and quoted."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agent.evidence import anchor_quote, content_words
from agent.evidence.language import LANGUAGES, language_of, load_language
from agent.evidence.quantities import months
from agent.llm.extractive.engine import Extractive
from agent.llm.extractive.question import parse_question
from agent.outside import Excerpt
from agent.run import research
from agent.search.corpus import Corpus
from agent.settings import Settings
from agent.steps.generate_queries import MakeQueries
from agent.steps.synthesize import WriteAnswer
from tests.evidence.test_evidence import source
from tests.support.services import ModelRequest, Raw, Services
from tests.support.thinker import Fact, Thinker, support_all

BRIDGE = (
    "青龙桥位于临江市，全长一千二百米。青龙桥于1987年由工程师李文山设计建成。每天有三万人过桥。"
)
MUSEUM = "临江市博物馆收藏了许多古代瓷器。门票免费，周一闭馆。"
QUESTION = "青龙桥是谁设计的？"


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("Er rief „Größe“ – laut.", 'rief "Größe" - laut', "rief „Größe“ – laut"),
        ("Die STRASSE ist lang.", "Die Straße ist lang", "Die STRASSE ist lang"),
        ("فـــاز الفريق اليوم.", "فاز الفريق", "فـــاز الفريق"),
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


def test_a_chinese_question_over_the_wire(services: Services, settings: Settings) -> None:
    services.pages = {"bridge": BRIDGE, "museum": MUSEUM}
    rows = [
        {"title": title, "link": services.url(name), "snippet": f"关于{title}。"}
        for name, title in (("museum", "临江市博物馆"), ("bridge", "青龙桥的设计"))
    ]
    services.hits = lambda _: Raw(200, json.dumps({"organic_results": rows}))
    facts = Thinker([Fact("设计者", "李文山", "李文山")], ["青龙桥 设计者"])

    def think(asked: ModelRequest) -> dict[str, object]:
        if asked.task == "verify":
            return support_all(asked)
        reply = facts(asked)
        if asked.task == "synthesize":
            n = reply["citations"][0]["source"]
            reply["answer"] = f"青龙桥由工程师李文山设计[{n}]。"
        return reply

    services.think = think
    run = research(QUESTION, settings)
    for _ in run:
        pass
    answer = run.answer()
    assert sorted(services.search_queries) == sorted([QUESTION, "青龙桥 设计者"])
    assert answer.status == "complete" and answer.answer.startswith("青龙桥由工程师李文山设计")
    assert answer.answer.endswith("。") and answer.claims[0].verdict == "supported"
    (quote,) = answer.citations
    assert quote.quote == "青龙桥于1987年由工程师李文山设计建成。" and quote.match == "exact"
    assert quote.credibility.relevance > 0 and quote.url == services.url("bridge")
    assert answer.slots["设计者"].value == "李文山"


# --- what is asked in each language, without a model ---------------------------------------------

ASKED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
QUESTIONS = [(tag, *pair) for tag, told in ASKED.items() for pair in told["asked"].items()]


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


@pytest.mark.parametrize(("language", "question", "_said"), QUESTIONS)
def test_a_language_is_told_and_no_question_word_is_searched_alone(
    language: str, question: str, _said: str
) -> None:
    assert language_of(question).tag == language
    task = MakeQueries(topic=question)
    plan = task.answer_type.model_validate_json(Extractive().generate(task, "").text)
    stop = load_language(language).stop
    assert all(set(query.casefold().strip("¿? ").split()) - stop for query in plan.queries)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Wann wurde die Brücke eröffnet?", "date"),
        ("Où se trouve le musée ?", "place"),
        ("¿Cuántos habitantes tiene Lund?", "number"),
        ("Chi ha scritto il libro?", "name"),
        ("Quanto custou a ponte do porto?", "money"),
        ("Hoe hoog is de toren?", "number"),
        ("Кто написал эту книгу?", "name"),
        ("这座桥有多长？", "number"),
        ("橋はどこにありますか？", "place"),
        ("متى افتتح الجسر؟", "date"),
        ("谁发明了电话？", "name"),
        ("Is it open on Sunday?", "yesno"),
        ("In what year did it open?", "date"),
        ("What should I do when the light is red?", "text"),
        ("Why was the bridge closed?", "reason"),
        ("Wodurch wurde die Brücke beschädigt?", "reason"),
        ("Quelle est la cause de l'incendie ?", "reason"),
        ("ما سبب إغلاق الجسر؟", "reason"),
        ("橋が壊れた原因は何ですか？", "reason"),
        ("How does the bridge know how many cars are on it?", "passage"),
        ("Who led the town when the bridge was built?", "name"),
    ],
)
def test_what_a_question_asks_for_is_told_in_each_language(question: str, kind: str) -> None:
    assert parse_question(question).kind == kind


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("es", "universidades", "universidad"),
        ("de", "Brücken", "Brücke"),
        ("fr", "continuellement", "continuelle"),
        ("ru", "городами", "города"),
        ("ar", "والمدرسة", "مدرسة"),
        ("en", "bridges", "bridge"),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, one: str, other: str) -> None:
    assert content_words(one, language) == content_words(other, language) != []


def test_runs_without_blanks_are_cut_where_words_end() -> None:
    assert content_words("城を建てた", "ja") == ["城", "建"]  # the endings say nothing
    assert content_words("桥的总设计师", "zh") == ["总设", "设计", "计师", *"桥总设计师"]
    assert content_words("りんごはおいしい", "ja")[:2] == ["りん", "んご"]  # nothing else there
    assert "的总" in content_words("桥的总设计师")  # of no language in particular


@pytest.mark.parametrize(
    ("title", "text", "question"),
    [
        ("Лазарев", "Николай Лазарев открыл больницу.", "Кто такой хирург Лазарева?"),
        ("قلعة", "تعرضت القلعة لزلزال.", "متى بنيت قلعة؟"),
        ("Brücke", "Die Straßen und Brücken der Stadt sind alt.", "Welche Straße ist alt?"),
        ("Ponte", "I mercanti pagavano un pedaggio.", "Che cosa pagò il mercante?"),
    ],
)
def test_other_forms_of_a_word_are_found_in_a_corpus(
    tmp_path: Path, title: str, text: str, question: str
) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"title": title, "text": text}) + "\n", "utf-8")
    corpus = Corpus(file, None)
    assert [hit.title for hit in corpus.search(question)] == [title]
    corpus.close()


def test_a_word_of_another_language_is_no_stop_word() -> None:
    assert content_words("die war son") == ["die", "war", "son"]
    assert content_words("die war Brücke", "de") == content_words("Brücke", "de")


def test_every_language_has_stop_words_questions_and_months_or_numbers_for_them() -> None:
    for tag in LANGUAGES:
        language = load_language(tag)
        kinds = {kind for kind, _ in language.asks}
        assert language.stop and {"name", "date", "place", "number", "money"} <= kinds
        assert {"reason"} <= language.holds.keys() and (
            tag == "en" or {"number", "place"} <= language.holds.keys()
        )
        assert len(language.months) == (0 if tag in ("zh", "ja") else 12)
    assert {months()[name] for name in ("mayo", "mai", "maggio", "мая", "mei", "مايو")} == {5}
