"""A cell speaks: the magics `%%chat` and `%chat`. The only place that knows IPython."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from nbtool.errors import NbtoolError
from nbtool.toolsets.runner import Ran, offer
from nbtool.wire.discovery import discover

if TYPE_CHECKING:
    from nbtool.chat.chat import Chat
    from nbtool.magics.workbench import Workbench


@magics_class
class ChatMagics(Magics):
    """The two magics that lead to the conversations of one kernel."""

    @no_var_expand
    @line_cell_magic
    def chat(self, line_text: str, body: str | None = None) -> None:
        """Talk with a language model that uses this notebook's functions and objects as tools."""
        bench = self.workbench
        _in_one_line(lambda: bench.cell(line_text, body) if body is not None else bench.line(line_text))

    @cached_property
    def workbench(self) -> Workbench:
        """The conversations; everything they need is imported when the first one is, not when the extension is."""
        from nbtool.magics.workbench import Workbench  # noqa: PLC0415 - see the docstring

        return Workbench(self.shell)

    @property
    def chats(self) -> dict[str, Chat]:
        """The conversations of this kernel, by name."""
        return self.workbench.chats


def _help_needs_no_body(lines: list[str]) -> list[str]:
    """Let `%%chat --help` stand alone in its cell: IPython refuses a cell magic whose body is empty."""
    said = "".join(lines).split()
    if said[:1] == ["%%chat"] and len(said) == 2 and said[1] in ("-h", "--help"):
        return ["%chat --help\n"]
    return lines


def _in_one_line(deed: Callable[[], None]) -> None:
    """Run a magic; what goes wrong on the person's side is one red line, no traceback."""
    try:
        deed()
    except NbtoolError as error:
        raise UsageError(str(error)) from None
    except ValueError as error:
        raise UsageError(f"The line cannot be read ({error}).") from None


def load(shell: Any) -> None:
    """Register the magics, and say in one line which model was found and why."""
    taken = {kind for kind, magics in shell.magics_manager.magics.items() if "chat" in magics}
    if taken and not _are_ours(shell):
        raise UsageError("Another extension already has a magic called chat; nbtool does not take it over.")
    shell.register_magics(ChatMagics)
    if _help_needs_no_body not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_help_needs_no_body)
    offer(lambda code: _run(shell, code))
    model, why = discover()
    print(f"nbtool: {model} ({why})")  # noqa: T201 - the one line of loading


def unload(shell: Any) -> None:
    """Take the magics away again."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("chat", None)
    if _help_needs_no_body in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(_help_needs_no_body)
    shell.magics_manager.registry.pop(ChatMagics.__name__, None)
    offer(None)


def _run(shell: Any, code: str) -> Ran:
    """Run a model's code in the notebook."""
    from nbtool.magics.python_runner import run  # noqa: PLC0415 - loading the extension has to be quick

    return run(shell, code)


def _are_ours(shell: Any) -> bool:
    return ChatMagics.__name__ in shell.magics_manager.registry


__all__ = ["ChatMagics", "load", "unload"]
