"""Warnings of nbtool's own threads, where an exception would leave a turn without an end."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

import nbtool
from nbtool.threads.loop import report_warning

PACKAGE = Path(nbtool.__file__).parent
OF_THE_CALLER = {
    "chat/batch/prompts.py",
    "chat/batch_builder.py",
    "chat/provider_batches.py",
    "threads/loop.py",
    "tools/mcp/server.py",
    "wire/providers/env_file.py",
}
"""Files that warn on the thread of the caller, who may have made warnings errors; one of them has `report_warning`."""


def test_a_warning_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="something is wrong"):
        report_warning("something is wrong")


def test_a_warning_is_one_line_without_source_of_nbtool_and_shown_once() -> None:
    text = "something else is wrong"
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(2):
            report_warning(text)

    lines = [warnings.formatwarning(str(it.message), it.category, it.filename, it.lineno) for it in shown]
    assert lines == [f"nbtool:1: UserWarning: {text}\n"]


def test_a_repeated_warning_is_shown_each_time() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(2):
            report_warning("something is wrong", is_repeated=True)

    assert len(shown) == 2


def test_a_warning_that_is_an_error_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report_warning("something is wrong")

    assert "something is wrong" in capsys.readouterr().err


def test_a_hook_of_the_user_that_fails_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no place to show it")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", fail)
        report_warning("something is wrong")

    assert "something is wrong" in capsys.readouterr().err


@pytest.mark.sampled(0)
def test_nothing_else_warns_on_a_thread_of_nbtools() -> None:
    warning = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"warnings.warn", "warnings.warn_explicit"}
    }

    assert warning == OF_THE_CALLER
