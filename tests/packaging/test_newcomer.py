"""A newcomer, on the oldest and on the newest Python: from nothing to an approved call in JupyterLab, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packaging.newcomer import build_wheel, find_pythons, go

WALK_SECONDS = 600

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.timeout(WALK_SECONDS)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.parametrize("which", [0, -1], ids=["oldest", "newest"])
def test_a_newcomer_installs_the_wheel_and_gets_an_answer_in_jupyterlab(
    which: int, wheel: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    version, python = find_pythons()[which]

    walk = go(version, python, wheel, tmp_path)

    for step, seconds in walk.seconds.items():
        record_property(f"Python {version}, {step}", round(seconds, 1))
    assert walk.seen["%load_ext nbtool"].startswith("nbtool: practice:")
    assert "heaviest" in walk.seen["%%chat, to the question"]
    assert "6300" in walk.seen["Approve, to the answer"]
