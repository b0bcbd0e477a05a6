"""Asks the person once before prompts are sent to an address that only a `.env` of the folder sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtool.errors import EnvFileNotAllowed
from nbtool.magics.kernel.cell_messages import can_ask_for_input
from nbtool.magics.kernel.page_lines import is_agreed
from nbtool.wire.providers.env_consent import allow


def with_consent(shell: Any, work: Callable[[], object], *, may_ask: bool) -> None:
    """Run an action that may send a prompt; if a `.env` needs consent, ask with a line of input and run it again.

    Raises:
        EnvFileNotAllowed: the person declined, or nobody can be asked.
    """
    try:
        work()
    except EnvFileNotAllowed as refusal:
        if not (may_ask and can_ask_for_input(shell) and is_agreed(shell, _question(refusal))):
            raise
        allow()
        work()


def _question(refusal: EnvFileNotAllowed) -> str:
    names = " and ".join(refusal.names)
    return (
        f"{refusal.path} (not set by you) sets {names}: send prompts to {refusal.destination}?\n"
        "Yes holds until the file changes; `%chat env forget` takes it back, and `%chat env allow` gives it later."
    )
