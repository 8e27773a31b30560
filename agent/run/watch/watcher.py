"""One watch: asks its question again, records what has changed and sends notices.

Each notice is written into the watch's file together with the new state, before any notifier
gets it, and struck out there once the channel has it. So a process that is killed at any moment
tells each change at least once; the id of a notice tells a second telling from a second change.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from agent.errors import AgentError
from agent.run.changes import (
    Change,
    Known,
    find_disputes,
    find_slot_changes,
    find_statement_changes,
    known_slots,
    known_statements,
)
from agent.run.validate_request import clean_topic
from agent.run.watch.change_detection import ENOUGH_RUNS, Grounds
from agent.run.watch.notifiers import Notifier
from agent.run.watch.state import MAX_RUNS, Doubt, Notice, Pending, WatchFiles, WatchState, watch_id
from agent.slots.equivalence import same_value
from agent.state import hash_text, parse_utc, utc_now

if TYPE_CHECKING:
    from agent.answer.schema import Answer
    from agent.run.loop import Run
    from agent.settings import Settings

BUSY_WAIT = 5.0  # seconds after which it is looked whether another process has done with a watch


class Watch:
    """A question that stays. `every`: seconds between two runs; None: it is asked when called."""

    def __init__(
        self,
        question: str,
        settings: Settings,
        every: float | None,
        notifiers: Mapping[str, Notifier],
    ) -> None:
        self.question = clean_topic(question)
        self.problems: list[AgentError] = []  # of the last check: notifiers that failed
        self.note = ""  # why the last check sent no notice
        self.unchanged_since = ""  # ISO 8601, where the last check saw that nothing has changed
        self._settings = settings
        self._every = every
        self._notifiers = notifiers
        self._files = WatchFiles(settings)
        self._id = watch_id(self.question, settings.slots)
        self._run: Run | None = None
        self._is_stopped = False

    def stop(self) -> None:
        """End a run that is under way; it does not count."""
        self._is_stopped = True
        if self._run:
            self._run.stop()

    def check(self) -> float:
        """Ask if it is due, and report changes; returns the seconds until it is due again.

        Notices that an earlier process left are sent first. Raises AgentError if nothing could be
        asked; nothing that was known is lost then.
        """
        self.problems, self.note, self.unchanged_since = [], "", ""
        with self._files.hold(self._id) as is_ours:
            if not is_ours:
                self.note = "Another process is asking this now; it reports what changes."
                return BUSY_WAIT
            state = self._files.read(self._id) or self._begin()
            state = self._tell(state)
            if (wait := self._seconds_left(state)) > 0:
                return wait
            self._tell(self._ask(state))
            return self._every or 0.0

    def _begin(self) -> WatchState:
        return WatchState(id=self._id, question=self.question, slots=self._settings.slots)

    def _seconds_left(self, state: WatchState) -> float:
        if self._every is None or not state.asked_at:
            return 0.0
        return parse_utc(state.asked_at).timestamp() + self._every - time.time()

    def _ask(self, state: WatchState) -> WatchState:
        """The state after another run, written. Raises AgentError."""
        from agent.run.begin import research

        settings = self._settings
        if state.slots and settings.slots_schema is None:
            settings = settings.model_copy(update={"slots": state.slots})
        self._run = research(self.question, settings)
        if self._is_stopped:
            self._run.stop()
        answer = self._run.answer()
        state = state.model_copy(update={"asked_at": utc_now()})
        self.note = _why_not_counted(self._run, answer)
        if not self.note:
            state = self._take_in(state, answer, self._run)
        self._files.write(state)
        if answer.error:
            raise AgentError(answer.error.message, answer.error.remedy)
        return state

    # --- what has changed ------------------------------------------------------------------------

    def _take_in(self, state: WatchState, answer: Answer, run: Run) -> WatchState:
        """The state with what a run found, and with the notices of what has changed."""
        slots, statements = known_slots(answer), known_statements(answer)
        is_first = not state.changed_at
        possible = [] if is_first else _possible_changes(state, slots, statements)
        possible += find_disputes(state.values, answer)
        changes, doubts = self._bear_out(possible, state, run) if possible else ([], {})
        notices = [
            _make_notice(state, answer, kind="change", **change._asdict()) for change in changes
        ]
        if is_first:
            notices = [_make_notice(state, answer, kind="state", values=slots)]
        values = state.values | _values_to_keep(state.values, slots, changes)
        # what is not reported yet must not count as reported
        is_settled = len(changes) == len(possible) and answer.run and answer.run.journal
        journals = [answer.run.journal] if is_settled and answer.run else []
        left = tuple(self._notifiers)
        now: dict[str, Any] = {
            "doubts": doubts,
            "slots": state.slots or tuple(answer.slots),
            "values": values,
            "pending": (*state.pending, *(Pending(notice=one, left=left) for one in notices)),
            # a value that comes back is a change too: what pages said before this one is forgotten
            "runs": (*journals, *(() if changes and journals else state.runs))[:MAX_RUNS],
        }
        self.unchanged_since = "" if notices else state.changed_at
        if notices:
            now |= {"changed_at": utc_now(), "statements": statements or state.statements}
        return state.model_copy(update=now)

    def _bear_out(
        self, possible: Sequence[Change], state: WatchState, run: Run
    ) -> tuple[list[Change], dict[str, Doubt]]:
        """The changes that the sources bear out, or runs enough; and what is to be seen again."""
        from agent.run.run_retriever import open_cached_retriever

        changes, doubts = list[Change](), dict[str, Doubt]()
        with closing(open_cached_retriever(self._settings)) as retriever:
            grounds = Grounds(run, state.runs, retriever.read)
            for change in possible:
                weight = grounds.weigh(change)
                doubt = _see_again(state.doubts.get(change.what), change)
                if weight == "enough" or (weight == "some" and doubt.runs >= ENOUGH_RUNS):
                    changes.append(change)
                elif weight == "some":
                    doubts[change.what] = doubt
        return changes, doubts

    # --- telling ---------------------------------------------------------------------------------

    def _tell(self, state: WatchState) -> WatchState:
        """Give each notifier what it has not sent yet; returns the state, written after each."""
        for pending in state.pending:
            for name in pending.left:
                if self._has_told(name, pending.notice):
                    state = _strike_out(state, pending.notice, name)
                    self._files.write(state)
        return state

    def _has_told(self, name: str, notice: Notice) -> bool:
        """Whether a notifier needs a notice no more: it has it, or is not asked for any more."""
        try:
            if name in self._notifiers:
                self._notifiers[name](notice)
        except AgentError as error:
            self.problems.append(error)
            return False
        return True


def _why_not_counted(run: Run, answer: Answer) -> str:
    """Why a run says nothing of what has changed; "" where it does."""
    if answer.error:
        return f"The run failed: {answer.error.message}"
    if run.research.is_halted:
        return "The run was ended early."
    return "A substitute was used for a service that failed." if answer.degraded else ""


def _see_again(doubt: Doubt | None, change: Change) -> Doubt:
    is_same = doubt is not None and same_value(doubt.value, change.new.value)
    return Doubt(value=change.new.value, runs=1 + (doubt.runs if is_same and doubt else 0))


def _possible_changes(
    state: WatchState, slots: dict[str, Known], statements: tuple[Known, ...]
) -> list[Change]:
    """What has another value in the answer of a run. What a slot says, no statement says again."""
    found = [*find_slot_changes(state.values, slots)]
    quotes = {page.quote for change in found for page in change.new.sources}
    others = find_statement_changes(state.statements, statements)
    return found + [one for one in others if not quotes & {page.quote for page in one.new.sources}]


def _values_to_keep(
    old: Mapping[str, Known], new: Mapping[str, Known], changes: Sequence[Change]
) -> dict[str, Known]:
    """The new values: those that changed, those of slots that had none; of others the sources."""
    changed = {one.what: one.new for one in changes if one.what in old}
    kept = {**{name: now for name, now in new.items() if name not in old}, **changed}
    same = {
        name: old[name].model_copy(update={"sources": now.sources})
        for name, now in new.items()
        if name not in kept and same_value(old[name].value, now.value)
    }
    return {**same, **kept}


# --- notices -----------------------------------------------------------------------------------


def _make_notice(state: WatchState, answer: Answer, **fields: Any) -> Notice:
    """A notice. Its id is the same whenever and however often this one is sent."""
    run = answer.run.id if answer.run else ""
    about = "\n".join((state.id, run, fields.get("what", "")))
    own = {"id": hash_text(about, "replace")[:32], "at": utc_now(), "run": run}
    own |= {"watch": state.id, "question": state.question, "answer": answer.answer}
    return Notice.model_validate({**fields, **own})


def _strike_out(state: WatchState, notice: Notice, name: str) -> WatchState:
    """The state without a notifier among those that have a notice to send."""
    rows = [
        (one, tuple(n for n in one.left if n != name) if one.notice.id == notice.id else one.left)
        for one in state.pending
    ]
    pending = tuple(one.model_copy(update={"left": left}) for one, left in rows if left)
    return state.model_copy(update={"pending": pending})
