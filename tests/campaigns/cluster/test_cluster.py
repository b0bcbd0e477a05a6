from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.campaigns.bounds import seed
from tests.campaigns.cluster.campaign import run_campaign

pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns of what it deprecates, and of what it leaves when killed

Tell = Callable[[str, object], None]


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_killed_workers_and_schedulers_repeat_no_effect_and_lose_no_answer(
    tmp_path: Path, record_property: Tell
) -> None:
    check(tmp_path, prompts=400, kills=6, compared=400, tell=record_property)


@pytest.mark.weekly
@pytest.mark.timeout(6 * 3600)
def test_a_hundred_thousand_prompts_across_twenty_kills(tmp_path: Path, record_property: Tell) -> None:
    check(tmp_path, prompts=100_000, kills=20, compared=10_000, tell=record_property)


def check(folder: Path, *, prompts: int, kills: int, compared: int, tell: Tell) -> None:
    found = run_campaign(folder, prompts, kills, seed, compared=compared)
    tell("injected", sum(found.kills.values()))

    assert found.violations == [], found.table()
    assert found.answered + found.unknown == prompts
