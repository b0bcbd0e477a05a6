"""The registry of the code runner for a toolset. A light module: the extension registers a runner when it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtool.messages import Media


@dataclass(frozen=True, slots=True)
class CodeResult:
    """The outcome of some code: its output, its last expression's value, its figures, or a one-line error.

    `omitted` is the number of printed characters that are not in `output`.
    """

    output: str = ""
    has_value: bool = False
    value: Any = None
    figures: tuple[Media, ...] = ()
    error: str = ""
    omitted: int = 0


CodeRunner = Callable[[str], CodeResult]
"""Runs code on the calling thread and shows its output like a cell. A person's interrupt propagates."""


@dataclass(slots=True)
class _Registry:
    runner: CodeRunner | None = None


_registry = _Registry()


def set_code_runner(runner: CodeRunner | None) -> None:
    """Set the runner for `notebook_python()`; None removes it."""
    _registry.runner = runner


def get_code_runner() -> CodeRunner | None:
    """Return the registered runner."""
    return _registry.runner
