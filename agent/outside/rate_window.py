"""A rate limit over a sliding window, as pure functions of a small state.

Wall time is cut into slices, `SLICES` of them to a window. A `WindowState` has the number of
requests and tokens reserved in each slice. A request may be reserved if the current slice, the
`SLICES` before it and `MAX_SEND_DELAY` more have room for it together. So the provider sees no more
than the limit in any window, wherever the window begins, if a request arrives within
`MAX_SEND_DELAY` slices of its reservation. This costs 4 of 124 parts of the throughput.

A slice takes no more than a tenth above the mean, so that no burst follows a quiet minute.

A 429 lowers the limit to seven tenths, at most once in a twelfth of a window, and stops all
requests for as long as the provider says. A quarter of the full limit comes back in each window.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from agent.state import Frozen

SLICES = 120  # of one window
MAX_SEND_DELAY = 3  # slices from a request's reservation to its arrival at the provider
SLICE_HEADROOM = 1.1  # the most that a slice may take, as a multiple of the mean
CUT_FACTOR = 0.7  # by which a 429 multiplies the share of the limit that may be used
MIN_SHARE = 0.1  # below which no 429 lowers that share
RECOVERY = 0.25  # what is added to that share in each window
CUT_INTERVAL = 1 / 12  # of a window, between two cuts: requests sent together fail together
MAX_PAUSE = 600.0  # seconds for which a 429 may stop all requests


class RateLimit(NamedTuple):
    """The most requests and tokens in one window. `tokens` None: no limit of tokens."""

    requests: int
    tokens: int | None = None


class Slice(Frozen):
    """What was reserved in slice number `n`, counted from the epoch."""

    n: int
    requests: int = 0
    tokens: int = 0


class WindowState(Frozen):
    """What was lately reserved at a provider, and what its 429s changed. Times are wall time."""

    slices: tuple[Slice, ...] = ()
    share: float = 1.0  # of the limit that may be used, right after `cut`
    cut: float = 0.0  # when a 429 last lowered the share
    rest: float = 0.0  # no request goes before this time


def reserve(
    state: WindowState, limit: RateLimit, tokens: int, now: float, window: float
) -> tuple[float, WindowState]:
    """Reserve a request: 0 and the new state, or the seconds to wait and the state without it.

    `now` and `window` are in seconds.
    """
    width = window / SLICES
    n = math.floor(now / width)
    recent = tuple(each for each in state.slices if n - SLICES - MAX_SEND_DELAY <= each.n <= n)
    state = state.model_copy(update={"slices": recent})
    current = recent[-1] if recent and recent[-1].n == n else Slice(n=n)
    share = _current_share(state, now, window)
    wait = max(state.rest - now, 0.0)
    if not wait and not _has_room(recent, current, limit, share, tokens):
        wait = (n + 1) * width - now
    if wait > 0:
        return max(wait, 0.001), state
    grown = Slice(n=n, requests=current.requests + 1, tokens=current.tokens + tokens)
    others = tuple(each for each in recent if each.n != n)
    return 0.0, state.model_copy(update={"slices": (*others, grown)})


def _has_room(
    slices: tuple[Slice, ...], current: Slice, limit: RateLimit, share: float, tokens: int
) -> bool:
    """Whether one request more fits, in the window and in the current slice."""
    requests = max(1, math.floor(limit.requests * share))
    if current.requests >= math.ceil(requests / SLICES * SLICE_HEADROOM):
        return False
    if sum(each.requests for each in slices) >= requests:
        return False
    if limit.tokens is None:
        return True
    used = sum(each.tokens for each in slices)
    return not used or used + tokens <= limit.tokens * share  # one larger than the limit goes alone


def _current_share(state: WindowState, now: float, window: float) -> float:
    """The share of the limit that may be used now, with what came back since the last cut."""
    return min(1.0, state.share + RECOVERY * max(0.0, now - state.cut) / window)


def record_refusal(state: WindowState, seconds: float, now: float, window: float) -> WindowState:
    """The state after a 429 that asks to wait for `seconds`."""
    rest = max(state.rest, now + min(max(seconds, 0.0), MAX_PAUSE))
    if now - state.cut < window * CUT_INTERVAL:
        return state.model_copy(update={"rest": rest})
    share = max(MIN_SHARE, CUT_FACTOR * _current_share(state, now, window))
    return state.model_copy(update={"share": share, "cut": now, "rest": rest})
