"""Runs tests on a changed file, in forks of a process that has made all ready; started by `tests.campaigns.mutants`.

    python forked.py [folders of tests]

With folders, nbtool is imported and the tests are collected, and a fork puts the changed code under the functions that
are there. Without, a fork imports nbtool anew: so for a change of what runs at import. Reads a line of JSON for each
run, in a copy of the tree; answers with a line: what stopped the run, empty where every test passed, or FRESH.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TextIO

import pytest

FRESH = "fresh"
"""The answer to a change that cannot be put under functions that are there."""

HEAVY = (
    "anywidget", "httpx", "hypothesis", "IPython", "jupyter_client", "pandas", "pydantic", "json_repair", "markdown_it",
)  # fmt: skip
"""What most tests import beside nbtool, read once."""

ONE_TEST = 60
"""Seconds for one test; it took far less when it was measured."""

SETTINGS = (
    "-q", "-p", "no:cacheprovider", "-o", f"timeout={ONE_TEST}", "--tb=short",
    "-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning",
)  # fmt: skip


class Chosen:
    """Keeps the chosen tests, in their order, and the name of the first that failed."""

    def __init__(self, names: list[str]) -> None:
        self._rank = {name: rank for rank, name in enumerate(names)}
        self.failed = ""

    def of(self, items: list[pytest.Item]) -> list[pytest.Item]:
        """Return the chosen ones."""
        return sorted((one for one in items if one.nodeid in self._rank), key=lambda one: self._rank[one.nodeid])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run what was chosen and nothing else."""
        items[:] = self.of(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of a failure, and print it to the log of the process."""
        if report.failed:
            self.failed = self.failed or report.nodeid
            print(f"{report.nodeid}\n{report.longreprtext}", flush=True)  # noqa: T201 - stdout is the log


def fresh(asked: dict[str, Any]) -> str:
    """Import nbtool and run the tests; gives the one that failed."""
    chosen = Chosen(asked["tests"])
    files = list(dict.fromkeys(name.partition("::")[0] for name in asked["tests"]))
    status = pytest.main(["-x", *SETTINGS, *files], plugins=[chosen])
    return "" if status == pytest.ExitCode.OK else chosen.failed or f"pytest ended with {status!r}"


class Ready:
    """A session of pytest that collects once, and runs what is asked for in forks."""

    def __init__(self, lines: TextIO, answers: TextIO) -> None:
        self._lines, self._answers = lines, answers
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
        self._before: dict[tuple[str, str, int], CodeType] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer line by line instead of running everything."""
        ours = Path.cwd() / "nbtool"
        self._before = {_key(code): code for file in ours.rglob("*.py") for code in _codes_of(file)}
        for function in gc.get_objects():
            if isinstance(function, FunctionType) and function.__code__.co_filename.startswith(str(ours)):
                self._functions[_key(function.__code__)].append(function)
        gc.freeze()
        answer(self._lines, self._answers, lambda asked: self._run(session, asked))
        return True

    def _run(self, session: pytest.Session, asked: dict[str, Any]) -> str:
        if asked["is_changed"] and not self._changed(Path.cwd() / asked["path"]):
            return FRESH
        chosen = Chosen(asked["tests"])
        session.config.pluginmanager.register(chosen)
        items = chosen.of(session.items)
        for item, following in zip(items, [*items[1:], None], strict=True):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if chosen.failed:
                return chosen.failed
        return "" if len(items) == len(asked["tests"]) else "some tests are not there"

    def _changed(self, file: Path) -> bool:
        """Put the code of a file under its functions; says whether that is the whole change, or there is none."""
        new = _codes_of(file)
        if len({_key(code) for code in new}) < len(new):
            return False  # lambdas on one line
        differing = [code for code in new if self._before.get(_key(code)) != code]
        found = [(function, code) for code in differing for function in self._functions[_key(code)]]
        try:
            for function, code in found:
                function.__code__ = code
        except ValueError:  # it closes over other names than before
            return False
        return bool(found)


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes_of(file: Path) -> list[CodeType]:
    return list(_codes(compile(file.read_bytes(), str(file), "exec", dont_inherit=True)))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Return the code of every function and class in a piece of code."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def answer(lines: TextIO, answers: TextIO, work: Callable[[dict[str, Any]], str]) -> None:
    """Do some work for each line, in a fork; a line says how many seconds that may take."""
    for line in lines:
        asked = json.loads(line)
        print(json.dumps(_forked(lambda asked=asked: work(asked), asked["seconds"])), file=answers, flush=True)


def _forked(work: Callable[[], str], seconds: float) -> str:
    verdict = Path("verdict")
    verdict.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            verdict.write_text(work(), encoding="utf-8")
        finally:
            os._exit(0)
    if not _has_ended(child, seconds):
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "took too long"
    os.waitpid(child, 0)
    _end_group(child)
    return verdict.read_text(encoding="utf-8") if verdict.is_file() else "the process died"


def _has_ended(child: int, seconds: float) -> bool:
    """Wait until a process ends; whether it has within so many seconds."""
    process = os.pidfd_open(child)
    try:
        return bool(select.select([process], [], [], seconds)[0])
    finally:
        os.close(process)


def _end_group(child: int) -> None:
    """End what the tests of a mutant left running."""
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def main() -> None:
    """Make ready, and answer line by line."""
    sys.path[0] = str(Path.cwd())
    lines, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    folders = sys.argv[1:]
    log = os.open("ready.log" if folders else "fresh.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    for name in HEAVY:
        import_module(name)
    if folders:
        pytest.main([*SETTINGS, *folders], plugins=[Ready(lines, answers)])
    else:
        answer(lines, answers, fresh)


if __name__ == "__main__":
    main()
