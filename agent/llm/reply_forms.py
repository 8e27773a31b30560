"""The forms in which one server is asked for JSON."""

from __future__ import annotations


class ReplyForms:
    """The forms of a server, the best first. The first one with a readable reply is kept.

    Threads share it: what one of them says of a form that is no longer the current one is ignored.
    """

    def __init__(self, *forms: str) -> None:
        self._forms = forms
        self._kept = ""

    @property
    def current(self) -> str:
        """The form to ask in."""
        return self._forms[0]

    def keep(self, form: str) -> None:
        """Note that a reply in this form was read as it came."""
        if form == self.current:
            self._kept = form

    def leave(self, form: str) -> None:
        """Move on from a form whose reply could not be read, unless it is kept."""
        if form != self._kept:
            self.refuse(form)

    def refuse(self, form: str) -> bool:
        """Move on from a form that the server does not take; False if there is no other."""
        if form == self.current and len(self._forms) > 1:
            self._forms = self._forms[1:]
        return form != self.current
