"""Runs tests in another order; loaded by `-p tests.campaigns.faults.shuffled`, with a seed in the environment."""

from __future__ import annotations

import os
import random
from collections import defaultdict

import pytest

SEED = "NBTOOL_FAULTS_ORDER"
"""The environment variable with the seed."""

_chance = random.Random(os.environ.get(SEED, "0"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle; what shares a file stays together, for it shares what the file sets up."""
    files: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[str(item.path)].append(item)
    names = list(files)
    _chance.shuffle(names)
    for name in names:
        _chance.shuffle(files[name])
    items[:] = [item for name in names for item in files[name]]
