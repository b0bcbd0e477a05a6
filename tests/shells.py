"""A real IPython for one test, with neither a terminal nor a file of its history."""

from __future__ import annotations

import atexit
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


def new_shell(**settings: dict[str, Any]) -> Any:
    """Make an IPython in place of the one there is."""
    end_shell()
    return InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}, **settings}))


def end_shell() -> None:
    """Forget the IPython there is, and what it would do when the process ends: for some hundred that takes minutes."""
    if InteractiveShell.initialized():
        atexit.unregister(InteractiveShell.instance().atexit_operations)
    InteractiveShell.clear_instance()
