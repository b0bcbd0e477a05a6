"""A plugin for pytest: the fixture `nbtool_replay` replays the turns of a test from a file beside it.

    def test_the_answer_names_the_cheapest(nbtool_replay):
        turn = Chat("openai:gpt-6.1-terra", tools=[price]).send("Which of AAPL and NVDA is cheaper?")
        assert "NVDA" in turn.text

`pytest --nbtool-record` sends what is not recorded yet to the model, and records it. Without it nothing is sent, and a
test with a turn that is not in its recording fails.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nbtool.chat.recording.environment import UnrecordedTurn

RECORD_MODES = ("none", "once", "new_episodes", "rewrite")
"""The modes, by the names of VCR.py and pytest-recording."""

FOLDER = "recordings"
"""The folder of recordings beside a test file."""

MAX_NAME = 120
"""Maximum number of characters of a recording's name; of a longer one a digest is the end."""

MAX_REPORTED = 5
"""Maximum number of turns that a failure lists."""

MAX_EXCERPT = 80
"""Maximum number of characters of a prompt quoted in a failure."""

_FORBIDDEN = re.compile(r"""[<>?%*:|"'/\\\x00-\x1f]""")


@dataclass(frozen=True, slots=True)
class ReplaySession:
    """The recording of one test: its file, its mode, and the turns of the test that are not in it.

    A test that expects such a turn empties `unrecorded`; otherwise it fails.
    """

    path: Path
    mode: str
    unrecorded: list[UnrecordedTurn]


_SESSION = pytest.StashKey[ReplaySession]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of nbtool."""
    group = parser.getgroup("nbtool", "recordings of nbtool")
    group.addoption(
        "--nbtool-record",
        dest="nbtool_record_mode",
        action="store_const",
        const="new_episodes",
        default="none",
        help="send turns that are not recorded to the model, and record them",
    )
    group.addoption(
        "--nbtool-record-mode",
        dest="nbtool_record_mode",
        choices=RECORD_MODES,
        default="none",
        help="none: only replay (the default); once: record tests without a recording; new_episodes: record what is"
        " missing, as --nbtool-record does; rewrite: delete the recordings first",
    )


@pytest.fixture(scope="module")
def nbtool_recording_dir(request: pytest.FixtureRequest) -> Path:
    """The folder of a test file's recordings; override it for another one."""
    return request.path.parent / FOLDER / request.path.stem


@pytest.fixture
def nbtool_replay(
    request: pytest.FixtureRequest, nbtool_recording_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ReplaySession]:
    """Replay the turns of a test, in this process and those that it starts, from its recording."""
    from nbtool.chat.recording import environment  # noqa: PLC0415 - every run of pytest loads this plugin

    path = Path(nbtool_recording_dir) / f"{recording_name(request)}.nbtool.json"
    mode = str(request.config.getoption("nbtool_record_mode"))
    if mode == "rewrite":
        path.unlink(missing_ok=True)
    is_recorded = mode == "none" or (mode == "once" and path.exists())
    monkeypatch.setenv(environment.FILE, str(path))
    monkeypatch.setenv(environment.MODE, "only" if is_recorded else "auto")
    monkeypatch.setenv("NBTOOL_JOURNAL", "off")
    with environment.watch_unrecorded() as unrecorded:
        session = request.node.stash[_SESSION] = ReplaySession(path, mode, unrecorded)
        yield session


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test with a turn that is not in its recording; what else fails in it is a consequence."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, pytest.exit.Exception):
        raise
    except BaseException:
        if failure := _failure_of(item):
            raise failure from None
        raise
    if failure := _failure_of(item):
        raise failure


def recording_name(request: pytest.FixtureRequest) -> str:
    """Return the name of a test's recording: its class, its name and its parameters."""
    name = f"{request.cls.__name__}.{request.node.name}" if request.cls else str(request.node.name)
    safe = _FORBIDDEN.sub("-", name)
    if len(safe) <= MAX_NAME:
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe[: MAX_NAME - 9]}-{digest}"


def _failure_of(item: pytest.Item) -> BaseException | None:
    session = item.stash.get(_SESSION, None)
    if session is None or not session.unrecorded:
        return None
    return pytest.fail.Exception(_explain(session.unrecorded, session.mode), pytrace=False)


def _explain(unrecorded: Sequence[UnrecordedTurn], mode: str) -> str:
    """Return a line for each turn, which says how to record it."""
    from nbtool.text import shorten  # noqa: PLC0415 - every run of pytest loads this plugin

    fix = {"none": " Record it: pytest --nbtool-record", "once": " Record it: pytest --nbtool-record"}.get(mode, "")
    lines = [
        f"Not recorded: {shorten(' '.join(turn.prompt.split()), MAX_EXCERPT)!r}. {turn.reason}{fix}"
        for turn in unrecorded[:MAX_REPORTED]
    ]
    more = len(unrecorded) - len(lines)
    from nbtool.text import count_are  # noqa: PLC0415 - every run of pytest loads this plugin

    return "\n".join([*lines, *([f"{count_are(more, 'more turn')} not recorded."] if more > 0 else [])])
