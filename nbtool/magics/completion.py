"""Tab completion in a `%%chat` cell or a `%chat` line: flags, models, tools, variables, chats, turns, commands.

This finds what can be inserted; `matcher` offers it where IPython has matchers, `older_completer` in older versions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nbtool.magics import completion_candidates as candidates
from nbtool.magics.completion_candidates import UNBROKEN, Candidates
from nbtool.magics.notebook.own_magic import OwnMagic

if TYPE_CHECKING:
    from nbtool.magics.kernel_chats import KernelChats

_MENTION = re.compile(r"(?<![\\\w])([$&])`([\w./-]*)$")
_REST_OF_MENTION = re.compile(r"[\w./-]*`")
_CHAT_FLAGS = ("-c", "--chat")
_PATH_FLAGS = frozenset({"attach"})


class CompletionSource(Protocol):
    """The source of completions: the name of the magics, and their conversations."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def kernel_chats(self) -> KernelChats: ...  # noqa: D102


class Cursor(Protocol):
    """Where Tab was pressed, as IPython's `CompletionContext` has it."""

    @property
    def full_text(self) -> str: ...  # noqa: D102

    @property
    def cursor_line(self) -> int: ...  # noqa: D102

    @property
    def cursor_position(self) -> int: ...  # noqa: D102

    @property
    def line_with_cursor(self) -> str: ...  # noqa: D102

    @property
    def text_until_cursor(self) -> str: ...  # noqa: D102


class Offer(NamedTuple):
    """What could replace the text before the cursor, and whether a path could too."""

    fragment: str
    candidates: Candidates
    takes_path: bool = False

    def matches(self) -> dict[str, str]:
        """Return the candidates that begin with the text, each with its kind and help in one unbreakable line."""
        words = sorted(word for word in self.candidates if word.startswith(self.fragment))
        return {word: self.candidates[word].translate(UNBROKEN) for word in words}


def find_offer(source: CompletionSource, context: Cursor) -> Offer | None:
    """Return what can be inserted at the cursor; None outside of the magics and in their names."""
    before = context.text_until_cursor
    magic_line = OwnMagic(source.name).line_of(context.full_text.split("\n"))
    if magic_line is not None:
        if context.cursor_line < magic_line:
            return None
        if context.cursor_line > magic_line:
            return _in_prompt(source, before, context.line_with_cursor[context.cursor_position :])
        complete = _in_cell_line
    elif re.match(rf"\s*%{re.escape(source.name)}\s", before):
        complete = _in_command
    else:
        return None
    _, *words = before.split() or [""]
    if not words and not before[-1:].isspace():
        return None
    fragment = "" if before[-1:].isspace() else words.pop()
    return complete(source, words, fragment)


def _in_prompt(source: CompletionSource, before: str, after: str) -> Offer:
    mention = _MENTION.search(before)
    if mention is None:
        return Offer("", {})
    chats, fragment = source.kernel_chats, mention[2]
    if mention[1] == "$":
        found = candidates.variables(chats)
    else:
        found = candidates.tools_of_toolsets(chats) if "." in fragment else candidates.mentioned_tools(chats)
    end = "" if _REST_OF_MENTION.match(after) else "`"
    return Offer(fragment, {f"{name}{end}": kind for name, kind in found.items()})


def _in_cell_line(source: CompletionSource, words: list[str], fragment: str) -> Offer:
    chats = source.kernel_chats
    actions = chats.parser.flags()
    at = next((at for at in reversed(range(len(words))) if words[at].startswith("-")), len(words))
    action = next((action for action in actions if words[at : at + 1] and words[at] in action.option_strings), None)
    is_filled = action is None or action.nargs == 0 or (action.nargs != "+" and len(words) > at + 1)
    if is_filled or action is None or fragment.startswith("-"):
        return Offer(fragment, candidates.flags(actions))
    return Offer(fragment, candidates.flag_values(chats, action, fragment), action.dest in _PATH_FLAGS)


def _in_command(source: CompletionSource, words: list[str], fragment: str) -> Offer:
    if words[-1:] and words[-1] in _CHAT_FLAGS:
        return Offer(fragment, candidates.chat_names(source.kernel_chats))
    at = next((at for at, word in enumerate(words) if word in _CHAT_FLAGS), len(words))
    command, *args = [*words[:at], *words[at + 2 :]] or [""]
    if fragment.startswith("-"):
        return Offer(fragment, candidates.command_options(command))
    if not command:
        return Offer(fragment, candidates.commands())
    found = candidates.command_arguments(source.kernel_chats, command, args)
    names_chat = candidates.takes(command, "past chat") and any(text.startswith(fragment) for text in found)
    return Offer(fragment, found, candidates.takes(command, "path") and not names_chat)
