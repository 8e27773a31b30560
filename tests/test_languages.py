"""Chinese end to end, German and Arabic where text is cut and quoted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.evidence import anchor_quote, fold_with_offsets, split_sentences
from agent.run import research
from agent.settings import Settings
from tests.services import ModelRequest, Raw, Services
from tests.test_evidence import cut, source
from tests.thinker import Fact, Thinker, support_all

BRIDGE = (
    "青龙桥位于临江市，全长一千二百米。青龙桥于1987年由工程师李文山设计建成。每天有三万人过桥。"
)
MUSEUM = "临江市博物馆收藏了许多古代瓷器。门票免费，周一闭馆。"
QUESTION = "青龙桥是谁设计的？"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Das war am 3. Oktober 1990. Danach kam Dr. Weiß.",
            ["Das war am 3. Oktober 1990.", "Danach kam Dr. Weiß."],
        ),
        ("Er sagte: „Komm!“ Sie ging.", ["Er sagte: „Komm!“", "Sie ging."]),
        (
            "Z. B. Brot, d. h. Essen, u. a. Käse. Gut.",
            ["Z. B. Brot, d. h. Essen, u. a. Käse.", "Gut."],
        ),
        (
            "Im 19. Jahrhundert, ca. 1850, begann es. Ludwig XIV. regierte.",
            ["Im 19. Jahrhundert, ca. 1850, begann es.", "Ludwig XIV. regierte."],
        ),
        (
            "Die Fa. Müller GmbH (gegr. 1901) u. Co. zahlte 3.500 Euro. Ende.",
            ["Die Fa. Müller GmbH (gegr. 1901) u. Co. zahlte 3.500 Euro.", "Ende."],
        ),
        ("Er starb 44 v. Chr. in Rom, z. B. so.", ["Er starb 44 v. Chr. in Rom, z. B. so."]),
        ("彼は「行く。来る。」と言った。はい。", ["彼は「行く。来る。」と言った。", "はい。"]),
        ("他问：“谁？你吗？”他走了。", ["他问：“谁？你吗？”", "他走了。"]),
        ("هل فاز الفريق؟ نعم، فاز! انتهى.", ["هل فاز الفريق؟", "نعم، فاز!", "انتهى."]),
        ("قال د. أحمد إنه فاز. ثم ذهب.", ["قال د. أحمد إنه فاز.", "ثم ذهب."]),
        (
            "他说：“我来了。”然后走了。真的吗？！是的……好吧。",
            ["他说：“我来了。”", "然后走了。", "真的吗？！", "是的……好吧。"],
        ),
        ("价格是3.5元。第2名是他；第3名是她。", ["价格是3.5元。", "第2名是他；第3名是她。"]),
    ],
)
def test_sentences_are_cut_where_they_end(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


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


MANY = st.text(st.sampled_from("aß1. „“؟،。！”x\u0640\u064e\u200f\u0301ف来 \n-–"), max_size=60)


@given(MANY, st.data())
def test_offsets_hold_in_every_script(text: str, data: st.DataObject) -> None:
    folded, origin = fold_with_offsets(text)
    assert len(folded) == len(origin) and list(origin) == sorted(origin)
    for start, end in split_sentences(text):
        assert text[start:end] == text[start:end].strip() != ""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    place = anchor_quote(text[start:end], source(text))
    assert place is None or text[place.start : place.end] == place.text


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
    assert services.search_queries == [QUESTION, "青龙桥 设计者"]
    assert answer.status == "complete" and answer.answer.startswith("青龙桥由工程师李文山设计")
    assert answer.answer.endswith("。") and answer.claims[0].verdict == "supported"
    (quote,) = answer.citations
    assert quote.quote == "青龙桥于1987年由工程师李文山设计建成。" and quote.match == "exact"
    assert quote.credibility.relevance > 0 and quote.url == services.url("bridge")
    assert answer.slots["设计者"].value == "李文山"


def test_a_chinese_question_without_a_model(tmp_path: Path) -> None:
    rows = [{"title": "青龙桥", "text": BRIDGE}, {"title": "临江市博物馆", "text": MUSEUM}]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    settings = Settings(
        offline=True, corpus=corpus, cache_dir=tmp_path / "cache", runs_dir=tmp_path / "runs"
    )
    run = research(QUESTION, settings)
    for _ in run:
        pass
    answer = run.answer()
    assert "李文山" in answer.answer and answer.citations[0].title == "青龙桥"
    assert all(BRIDGE[c.start : c.end] == c.quote for c in answer.citations if c.title == "青龙桥")
