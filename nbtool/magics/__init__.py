"""The magics `%%chat` and `%chat`, and the integration with IPython."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, magics_class, no_var_expand

from nbtool.annotation_kinds import Range, Seconds
from nbtool.argument_check import check_arguments
from nbtool.errors import BadUsage, NbtoolError
from nbtool.magics.flags.config import NbTool
from nbtool.magics.kernel.cell_end import CellEnd, put_debugger_back, skip_debugger
from nbtool.magics.notebook.earlier_chat_lookup import CONTINUE_MIME, EarlierChat, find_earlier_chat
from nbtool.magics.own_input import OwnInput
from nbtool.map_progress import MapProgress, ProgressView, set_progress_view
from nbtool.policy import site_policy
from nbtool.sign_in import LoginRequest, set_login_asker
from nbtool.text import list_names, shorten
from nbtool.toolsets.runner_registry import CodeResult, set_code_runner
from nbtool.wire.providers.env_consent import is_allowed
from nbtool.wire.transport.models.default_model import Discovery, destination, find_model

try:
    from nbtool.magics.completion_matcher import add_completer, completer, remove_completer
except ImportError:  # IPython before 8.6
    from nbtool.magics.legacy_completer import (  # type: ignore[assignment]  # the same functions, for what it calls
        add_completer,
        completer,
        remove_completer,
    )

if TYPE_CHECKING:
    from nbtool.chat.chat import Chat
    from nbtool.magics.kernel_chats import KernelChats


DEFAULT_NAME = "chat"
"""The default name of the magics, which messages use; with another name, errors end with a note."""

FALLBACK_NAME = "nbchat"
"""The name of the magics if another extension has the requested one."""

SAVED_TURNS = "nbtool.saved_turn"
"""The target of the comms that the pages of saved turns open."""

MAX_LINE = 200
"""Characters of a text from a file in the line of loading."""

MAX_POLICY_PROBLEM = 500
"""Characters of what is wrong with a policy: its path and the problem, after which who corrects it always stands."""

BODYLESS_FLAGS = frozenset({"--rerun"})
"""The flags of cells without a prompt: they repeat an earlier turn."""


@magics_class
class ChatMagics(Magics):
    """The line and cell magic of one name, for the conversations of one kernel."""

    def __init__(self, shell: Any, config: NbTool, name: str) -> None:
        super().__init__(shell)
        self.settings, self.name = config, name
        self.completer = completer(self)
        self.input = OwnInput(name)

    @no_var_expand
    def chat(self, line_text: str, body: str | None = None) -> None:
        """Talk with a language model that uses this notebook's functions and objects as tools."""
        kernel_chats = self.kernel_chats
        with _errors_as_usage(self.shell, self.name):
            if body is not None:
                kernel_chats.run_cell(line_text, body)
            else:
                kernel_chats.run_line(line_text)

    @cached_property
    def kernel_chats(self) -> KernelChats:
        """The conversations; their dependencies are imported on first use, not when the extension is loaded."""
        from nbtool.magics.kernel_chats import KernelChats  # noqa: PLC0415 - see the docstring

        return KernelChats(self.shell, self.settings, self.name)

    @property
    def chats(self) -> dict[str, Chat]:
        """The conversations of this kernel, by name."""
        return self.kernel_chats.chats

    def stop(self) -> None:
        """Stop the turns that have outlived their cells: nobody could answer them after the magics are removed.

        What ends with the magics is printed.
        """
        chats: KernelChats | None = vars(self).get("kernel_chats")
        if chats or self.settings.set_here:
            from nbtool.magics.ended_state import describe_ended  # noqa: PLC0415 - the same
            from nbtool.magics.kernel.page_lines import wrap_for_page  # noqa: PLC0415 - loading the extension has to be fast

            if ended := describe_ended(chats, self.settings):
                print(wrap_for_page(self.shell, ended))  # noqa: T201 - a notice for the person
        if chats:
            if chats.server:
                chats.server.stop()
            for turn in (turn for chat in self.chats.values() for turn in chat.running_turns):
                turn.abort()

    def allow_empty_body(self, lines: list[str]) -> list[str]:
        """Allow `%%chat --help` or `--rerun` without a body: IPython refuses a cell magic whose body is empty."""
        words = "".join(lines).split()
        if words[:1] != [f"%%{self.name}"]:
            return lines
        if len(words) == 2 and words[1] in ("-h", "--help"):
            return [f"%{self.name} --help\n"]
        return [*lines, "\n"] if len(lines) == 1 and any(word in BODYLESS_FLAGS for word in words) else lines


class UnattendedUsageError(CellEnd, UsageError):
    """An error of usage in a run that nobody watches: papermill logs the error of a cell, and not what it printed."""

    def _render_traceback_(self) -> list[str]:
        return [f"UsageError: {self}"]


@contextmanager
def _errors_as_usage(shell: Any, name: str) -> Iterator[None]:
    """Turn errors of usage into one red line without a traceback; it says if the magics have another name."""
    try:
        yield
    except NbtoolError as error:
        note = "" if name == DEFAULT_NAME else f" (Here %{DEFAULT_NAME} is called %{name}.)"
        raise _usage_error(shell, f"{error}{note}") from None
    except ValueError as error:
        raise _usage_error(shell, f"The line cannot be parsed ({error}).") from None


def _usage_error(shell: Any, text: str) -> UsageError:
    from nbtool.magics.kernel.cell_messages import has_front_end  # noqa: PLC0415 - a terminal has no kernel

    is_unattended = getattr(shell, "kernel", None) is not None and not has_front_end(shell)
    return UnattendedUsageError(text) if is_unattended else UsageError(text)


def load(shell: Any) -> None:
    """Register the magics, and print a line with the selected model and the reason.

    Another one names a policy that cannot be read, and another one says that there is a chat.

    A magic with this name from another extension is kept, and ours gets another name.
    """
    unload(shell)
    settings = NbTool(parent=shell)
    name = _choose_name(shell, settings.magic)
    magics = ChatMagics(shell, settings, name)
    shell.magics_manager.registry[ChatMagics.__name__] = magics
    shell.register_magic_function(magics.chat, magic_kind="line_cell", magic_name=name)
    shell.configurables.append(settings)
    shell.input_transformers_cleanup.append(magics.allow_empty_body)
    magics.input.install(shell)
    skip_debugger(shell)
    add_completer(shell, magics.completer)
    set_code_runner(lambda code: _run(shell, code))
    set_login_asker(lambda request: _ask_login(shell, request))
    set_progress_view(lambda progress, stop: _show_map(shell, progress, stop))
    if kernel := getattr(shell, "kernel", None):
        from nbtool.magics.kernel.nulls import patch_nulls  # noqa: PLC0415 - the same
        from nbtool.magics.kernel.reply_socket import patch_reply_socket  # noqa: PLC0415 - a terminal has no kernel

        patch_reply_socket(kernel)
        patch_nulls(shell)
        _answer_saved_turns(kernel, magics)
    chosen = settings.setting("model")
    discovery = Discovery(chosen.value, chosen.source) if chosen.value else find_model()
    renamed = "" if name == settings.magic else f"; %%{settings.magic} is taken, the magics are %%{name}"
    print(f"nbtool: {_single_line(discovery.model_id)}{_describe_destination(discovery)}{renamed}")  # noqa: T201 - the one line of loading
    if problem := site_policy().problem:
        line = f"{_single_line(problem.message, MAX_POLICY_PROBLEM)} {problem.fix}"
        print(line)  # noqa: T201 - nothing is sent until it is corrected
    if earlier := find_earlier_chat():
        _show_earlier_chat(shell, earlier, name)


def _show_earlier_chat(shell: Any, earlier: EarlierChat, name: str) -> None:
    """Say how the notebook's earlier chat goes on; a page with nbtool's extension has buttons for it."""
    text = earlier.describe(name)
    if getattr(shell, "kernel", None) is None:
        print(text)  # noqa: T201 - what a person needs before the first cell
        return
    shell.display_pub.publish({"text/plain": text, CONTINUE_MIME: earlier.bar_data()})


def kernel_chats_here() -> KernelChats:
    """Return the conversations of this kernel.

    Raises:
        BadUsage: the extension is not loaded in it.
    """
    from IPython.core.getipython import get_ipython  # noqa: PLC0415 - only here

    return _magics_of(get_ipython()).kernel_chats


def _magics_of(shell: Any) -> ChatMagics:
    magics: ChatMagics | None = shell.magics_manager.registry.get(ChatMagics.__name__) if shell else None
    if magics is None:
        raise BadUsage("nbtool is not loaded in this kernel.", fix="Run `%load_ext nbtool` in a cell first.")
    return magics


@partial(check_arguments, owner="nbtool.serve")
def serve_objects(
    tools: Iterable[Any],
    variables: Mapping[str, Any],
    read: str | Iterable[str],
    answer_within: Seconds,
    port: Annotated[int, Range(at_least=0, at_most=65535)],
) -> None:
    """Serve tools and objects of the running notebook; see `nbtool.serve`."""
    from IPython.core.getipython import get_ipython  # noqa: PLC0415 - only here

    from nbtool.magics.commands.serve import start_serving  # noqa: PLC0415 - loading the extension has to be fast

    shell, names = get_ipython(), frozenset((read,) if isinstance(read, str) else read)
    magics = _magics_of(shell)
    if unknown := names - set(variables):
        raise BadUsage(
            f"`read` names {list_names(sorted(unknown), 5)}, which is not served.", fix="Pass it by its name."
        )

    def fill(chat: Chat) -> None:
        chat.tools.add(*tools)
        for name, value in variables.items():
            chat.expose(read=name in names, **{name: value})

    start_serving(magics.kernel_chats, fill, seconds=answer_within, port=port)


def _ask_login(shell: Any, request: LoginRequest) -> bool:
    from nbtool.magics.cell.sign_in_line import ask_in_cell  # noqa: PLC0415 - loading the extension has to be fast

    return ask_in_cell(shell, request)


def _show_map(shell: Any, progress: MapProgress, stop: Callable[[], object]) -> ProgressView | None:
    from nbtool.magics.views.map_view import show_map  # noqa: PLC0415 - loading the extension has to be fast

    return show_map(shell, progress, stop)


def _answer_saved_turns(kernel: Any, magics: ChatMagics) -> None:
    """Answer the pages of saved turns, each with a comm of its own; a kernel without comms has no such pages."""

    def answer(comm: Any, message: Any) -> None:
        from nbtool.magics.saved_turn_requests import answer_page  # noqa: PLC0415 - loading the extension has to be fast

        if reply := answer_page(magics.kernel_chats, message["content"]["data"]):
            comm.send(reply)

    if comms := getattr(kernel, "comm_manager", None):
        comms.register_target(SAVED_TURNS, answer)


def _describe_destination(discovery: Discovery) -> str:
    """Describe where prompts will go and why, and whether the person is asked first because of a `.env`."""
    try:
        host, from_file = destination(discovery.model_id)
    except NbtoolError:
        return f" ({discovery.reason})"  # the first cell reports the error
    asks = from_file or bool(discovery.setting and discovery.setting.from_env_file and host)
    first = "; the first prompt asks for your consent" if asks and not is_allowed() else ""
    return f"{f' at {host}' if host else ''} ({discovery.reason}{first})"


def _single_line(text: str, limit: int = MAX_LINE) -> str:
    """Return a text from a file as one line without control characters."""
    return shorten("".join(character if character.isprintable() else "?" for character in text), limit)


def unload(shell: Any) -> None:
    """Remove everything that `load` added."""
    magics = shell.magics_manager.registry.pop(ChatMagics.__name__, None)
    if magics is None:
        return
    magics.stop()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(magics.name, None)
    for item in (magics.settings, magics):  # IPython registers every set of magics itself, and never removes one
        shell.configurables.remove(item)
    shell.input_transformers_cleanup.remove(magics.allow_empty_body)
    magics.input.remove(shell)
    put_debugger_back(shell)
    remove_completer(shell, magics.completer)
    set_code_runner(None)
    set_login_asker(None)
    set_progress_view(None)
    if kernel := getattr(shell, "kernel", None):
        from nbtool.magics.kernel.control_channel import remove_control_handler  # noqa: PLC0415 - the same
        from nbtool.magics.kernel.nulls import unpatch_nulls  # noqa: PLC0415 - the same
        from nbtool.magics.kernel.reply_socket import unpatch_reply_socket  # noqa: PLC0415 - a terminal has no kernel

        unpatch_nulls(shell)
        unpatch_reply_socket(kernel)
        remove_control_handler(kernel)
        if comms := getattr(kernel, "comm_manager", None):
            comms.targets.pop(SAVED_TURNS, None)


def _choose_name(shell: Any, wanted: str) -> str:
    """Return the requested name, or the fallback if another extension has it."""
    if not wanted.isidentifier():
        raise UsageError(f"NbTool.magic must be an identifier such as chat, not {wanted!r}.")
    used = {name for magics in shell.magics_manager.magics.values() for name in magics}
    if wanted in used and FALLBACK_NAME in used:
        raise UsageError(
            f"Other extensions have magics called {wanted} and {FALLBACK_NAME}; set NbTool.magic to another name."
        )
    return FALLBACK_NAME if wanted in used else wanted


def _run(shell: Any, code: str) -> CodeResult:
    """Run a model's code in the notebook."""
    from nbtool.magics.notebook.code_runner import run_code  # noqa: PLC0415 - loading the extension has to be fast

    return run_code(shell, code)


__all__ = ["ChatMagics", "load", "serve_objects", "unload"]
