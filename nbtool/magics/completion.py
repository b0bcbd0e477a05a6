"""Tab completion in a `%%chat` cell or a `%chat` line: flags, models, tools, variables, chats, turns, commands.

No server is contacted: models are those of providers whose key is set, and those listed earlier.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

if TYPE_CHECKING:
    from nbtool.magics.kernel_chats import KernelChats

_MENTION = re.compile(r"([$&])`(\w*)$")
_TURNS = ("show", "code", "branch", "switch", "pin", "unpin", "hide", "unhide", "delete", "export")
_WAITING = ("approve", "deny")


class CompletionSource(Protocol):
    """The source of completions: the name of the magics, and their conversations."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def kernel_chats(self) -> KernelChats: ...  # noqa: D102


def completer(source: CompletionSource) -> Callable[[CompletionContext], SimpleMatcherResult]:
    """Create the matcher that IPython calls at each Tab; it returns nothing for other cells."""

    @context_matcher(identifier="nbtool")  # type: ignore[untyped-decorator]  # IPython ships no types for it
    def nbtool_matcher(context: CompletionContext) -> SimpleMatcherResult:
        fragment, words = _candidates(source, context)
        matches = sorted({word for word in words if word.startswith(fragment)})
        completions = [SimpleCompletion(text=word) for word in matches[: context.limit]]
        return {"completions": completions, "matched_fragment": fragment, "suppress": bool(completions)}

    return nbtool_matcher  # type: ignore[no-any-return]  # the same


def _candidates(source: CompletionSource, context: CompletionContext) -> tuple[str, Iterable[str]]:
    """Return the text before the cursor, and all candidates that could replace it."""
    before = context.text_until_cursor
    in_cell = context.full_text.lstrip().startswith(f"%%{source.name}")
    if in_cell and (mention := _MENTION.search(before)):
        return mention[2], _tools(source) if mention[1] == "&" else _variables(source)
    words = before.split()
    fragment = "" if before[-1:].isspace() or not words else words.pop()
    if words[:1] == [f"%%{source.name}"]:
        return fragment, _for_cell(source, words[1:], fragment)
    if words[:1] == [f"%{source.name}"]:
        return fragment, _for_line(source, words[1:])
    return fragment, ()


def _for_cell(source: CompletionSource, words: list[str], fragment: str) -> Iterable[str]:
    actions = source.kernel_chats.parser.flags()
    if fragment.startswith("-"):
        return [name for action in actions for name in action.option_strings]
    last = next((word for word in reversed(words) if word.startswith("-")), "")
    action = next((action for action in actions if last in action.option_strings), None)
    if action is None:
        return ()
    if action.choices:
        return [str(choice) for choice in action.choices]
    values = _VALUES.get(action.dest)
    if action.dest in ("tool", "no_tool") and "." in fragment:
        return _tools_of_toolsets(source)
    return values(source) if values else ()


def _for_line(source: CompletionSource, words: list[str]) -> Iterable[str]:
    from nbtool.magics.commands import COMMANDS  # noqa: PLC0415 - loading the extension has to be fast

    match words:
        case []:
            return COMMANDS
        case [command] if command in _WAITING:
            chats = source.kernel_chats.chats.values()
            return [question.digest[:12] for chat in chats for question in chat.approvals.pending()]
        case [command] if command in _TURNS:
            return _turns(source)
        case ["config"]:
            return source.kernel_chats.settings.trait_names(config=True)
        case ["history"]:
            return ("search", "vacuum", "erase")
        case _:
            return ()


def _public(source: CompletionSource, wanted: Callable[[Any], bool]) -> list[str]:
    shell = source.kernel_chats.shell
    return [
        name
        for name, value in shell.user_ns.items()
        if not name.startswith("_") and name not in shell.user_ns_hidden and wanted(value)
    ]


def _tools(source: CompletionSource) -> list[str]:
    from nbtool.magics.notebook.namespace import NOTES  # noqa: PLC0415 - the same
    from nbtool.tools.toolset import as_tool_source  # noqa: PLC0415 - the same
    from nbtool.toolsets import STANDARD  # noqa: PLC0415 - the same

    own = _public(source, lambda value: callable(value) or as_tool_source(value) is not None)
    return [*own, NOTES, *(f"nbtool:{name}" for name in STANDARD)]


def _tools_of_toolsets(source: CompletionSource) -> list[str]:
    """Return `NAME.TOOL` for the tools of existing toolsets; no toolset is created for it."""
    from nbtool.magics.notebook.tool_choice import short_names  # noqa: PLC0415 - the same
    from nbtool.tools.toolset import Toolset  # noqa: PLC0415 - the same

    toolsets = {
        name: source.kernel_chats.shell.user_ns[name]
        for name in _public(source, lambda value: isinstance(value, Toolset))
    }
    toolsets |= {
        toolset_source.name: toolset_source for toolset in list(toolsets.values()) for toolset_source in toolset.sources
    }
    return [
        f"{name}.{one}"
        for name, toolset_source in toolsets.items()
        for one in short_names(toolset_source.tools().values())
    ]


def _tools_to_remove(source: CompletionSource) -> list[str]:
    """Return the tools of the chats, and the names that added them."""
    offered = [tool for chat in source.kernel_chats.chats.values() for tool in chat.tools.tools().values()]
    return [*_tools(source), *(tool.display_name for tool in offered)]


def _variables(source: CompletionSource) -> list[str]:
    return _public(source, lambda value: not callable(value) and not isinstance(value, ModuleType))


def _models(source: CompletionSource) -> list[str]:
    from nbtool.wire.providers.catalog import providers  # noqa: PLC0415 - the same
    from nbtool.wire.providers.credentials import find_key  # noqa: PLC0415 - the same

    names = [chat.model.name for chat in source.kernel_chats.chats.values()]
    ready = [p for p in providers().values() if p.default_model and (not p.needs_key or find_key(p))]
    return [*names, *source.kernel_chats.model_list, *(f"{p.name}:{p.default_model}" for p in ready)]


def _turns(source: CompletionSource) -> list[str]:
    trees = [chat.tree for chat in source.kernel_chats.chats.values()]
    return [turn.turn_id for tree in trees for node in tree.nodes() for turn in node.versions]


_VALUES: dict[str, Callable[[CompletionSource], Iterable[str]]] = {
    "model": _models,
    "chat": lambda source: source.kernel_chats.chats,
    "tool": _tools,
    "no_tool": _tools_to_remove,
    "var": _variables,
    "read": _variables,
    "hide": _variables,
    "attach": _variables,
    "rerun": _turns,
    "edit": _turns,
    "resume": _turns,
    "re_execute": _turns,
}
