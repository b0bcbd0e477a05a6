from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from nbtool.wire.providers.env_file import find_env_file
from tests.lanes import find_rest

LOOPBACK = Path(__file__).parent / "no_network"
BROWSER = Path(__file__).parent / "browser"
HOMES = count()


def pytest_configure(config: pytest.Config) -> None:
    """Close the network, for this process and for the tests that hand the folder to another one.

    How long Hypothesis takes says how busy the machine is, and nothing about the code: no test fails by it.

    An interrupt is one in every process: those that xdist starts ignore it, and nbtool stops tools by it.
    """
    is_normal_lane = str(config.option.markexpr).startswith("not nightly")  # whose result depends on the code alone
    settings.register_profile(
        "nbtool", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=is_normal_lane
    )
    settings.load_profile("nbtool")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    spec = spec_from_file_location("only_loopback", LOOPBACK / "sitecustomize.py")
    assert spec
    assert spec.loader
    spec.loader.exec_module(module_from_spec(spec))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from the thousands of tests, which stay until the end: collecting them is
    quicker without it, and a later `gc.collect` looks only at what the tests made.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave a sample of each long table to the normal lane.

    Put the browser's tests last: they are slow, and Playwright leaves a running loop on this thread, where
    `asyncio.run` would fail.
    """
    for item in find_rest(items):
        item.add_marker("nightly")
        item.add_marker("rest")
    items.sort(key=lambda item: BROWSER in item.path.parents)


@pytest.fixture(scope="session", autouse=True)
def home_between_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what a test leaves behind, a turn that ends later, from the history of the person who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NBTOOL_HOME", str(tmp_path_factory.mktemp("between")))
        yield


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Take away the keys, the settings and the history of the person who runs the tests."""
    for name in list(os.environ):
        ours = name.startswith("NBTOOL_") and name != "NBTOOL_CHROMIUM"
        if ours or name.endswith(("_API_KEY", "_BASE_URL")) or name == "OLLAMA_HOST":
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp(f"home-{next(HOMES)}", numbered=False)  # to find a free number all are listed
    monkeypatch.setenv("NBTOOL_HOME", str(home))
    find_env_file.cache_clear()  # a test may have read one of its own


@pytest.fixture
def own_journal() -> Iterator[None]:
    """Give the test the journal of its own home: the process has opened that of an earlier test."""
    from nbtool.chat.journal import journal  # noqa: PLC0415 - tests without a journal do not wait for SQLite

    journal.cache_clear()
    yield
    journal.cache_clear()


@pytest.fixture(autouse=True)
def closed_journals() -> Iterator[None]:
    """Close the journals of a test: what a shell or a thread still refers to is not garbage for thousands of tests."""
    yield
    if module := sys.modules.get("nbtool.chat.journal.process_journal"):
        for book in tuple(module._OPEN):
            if book.path is not None:  # what is in memory would be lost
                with suppress(TimeoutError):  # a test of a slow disk
                    book.close()


@pytest.fixture(autouse=True)
def folded_turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compare each turn that ends in a test with the one that its written events say: there is one state of a turn."""
    differences: list[str] = []
    if module := sys.modules.get("nbtool.chat.turn.turn"):
        from tests.folding import differences_of  # noqa: PLC0415 - only where turns are made

        end = module.Turn._end

        def end_and_compare(turn: Any, *outcome: Any) -> None:
            end(turn, *outcome)
            differences.extend(differences_of(turn))

        monkeypatch.setattr(module.Turn, "_end", end_and_compare)
    yield
    assert differences == []
