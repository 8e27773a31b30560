"""The steps that several strategies build alike: verify, and what a follow-up run begins with."""

from __future__ import annotations

from agent.calls import ExternalCalls
from agent.settings import Settings
from agent.steps.follow_parent import FollowParent
from agent.steps.verify import Verify

MOST_FOLLOWED = 5  # pages of earlier runs that a run takes: each is written into its journal


def build_follow(calls: ExternalCalls, settings: Settings) -> FollowParent | None:
    """What a run that follows another begins with; None for a run that follows none."""
    if calls.parent is None:
        return None
    return FollowParent(calls.ask, calls.fallback, calls.parent, MOST_FOLLOWED, settings.lang)


def build_verify(calls: ExternalCalls, settings: Settings) -> Verify:
    return Verify(
        calls.ask,
        settings.effort.evidence_tokens,
        settings.lang,
        mode=settings.verify,
        batch=settings.claims_per_call,
        on_unsupported=settings.on_unsupported,
    )
