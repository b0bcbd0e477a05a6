"""What ends a cell without being a fault of code: no debugger opens for it, as for a `UsageError` of IPython."""

from __future__ import annotations

import sys
from typing import Any


class CellEnd(BaseException):
    """A base of the exceptions by which a cell of nbtool ends, and whose text says what happened."""


def skip_debugger(shell: Any) -> None:
    """Open no debugger after such an exception with `%pdb on`; `%debug` opens it, and every other exception does."""
    shell_type = type(shell)

    def debugger(*args: Any, **options: Any) -> Any:
        if isinstance(sys.exc_info()[1], CellEnd):  # the one that is being shown
            return None
        return shell_type.debugger(shell, *args, **options)

    shell.debugger = debugger


def put_debugger_back(shell: Any) -> None:
    """Leave the debugger of the shell as it was before `skip_debugger`."""
    vars(shell).pop("debugger", None)
