"""What a refusal of the administrator's policy advises: what helps for the thing that was refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Chat
from nbtool.errors import PolicyRefused
from nbtool.testing import ScriptedWire
from tests.policy.in_force import policy_in_force
from tests.samples import PNG

REFUSALS: dict[str, tuple[Callable[[Chat], Any], str]] = {
    "a variable": (lambda chat: chat.expose(read=True, n=1), r"Expose it by reference: `-v NAME`"),
    "rows": (
        lambda chat: chat.map("Who is {who}?", pd.DataFrame({"who": ["x"]}), progress=False),
        r"Only names, types and shapes are sent; a tool gets the object itself by reference: `-v NAME`",
    ),
    "an attachment": (
        lambda chat: chat.send("Look.", attach=PNG),
        r"Leave it out \(`--attach`, attach=\), and describe it in the prompt",
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_advises_what_helps_for_the_thing_that_was_refused(what: str, tmp_path: Path) -> None:
    refused, advice = REFUSALS[what]
    with (
        policy_in_force(tmp_path, "[values]\nmay_leave = false"),
        ScriptedWire([]) as wire,
        pytest.raises(PolicyRefused, match=advice),
    ):
        refused(Chat(wire=wire))
