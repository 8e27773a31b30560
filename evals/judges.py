"""What a judge is worth, and what knowing it is worth.

`python -m evals.judges [DATA]` tries the judge of the environment as `doctor` does. Then it puts
faults planted in real sentences to it, one at a time (`evals.differences`, the half not tuned on).
By kind it tells how many are called supported, and how many still are once the trial is known.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from agent.checking.bench import text_around_quotes
from agent.checking.rules import Assessment, QuotePlace, find_unseen
from agent.checking.trial import TRIED
from agent.errors import ModelFailed
from agent.evidence import closest_sentences
from agent.llm import ModelChain
from agent.outside import Ask, Excerpt
from agent.run.models import make_models, order_models
from agent.settings import parse_settings
from agent.state import Claim, Hit, Source
from agent.steps.judges import JudgeClaims, make_trial, weigh_replies
from evals.differences import Case, load
from evals.harness import DATA

EACH = 10  # real sentences of a kind


def put(case: Case, ask: Ask, blind_to: frozenset[str]) -> tuple[bool, bool]:
    """Whether a judge supports a claim, and whether that counts where its blindness is known."""
    source = Source(n=1, page=case.page, hit=Hit(url=case.page.url))
    near = closest_sentences(case.claim, [source], 3)
    evidence = (Excerpt.of(source, text_around_quotes(case.page, near)),)
    claims = (Claim(text=case.claim, citations=(1,)),)
    try:
        reply = ask(JudgeClaims(topic=case.page.title, claims=claims, evidence=evidence))
    except ModelFailed:
        return False, False
    told = [one.verdict for one in reply.answer.verdicts]
    places = [QuotePlace(case.page.text, "", one.start, one.end, source=1) for one in near]
    judged = Assessment("supported", reply.model, blind_to=blind_to)
    before = told[:1] == ["supported"]
    return before, before and not find_unseen(judged, case.claim, places)


def tell_worth(data: Path) -> Iterator[str]:
    """The table of the judge that the environment names, as Markdown."""
    settings = parse_settings(os.environ)
    models = make_models(settings)
    ask = ModelChain(models, settings.llm_timeout, orders=order_models(settings, models))
    tasks = make_trial(settings.claims_per_call)
    for name, worth in weigh_replies((task, ask(task)) for task in tasks).items():
        yield f"{name}: {worth.describe()}\n"
        yield "| kind | n | missed in the trial | supported | still |\n|---|---|---|---|---|"
        cases = [one for one in load(data) if one.half == "report" and one.kind != "number"]
        for kind in sorted({one.kind for one in cases}):
            own = [one for one in cases if one.kind == kind][:EACH]
            told = [put(one, ask, worth.blind_to) for one in own]
            missed = "{} of {}".format(*worth.missed.get(kind, (0, 3))) if kind in TRIED else ""
            before, after = (sum(one[n] for one in told) for n in (0, 1))
            yield f"| {kind} | {len(told)} | {missed} | {before} | {after} |"


if __name__ == "__main__":
    for line in tell_worth(Path(sys.argv[1]) if sys.argv[1:] else DATA):
        print(line, flush=True)
