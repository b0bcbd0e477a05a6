"""The end of a call, raised where it is decided."""

from __future__ import annotations

from nbtool.events import CallStatus


class CallEnded(Exception):
    """Ends a call with this outcome: `text` is sent to the model, `reason` is written to the record.

    `model_reason` is the part of the reason that may be sent to a model, if it is not the whole one.
    """

    def __init__(self, status: CallStatus, text: str, reason: str = "", *, model_reason: str | None = None) -> None:
        super().__init__(text)
        self.outcome: tuple[CallStatus, str, str, str | None] = (status, text, reason or text, model_reason)


class CallForbidden(CallEnded):
    """Ends a call that the administrator's policy forbids: nobody is asked about it."""

    def __init__(self, rule: str) -> None:
        super().__init__("denied", f"This call did not run. {rule}", rule)
