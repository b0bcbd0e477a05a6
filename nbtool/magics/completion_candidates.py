"""The candidates that Tab can offer, each with its kind and one line of help: `flag: show this help`.

No server is contacted: models are those of providers whose key is set, and those listed earlier.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtool.magics.commands.command_table import Command, Value
    from nbtool.magics.kernel_chats import KernelChats
    from nbtool.tools.tool import Tool

Candidates = dict[str, str]
"""What can be inserted, each with its kind and help."""

MAX_HELP = 60
"""Characters of the help beside a candidate, which ends with `…` if there is more: `%%chat --help` has all of it."""

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
"""Between the words of a help: JupyterLab's menu is as wide as the widest word and has one line for each candidate."""

NO_BREAK_HYPHEN = "\N{NON-BREAKING HYPHEN}"
"""In place of a hyphen, after which a line may break too."""

UNBROKEN = str.maketrans({" ": NO_BREAK_SPACE, "-": NO_BREAK_HYPHEN})
"""Replaces what a line could break at."""

_OWN_PACKAGE = "nbtool"


def _describe(kind: str, text: Any = "") -> str:
    """Return a kind with the first line of a help text, if there is one."""
    from nbtool.tools.values.sanitize import single_line  # noqa: PLC0415 - loading the extension has to be fast

    lines = text.strip().splitlines() if isinstance(text, str) else []
    if not lines:
        return kind
    help_text = textwrap.shorten(single_line(lines[0]), MAX_HELP, placeholder=" …")
    return f"{kind}: {help_text}"


def flags(actions: Iterable[argparse.Action]) -> Candidates:
    """Return the flags of a `%%chat` line."""
    return {name: _describe("flag", action.help) for action in actions for name in action.option_strings}


def flag_values(chats: KernelChats, action: argparse.Action, fragment: str) -> Candidates:
    """Return what can follow a flag."""
    from nbtool.magics.flags.flag_table import TAKE_AWAY, TAKEN_AWAY  # noqa: PLC0415 - the same

    if action.dest in TAKEN_AWAY and fragment.startswith(TAKE_AWAY):
        is_in_toolset = action.dest == "tool" and "." in fragment
        offered = tools_of_toolsets(chats) if is_in_toolset else _VALUES[TAKEN_AWAY[action.dest]](chats)
        return {f"{TAKE_AWAY}{name}": kind for name, kind in offered.items()}
    if action.dest == "set":
        return _setting_values(chats, fragment)
    if action.choices:
        return dict.fromkeys(map(str, action.choices), _describe("value", action.help))
    if action.dest == "tool" and "." in fragment:
        return tools_of_toolsets(chats)
    values = _VALUES.get(action.dest)
    return values(chats) if values else {}


def commands(_: KernelChats | None = None) -> Candidates:
    """Return the commands of `%chat`."""
    from nbtool.magics.commands.dispatch import COMMANDS  # noqa: PLC0415 - the same

    return {name: _describe("command", _help_of(command)) for name, command in COMMANDS.items()}


def _help_of(command: Command) -> str:
    """Return what Tab says of a command."""
    from nbtool.magics.commands.dispatch import first_sentence  # noqa: PLC0415 - the same

    return first_sentence(command)


def command_options(command: str) -> Candidates:
    """Return the options of a command of `%chat`."""
    from nbtool.magics.commands.dispatch import COMMANDS  # noqa: PLC0415 - the same

    options = COMMANDS[command].options if command in COMMANDS else ()
    return dict.fromkeys(options, "option") | {"-c": "option: the chat it applies to"}


def takes(command: str, value: Value) -> bool:
    """Return whether the first argument of a command may be such a value."""
    from nbtool.magics.commands.dispatch import COMMANDS  # noqa: PLC0415 - the same

    return command in COMMANDS and value in COMMANDS[command].values


def command_arguments(chats: KernelChats, command: str, args: Sequence[str] = ()) -> Candidates:
    """Return what can follow a command of `%chat`, and its first arguments."""
    from nbtool.magics.commands.dispatch import COMMANDS  # noqa: PLC0415 - the same

    if command not in COMMANDS:
        return {}
    words, values = COMMANDS[command].words, COMMANDS[command].values
    if args:
        values = words.get(args[0], ()) if len(args) == 1 else ()
    found: Candidates = {} if args else dict.fromkeys(words, "value")
    for value in values:
        found |= _ARGUMENTS[value](chats) if value in _ARGUMENTS else {}
    return found


def past_chats(_: KernelChats) -> Candidates:
    """Return the latest chats of the journal by their ids, those of this notebook first, each with its first prompt.

    Of other notebooks the name is shown in place of a prompt, as in `%chat history list`.
    """
    from nbtool.chat.journal import journal, queries  # noqa: PLC0415 - the same
    from nbtool.errors import NbtoolError  # noqa: PLC0415 - the same
    from nbtool.ids import short_id  # noqa: PLC0415 - the same
    from nbtool.magics.commands.past_chats.journal_admin import MAX_LISTED, notebook_name  # noqa: PLC0415 - the same

    try:
        book = journal()
        lines = book.read(lambda connection: queries.list_chats(connection, MAX_LISTED))
    except NbtoolError:  # the command itself says what is wrong
        return {}
    own = [line for line in lines if line.notebook == book.notebook]
    others = [line for line in lines if line.notebook != book.notebook]
    return {short_id(line.chat_id): _describe("chat", line.title) for line in own} | {
        short_id(line.chat_id): _describe("chat", notebook_name(line.notebook)) for line in others
    }


def tools(chats: KernelChats) -> Candidates:
    """Return what `-t` takes: functions, toolsets and objects of the notebook, and the standard toolsets."""
    from nbtool.magics.names.tool_names import NOTES, STANDARD_PREFIX  # noqa: PLC0415 - the same
    from nbtool.toolsets import STANDARD  # noqa: PLC0415 - the same

    standard = {f"{STANDARD_PREFIX}{name}": "toolset" for name in STANDARD}
    from nbtool.wire.dialect import PROVIDER_TOOL_NAMES  # noqa: PLC0415 - the same

    of_provider = dict.fromkeys(PROVIDER_TOOL_NAMES, _describe("tool", "run by the provider"))
    return of_provider | mentioned_tools(chats) | {NOTES: _describe("toolset", "the model's own notes")} | standard


def mentioned_tools(chats: KernelChats) -> Candidates:
    """Return the tools of the notebook, which a prompt can mention."""
    return {name: kind for name, value in _public(chats).items() if (kind := _tool_kind(value))}


def tools_of_toolsets(chats: KernelChats) -> Candidates:
    """Return `NAME.TOOL` for the tools of existing toolsets; no toolset is created for it."""
    from nbtool.magics.flags.tool_choice import short_names  # noqa: PLC0415 - the same
    from nbtool.tools.toolset import Toolset  # noqa: PLC0415 - the same

    toolsets: dict[str, Any] = {name: value for name, value in _public(chats).items() if isinstance(value, Toolset)}
    toolsets |= {source.name: source for toolset in list(toolsets.values()) for source in toolset.sources}
    return {
        f"{name}.{short_names([tool])[0]}": _describe_tool(tool)
        for name, toolset in toolsets.items()
        for tool in toolset.tools().values()
    }


def removable_tools(chats: KernelChats) -> Candidates:
    """Return the tools of the chats, and the names that added them."""
    offered = (tool for chat in chats.chats.values() for tool in chat.tools.tools().values())
    return tools(chats) | {tool.display_name: _describe_tool(tool) for tool in offered}


def variables(chats: KernelChats) -> Candidates:
    """Return the variables of the notebook."""
    return {
        name: _describe("variable", type(value).__name__)
        for name, value in _public(chats).items()
        if not callable(value) and not _is_instance(value, ModuleType) and not _is_toolset(value)
    }


def types(chats: KernelChats) -> Candidates:
    """Return the types that an answer can be parsed as: the notebook's own classes, and simple ones."""
    own = {name: value for name, value in _public(chats).items() if isinstance(value, type)}
    simple = {item.__name__: _describe("type") for item in (str, int, float, bool, list, dict)}
    return simple | {name: _describe("class", value.__doc__) for name, value in own.items()}


def models(chats: KernelChats) -> Candidates:
    """Return the models of the chats, those listed earlier, and the default of each provider that can be used."""
    from nbtool.wire.providers.catalog import providers  # noqa: PLC0415 - the same
    from nbtool.wire.providers.credentials import find_key  # noqa: PLC0415 - the same

    ready = [p for p in providers().values() if p.default_model and (not p.needs_key or find_key(p))]
    found = {f"{p.name}:{p.default_model}": f"model: the default of {p.name}" for p in ready}
    found |= dict.fromkeys(chats.model_list, "model") | {"default": _describe("model", "the one before any `-m`")}
    return found | {chat.model.name: f"model: of the chat {name}" for name, chat in chats.chats.items()}


def chat_names(chats: KernelChats) -> Candidates:
    """Return the chats of this kernel, and those that the notebook has."""
    own = {name for name in _public(chats) if chats.notebook_chat(name) is not None}
    return {name: "chat: of the notebook" if name in own else "chat" for name in sorted({*chats.chats, *own})}


def other_chats(chats: KernelChats) -> Candidates:
    """Return the chats of this kernel and of the notebook but for the current one."""
    return {name: kind for name, kind in chat_names(chats).items() if name != chats.current}


def turns(chats: KernelChats) -> Candidates:
    """Return the turns of the current chat by their numbers, and all others by their ids, each with its prompt."""
    trees = [chat.tree for chat in chats.chats.values()]
    current = chats.chats.get(chats.current)
    numbered = {} if current is None else current.tree.numbered_turns()
    found = {str(number): _describe("turn", turn.prompt.text) for number, (_, turn) in numbered.items()}
    known = {turn.turn_id for _, turn in numbered.values()}
    others = (turn for tree in trees for node in tree.nodes() for turn in node.versions if turn.turn_id not in known)
    return found | {turn.turn_id: _describe("turn", turn.prompt.text) for turn in others}


def _public(chats: KernelChats) -> dict[str, Any]:
    """Return the person's own names of the notebook."""
    names, hidden = chats.shell.user_ns, chats.shell.user_ns_hidden
    return {name: value for name, value in list(names.items()) if not name.startswith("_") and name not in hidden}


def _tool_kind(value: Any) -> str:
    """Return the kind and help of what a person may want to use as a tool; empty for everything else.

    Classes of libraries and nbtool's own functions, such as the decorator, are callable too but no tools.
    """
    from nbtool.tools.tool import Tool  # noqa: PLC0415 - the same

    if _is_toolset(value):
        return "toolset"
    if _is_instance(value, Tool):
        return _describe_tool(value)
    kind = value if _is_instance(value, type) else type(value)
    if kind is value or not callable(value):
        label = "class" if kind is value else "object"
        return _describe(label, kind.__doc__) if kind.__module__ == "__main__" else ""
    origins = (kind.__module__, _attribute(value, "__module__"))
    if any(isinstance(origin, str) and origin.partition(".")[0] == _OWN_PACKAGE for origin in origins):
        return ""
    return _describe("function", _attribute(value, "__doc__"))


def _is_toolset(value: Any) -> bool:
    from nbtool.tools.toolset import as_tool_source  # noqa: PLC0415 - the same

    with suppress(Exception):  # an object of the notebook may refuse any access
        return as_tool_source(value) is not None
    return False


def _is_instance(value: Any, kind: type) -> bool:
    with suppress(Exception):  # the same: its class may be a property
        return isinstance(value, kind)
    return False


def _attribute(value: Any, name: str) -> Any:
    with suppress(Exception):  # the same
        return getattr(value, name, "")
    return ""


def _describe_tool(tool: Tool) -> str:
    return _describe("tool", tool.description)


def _pending_questions(chats: KernelChats) -> Candidates:
    """Return the ids of the calls that wait for approval."""
    pending = (question for chat in chats.chats.values() for question in chat.approvals.pending())
    return {item.digest[:12]: _describe("call", f"{item.display_name} {item.shown}") for item in pending}


def _settings(chats: KernelChats) -> Candidates:
    """Return the settings of the notebook."""
    return {name: _describe("setting", trait.help) for name, trait in chats.settings.traits(config=True).items()}


def _setting_values(chats: KernelChats, fragment: str) -> Candidates:
    """Return `KEY=` for each setting, or `KEY=VALUE` for the values of the one that is written."""
    from traitlets import Bool, Enum  # noqa: PLC0415 - the same

    name, equals, _ = fragment.partition("=")
    traits = chats.settings.traits(config=True)
    if not equals:
        return {f"{name}=": kind for name, kind in _settings(chats).items()}
    trait = traits.get(name)
    values = trait.values if isinstance(trait, Enum) else ("true", "false") if isinstance(trait, Bool) else ()
    return {f"{name}={value}": "value" for value in (*(values or ()), "default")} if trait else {}


def exposed(chats: KernelChats) -> Candidates:
    """Return the variables that the current chat has."""
    chat = chats.chats.get(chats.current)
    return {entry.name: "variable" for entry in chat.exposed_variables()} if chat else {}


_ARGUMENTS: dict[Value, Callable[[KernelChats], Candidates]] = {
    "call": _pending_questions,
    "chat": other_chats,
    "command": commands,
    "past chat": past_chats,
    "setting": _settings,
    "turn": turns,
}
_VALUES: dict[str, Callable[[KernelChats], Candidates]] = {
    "model": models,
    "chat": chat_names,
    "tool": tools,
    "no_tool": removable_tools,
    "var": variables,
    "read": variables,
    "hide": exposed,
    "attach": variables,
    "as_": types,
    "rerun": turns,
    "edit": turns,
}
