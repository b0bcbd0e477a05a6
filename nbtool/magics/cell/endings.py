"""How the cell of a turn that failed or was stopped ends: with one line, or with none where the view says it."""

from __future__ import annotations

from argparse import Namespace as Flags
from typing import Any

from nbtool.chat.turn import Turn
from nbtool.errors import NotRecorded
from nbtool.events import Event, ReplyFinished
from nbtool.magics.kernel.cell_end import CellEnd
from nbtool.magics.kernel.cell_messages import has_front_end

STUCK = (
    "Stopped, but the turn has not ended yet: a plugin or a tool blocks nbtool's event loop. It ends once that returns;"
    " restart the kernel if it never does."
)
TURN_FAILED = "No {what}answer: see the error above."
PARTIAL, NO_OUTPUT = "whole ", ""


class TurnFailed(CellEnd, Exception):
    """Ends a cell whose turn failed: one line, no traceback.

    The exception text is the error itself, for batch runs; `line` is printed under the cell, where the view
    already shows the error.
    """

    def __init__(self, error: object, line: str = "", more: str = "") -> None:
        super().__init__(f"{error}{more}")
        self.line = f"{line or error}{more}"

    def _render_traceback_(self) -> list[str]:
        return [self.line]


class TurnStopped(CellEnd, KeyboardInterrupt):
    """Ends the cell of a stopped turn, so that the cells after it do not run; its text is the notice to print."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def _hide_error_output(shell: Any) -> None:
    """Show no error for the `TurnStopped` that ends the running cell of a kernel: to stop a turn is no failure.

    The kernel still replies that the cell failed, and so drops the cells that wait.
    """

    def show_once(kind: type[BaseException], value: BaseException, lines: list[str]) -> None:
        vars(shell).pop("_showtraceback", None)
        if not isinstance(value, TurnStopped):  # the person's own code has caught it
            shell._showtraceback(kind, value, lines)

    shell._showtraceback = show_once


def failed_line(shell: Any, flags: Flags, turn: Turn) -> str:
    """Return the line under a failed cell, with the error where no page shows it: papermill logs nothing else."""
    if flags.quiet or isinstance(turn.error, NotRecorded):
        return ""
    line = TURN_FAILED.format(what=PARTIAL if _has_output(turn) else NO_OUTPUT)
    is_unseen = getattr(shell, "kernel", None) is not None and not has_front_end(shell)
    return f"{turn.error}\n{line}" if is_unseen else line


def stop_cell(shell: Any, turn: Turn, *, has_view: bool) -> TurnStopped:
    """Return what ends the cell of a stopped turn; in a kernel its line is printed where no view says it."""
    line = stopped_line(turn)
    if getattr(shell, "kernel", None) is not None:
        _hide_error_output(shell)
        if not (has_view and turn.done.done()):
            print(line)  # noqa: T201 - a notice for the person
    return TurnStopped(line)


def stopped_line(turn: Turn) -> str:
    """Return the line under the cell of a stopped turn."""
    if not turn.done.done():
        return STUCK
    return "Stopped. Partial output is kept." if _has_output(turn) else "Stopped before any output."


def _has_output(turn: Turn) -> bool:
    return any(event.kind == "call_finished" or _has_parts(event) for event in turn.log)


def _has_parts(event: Event) -> bool:
    return isinstance(event, ReplyFinished) and bool(event.message.parts)
