"""Asks a person, once, before prompts go where only a `.env` of the folder sends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtool.errors import EnvFileNotAllowed
from nbtool.magics.kernel.messages import can_ask_for_input
from nbtool.wire.providers.env_consent import allow


def with_consent(shell: Any, work: Callable[[], object], *, may_ask: bool) -> None:
    """Do something that may send a prompt; where a `.env` was not allowed yet, ask in a line of input and do it then.

    Raises:
        EnvFileNotAllowed: the person said no, or nobody can be asked.
    """
    try:
        work()
    except EnvFileNotAllowed as refusal:
        if not (may_ask and can_ask_for_input(shell) and _agrees(refusal)):
            raise
        allow()
        work()


def _agrees(refusal: EnvFileNotAllowed) -> bool:
    """Ask in one line; only a plain yes is consent."""
    names = " and ".join(refusal.names)
    try:
        answer = input(
            f"{refusal.path} (not a setting of yours) names {names}: send prompts to {refusal.destination}? [y = yes] "
        )
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")
