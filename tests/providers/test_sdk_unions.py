"""The dialects against the types of the providers' newest SDKs: no member of a union is silently dropped.

`make lane LANE=sdks` installs the SDKs below `build/sdks`. Each member that shows nothing in a reply is in
`unread_members.toml`, with the reason; what else there is has an effect that can be seen: text, a call, a notice,
an error, another stop.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.providers.sdk_replies import FRAMES, effects

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
SDK_PYTHON = HERE.parents[1] / "build/sdks/bin/python"


@cache
def sdk_members() -> dict[str, dict[str, Any]]:
    """Return the members of each union with their samples, as the SDKs have them."""
    if not SDK_PYTHON.exists():
        pytest.skip("The SDKs are not installed; `make lane LANE=sdks` installs them.")
    written = subprocess.run(
        [SDK_PYTHON, HERE / "sdk_samples.py"], capture_output=True, check=True, timeout=120, text=True
    )
    answer: dict[str, Any] = json.loads(written.stdout)
    return answer["members"]


def reasons() -> dict[str, dict[str, str]]:
    return tomllib.loads((HERE / "unread_members.toml").read_text())


@pytest.mark.parametrize("union", FRAMES)
def test_every_member_is_handled_or_named_with_a_reason(union: str) -> None:
    members, without = sdk_members()[union], effects(union)

    dropped = {name for name, sample in members.items() if effects(union, name, sample) == without}

    assert dropped == set(reasons().get(union, {}))


def test_every_union_of_the_sdks_has_replies() -> None:
    assert sdk_members().keys() == FRAMES.keys()
    assert all(members for members in sdk_members().values())
    assert all(reason for named in reasons().values() for reason in named.values())


@pytest.mark.parametrize(
    ("union", "dialect"),
    [(union, union.partition(" ")[0]) for union in ("responses events", "anthropic blocks", "gemini part")],
)
def test_a_member_that_nobody_knows_is_found(union: str, dialect: str) -> None:
    unknown = {"gemini": {"text": "sample"}}.get(dialect, {"type": "unheard_of", "text": "sample of text"})

    is_dropped = effects(union, "unheard_of", unknown) == effects(union)

    assert is_dropped == (union == "responses events")
