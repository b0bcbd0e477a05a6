"""A cell speaks: the magics `%%chat` and `%chat`. The only place that knows IPython."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, magics_class, no_var_expand

from nbtool.errors import NbtoolError
from nbtool.magics.completion import completer
from nbtool.magics.config import NbTool
from nbtool.shorten import shorten
from nbtool.toolsets.code_runner import CodeResult, set_code_runner
from nbtool.wire.providers.env_consent import is_allowed
from nbtool.wire.transport.discovery import Discovery, destination, find_model

if TYPE_CHECKING:
    from nbtool.chat.chat import Chat
    from nbtool.magics.kernel_chats import Workbench


USUAL = "chat"
"""What the magics are called unless somebody says otherwise; texts that name them say so."""

SPARE = "nbchat"
"""What the magics are called where another extension has the name that was wanted."""

SAYS_AGAIN = frozenset({"--rerun", "--resume", "--re-execute"})
"""The flags of cells that need no text: they say again what a turn said."""


@magics_class
class ChatMagics(Magics):
    """The magics that lead to the conversations of one kernel: one for a line, one for a cell, of one name."""

    def __init__(self, shell: Any, config: NbTool, name: str) -> None:
        super().__init__(shell)
        self.settings, self.name = config, name
        self.completes = completer(self)

    @no_var_expand
    def chat(self, line_text: str, body: str | None = None) -> None:
        """Talk with a language model that uses this notebook's functions and objects as tools."""
        bench = self.workbench
        with _in_one_line(self.name):
            if body is not None:
                bench.cell(line_text, body)
            else:
                bench.line(line_text)

    @cached_property
    def workbench(self) -> Workbench:
        """The conversations; everything they need is imported when the first one is, not when the extension is."""
        from nbtool.magics.kernel_chats import Workbench  # noqa: PLC0415 - see the docstring

        return Workbench(self.shell, self.settings, self.name)

    @property
    def chats(self) -> dict[str, Chat]:
        """The conversations of this kernel, by name."""
        return self.workbench.chats

    def stop(self) -> None:
        """Stop the turns that have outlived their cells: nobody could answer them once these magics are gone."""
        if "workbench" in vars(self):
            for turn in (turn for chat in self.chats.values() for turn in chat.unfinished):
                turn.stop()

    def needs_no_body(self, lines: list[str]) -> list[str]:
        """Let `%%chat --help` or `--rerun` stand alone in a cell: IPython refuses a cell magic whose body is empty."""
        said = "".join(lines).split()
        if said[:1] != [f"%%{self.name}"]:
            return lines
        if len(said) == 2 and said[1] in ("-h", "--help"):
            return [f"%{self.name} --help\n"]
        return [*lines, "\n"] if len(lines) == 1 and any(word in SAYS_AGAIN for word in said) else lines


@contextmanager
def _in_one_line(name: str) -> Iterator[None]:
    """Make what goes wrong on the person's side one red line, no traceback; it calls the magics by their name here."""
    try:
        yield
    except NbtoolError as error:
        raise UsageError(str(error).replace(f"%{USUAL}", f"%{name}")) from None
    except ValueError as error:
        raise UsageError(f"The line cannot be read ({error}).") from None


def load(shell: Any) -> None:
    """Register the magics, and say in one line which model was found and why.

    A magic of that name which is not ours is left alone, and ours gets another name.
    """
    unload(shell)
    settings = NbTool(parent=shell)
    name = _free_name(shell, settings.magic)
    magics = ChatMagics(shell, settings, name)
    shell.magics_manager.registry[ChatMagics.__name__] = magics
    shell.register_magic_function(magics.chat, magic_kind="line_cell", magic_name=name)
    shell.configurables.append(settings)
    shell.input_transformers_cleanup.append(magics.needs_no_body)
    shell.Completer.custom_matchers.append(magics.completes)
    set_code_runner(lambda code: _run(shell, code))
    if kernel := getattr(shell, "kernel", None):
        from nbtool.magics.kernel.messages import mend_replies  # noqa: PLC0415 - a terminal has no kernel

        mend_replies(kernel)
    chosen = settings.setting("model")
    found = Discovery(chosen.value, chosen.source) if chosen.value else find_model()
    renamed = "" if name == settings.magic else f"; %%{settings.magic} is taken, so the magics are called %%{name}"
    print(f"nbtool: {_plain(found.model_id)}{_where(found)}{renamed}")  # noqa: T201 - the one line of loading


def _where(found: Discovery) -> str:
    """Say where prompts will go and why, and whether a person is asked first because only a `.env` says so."""
    try:
        host, from_file = destination(found.model_id)
    except NbtoolError:
        return f" ({found.reason})"  # the first cell says what is wrong with it
    asks = from_file or bool(found.setting and found.setting.from_env_file and host)
    first = "; the first prompt asks whether it may" if asks and not is_allowed() else ""
    return f"{f' at {host}' if host else ''} ({found.reason}{first})"


def _plain(text: str) -> str:
    """Make what a file names one line without control characters."""
    return shorten("".join(character if character.isprintable() else "?" for character in text), 200)


def unload(shell: Any) -> None:
    """Take away everything that `load` put there."""
    magics = shell.magics_manager.registry.pop(ChatMagics.__name__, None)
    if magics is None:
        return
    magics.stop()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(magics.name, None)
    for one in (magics.settings, magics):  # IPython adds every set of magics itself, and never takes it out
        shell.configurables.remove(one)
    shell.input_transformers_cleanup.remove(magics.needs_no_body)
    shell.Completer.custom_matchers.remove(magics.completes)
    set_code_runner(None)
    if kernel := getattr(shell, "kernel", None):
        from nbtool.magics.kernel.messages import unmend_replies  # noqa: PLC0415 - a terminal has no kernel

        unmend_replies(kernel)


def _free_name(shell: Any, wanted: str) -> str:
    """Give the name that is wanted, or the spare one where somebody else has it."""
    if not wanted.isidentifier():
        raise UsageError(f"NbTool.magic is a name such as chat, not {wanted!r}.")
    taken = {name for magics in shell.magics_manager.magics.values() for name in magics}
    if wanted in taken and SPARE in taken:
        raise UsageError(f"Other extensions have magics called {wanted} and {SPARE}; set NbTool.magic to another name.")
    return SPARE if wanted in taken else wanted


def _run(shell: Any, code: str) -> CodeResult:
    """Run a model's code in the notebook."""
    from nbtool.magics.code_runner import run  # noqa: PLC0415 - loading the extension has to be quick

    return run(shell, code)


__all__ = ["ChatMagics", "load", "unload"]
