"""The approvals that skip later questions."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import get_args

from nbtool.errors import ApprovalError
from nbtool.ids import new_id
from nbtool.tools.approval.decisions import Scope
from nbtool.tools.approval.question import Question


@dataclass(frozen=True, slots=True)
class RememberedApproval:
    """An approval that skips later questions until it is revoked or the kernel stops."""

    approval_id: str
    scope: Scope
    tool: str
    shown: str
    by: str
    qualified_name: str = ""

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.tool


class RememberedApprovals:
    """Approvals by what they cover; in memory only. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[str, RememberedApproval] = {}

    def add(self, question: Question, scope: Scope, *, by: str) -> RememberedApproval:
        """Skip later questions that the approval of this one covers.

        Raises:
            ApprovalError: approvals of this tool or this call are not remembered.
        """
        check_scope(question, scope)
        entry = RememberedApproval(
            new_id("approval"), scope, question.tool, question.shown, by, question.qualified_name
        )
        with self._lock:
            return self._by_key.setdefault(question.remember_keys[scope], entry)

    def find(self, question: Question) -> RememberedApproval | None:
        """Return the approval that covers a question, if there is one."""
        if not question.can_remember:
            return None
        with self._lock:
            entries = (self._by_key.get(key) for key in question.remember_keys.values())
            return next((entry for entry in entries if entry), None)

    def entries(self) -> tuple[RememberedApproval, ...]:
        """Return all of them, oldest first."""
        with self._lock:
            return tuple(self._by_key.values())

    def revoke(self, approval_id: str) -> None:
        """Forget an approval.

        Raises:
            ApprovalError: no approval has this id.
        """
        with self._lock:
            for key, entry in self._by_key.items():
                if entry.approval_id == approval_id:
                    del self._by_key[key]
                    return
        raise ApprovalError(
            f"No remembered approval has the id {approval_id!r}.", fix="List them with `%chat approvals`."
        )


def check_scope(question: Question, scope: Scope) -> None:
    """Raise if an approval of this question cannot be remembered for this scope."""
    if scope not in get_args(Scope):
        raise ApprovalError(f"remember={scope!r} is not a scope.", fix="Use 'call' or 'tool'.")
    if not question.can_remember:
        raise ApprovalError(
            f"{question.display_name!r} asks before every call, so its approvals cannot be remembered.",
            fix="Approve each call.",
        )
    if scope == "call" and not question.can_remember_call:
        raise ApprovalError(
            f"The approval of this call of {question.display_name!r} cannot be remembered: nbtool cannot detect changes"
            " in an object that it gets, or in data that the tool uses.",
            fix="Approve it this once, or every call of the tool.",
        )
