"""Signing in to a server: who asks a person in this process, and how a question carries the page's address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SIGN_IN_KEY = "nbtool-sign-in"
"""The key in the schema of a form that is the question about a page: its address. No schema of a server has it."""


RECEIVER = (
    "The answer of that page is sent to another host: {receiver}. Sign in only if both belong together; else that host"
    " could use your account."
)


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """The page at which a person would log in to a server; `host` is that of the page.

    `receiver` is the host that the page's answer is sent to, which gives the tokens; empty if it is the page's own.
    """

    server: str
    host: str
    url: str
    receiver: str = ""

    @property
    def warning(self) -> str:
        """What a person must know about the receiver; empty if it is the page's own host."""
        return RECEIVER.format(receiver=self.receiver) if self.receiver else ""


AskLogin = Callable[[LoginRequest], bool]
"""Asks a person; True if the page was shown and the answer is to be waited for. Called on the waiting thread."""


@dataclass(slots=True)
class _Registry:
    ask: AskLogin | None = None


_registry = _Registry()


def set_login_asker(ask: AskLogin | None) -> None:
    """Set what asks a person about logins in this process; None removes it."""
    _registry.ask = ask


def get_login_asker() -> AskLogin | None:
    """Return the registered function."""
    return _registry.ask


def sign_in_page(schema: Mapping[str, Any], *, is_form: bool) -> str:
    """Return the address of the page that a question is about; empty for any other question."""
    page = schema.get(SIGN_IN_KEY, "") if is_form else ""
    return page if isinstance(page, str) else ""
