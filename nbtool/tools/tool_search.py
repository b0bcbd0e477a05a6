"""Search of tools: where a chat has many, the model is given their names, and asks for the definitions that it needs.

The definitions of 300 tools take some 50,000 tokens of every request, and a model chooses worse among them. So their
names are listed with a line each, `find_tools` returns the definitions of a few, and `call_tool` calls one of them. A
definition is the result of a call, at the end of the conversation: what was sent before stays as it was, and so stays
in the prompt cache of the provider, which a longer list of tools would not. A provider that searches itself gets all
definitions, marked as deferred.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nbtool.call_arguments import parse_arguments
from nbtool.errors import ToolFailed
from nbtool.messages import ToolCall
from nbtool.text import count_of, list_names, shorten
from nbtool.tools.approval import Policy
from nbtool.tools.builtin import builtin_tool
from nbtool.tools.tool import Tool
from nbtool.tools.values.sanitize import single_line

MAX_TOKENS = 5_000
"""Estimated tokens of the definitions of a chat's tools, above which they are searched; about 30 tools."""

CHARS_PER_TOKEN = 4
"""Characters of a definition that are assumed to be a token."""

MAX_FOUND = 8
"""Maximum number of definitions that one search returns."""

MAX_LINE = 100
"""Maximum length of the line about a tool in the list, in characters."""

MAX_LIST = 40_000
"""Maximum length of the list with a line each, in characters; a longer one has names only."""

MAX_NAMED = 40
"""Maximum number of further matches that a search names."""

_RULES = """\
Only some of the tools are described to you in full. The others are listed here; to use one, get its parameters with
{find}, then call it with {call}. Search for what you need before you say that there is no tool for it."""
_NAMES_ONLY = "The list has names only; {find} searches in the descriptions too."
_CALL_FIX = "Pass the name of a tool as `name`, and its arguments as the object `arguments`."
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+")
_NAME_WEIGHT = 3


class ToolSearch:
    """Searches the tools of a chat; a source of the two tools with which the model does.

    Args:
        direct: the names of tools that are always offered.
        is_on: whether tools are searched; None: if their definitions are large.
    """

    name = "tool_search"

    def __init__(self, direct: Collection[str] = (), *, is_on: bool | None = None) -> None:
        self._direct = frozenset(direct)
        self._is_on = is_on
        self._searched: dict[str, Tool] = {}
        self._words: dict[str, Counter[str]] = {}
        self._own: dict[str, Tool] = {}
        self._find_name = self._call_name = ""

    @property
    def is_active(self) -> bool:
        """Whether tools are searched, as `refresh` found."""
        return bool(self._own)

    def refresh(self, tools: Mapping[str, Tool]) -> None:
        """Take the tools that the chat has now."""
        others = {name: tool for name, tool in tools.items() if name not in self._direct and not tool.unfit_reason}
        is_on = bool(others) if self._is_on is None else self._is_on and bool(others)
        if is_on and self._is_on is None:
            is_on = sum(map(_definition_size, others.values())) > MAX_TOKENS * CHARS_PER_TOKEN
        self._searched = others if is_on else {}
        self._words = {}
        self._find_name, self._call_name = _free_name("find_tools", tools), _free_name("call_tool", tools)
        self._own = self._make_tools() if is_on else {}

    def tools(self) -> Mapping[str, Tool]:
        """Return the tools with which the model searches; none while it is not active."""
        return self._own

    def find(self, name: str) -> Tool | None:
        """Return the tool of this name, if it is one of the two."""
        return self._own.get(name)

    def rules(self) -> str:
        """Return no rules: the list is part of a request, see `listing`."""
        return ""

    def offered(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return those of the tools that are offered in full."""
        return [*(tool for tool in tools if tool.name not in self._searched), *self._own.values()]

    def is_searched(self, tool: Tool) -> bool:
        """Whether a tool is not offered in full."""
        return tool.name in self._searched

    def listing(self) -> str:
        """Return the system text with the names of the tools that are not offered in full."""
        if not self.is_active:
            return ""
        find, call = self._find_name, self._call_name
        lines = [f"- {tool.name}: {_summary(tool)}" for tool in self._searched.values()]
        rules = _RULES.format(find=find, call=call)
        if sum(map(len, lines)) <= MAX_LIST:
            return "\n".join([rules, *lines])
        return "\n".join([rules, _NAMES_ONLY.format(find=find), ", ".join(self._searched)])

    def describe(self) -> str:
        """Return how many tools are searched, and the estimated tokens of a request with and without that."""
        if not self.is_active:
            return ""
        full = sum(map(_definition_size, self._searched.values()))
        listed = len(self.listing()) + sum(map(_definition_size, self._own.values()))
        return (
            f"{count_of(len(self._searched), 'tool')} searched by name: about "
            f"{count_of(listed // CHARS_PER_TOKEN, 'token')} a request instead of {full // CHARS_PER_TOKEN:,}"
        )

    def unwrap(self, call: ToolCall) -> ToolCall:
        """Return the call of the tool that a call of `call_tool` names; any other call as it is."""
        if call.name != self._call_name or not self.is_active or not call.runnable or call.args is None:
            return call
        name, arguments = call.args.get("name"), call.args.get("arguments", {})
        if isinstance(arguments, str):
            arguments = parse_arguments(arguments)[0]
        if not isinstance(name, str) or not name or name in self._own or not isinstance(arguments, Mapping):
            return call
        return replace(call, name=name, arguments=json.dumps(arguments, ensure_ascii=False))

    def find_tools(self, query: str = "", names: Sequence[str] = ()) -> str:
        """Get the parameters of tools: those that a query matches, or those with exact names.

        Args:
            query: words that say what the tool has to do.
            names: exact names from the list.
        """
        if not (query.strip() or names):
            raise ToolFailed("A search needs words or names.", fix="Say what the tool has to do.")
        known = [name for name in dict.fromkeys(names) if name in self._searched]
        unknown = [name for name in names if name not in self._searched]
        matches = [*known, *(name for name in self._rank(query) if name not in known)]
        if not matches:
            what = f"No tool matches {shorten(query or list_names(unknown, MAX_NAMED), 100)!r}."
            raise ToolFailed(what, fix="Use other words, or exact names from the list.")
        shown = max(MAX_FOUND, len(known))
        definitions = [json.dumps(_definition(self._searched[name]), ensure_ascii=False) for name in matches[:shown]]
        missing = [f"Not in the list: {list_names(unknown, MAX_NAMED)}."] if unknown else []
        rest = matches[shown:]
        more = [f"{count_of(len(rest), 'tool')} matched less well: {list_names(rest, MAX_NAMED)}."] if rest else []
        return "\n".join([*definitions, *missing, *more])

    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        """Call one of the listed tools.

        Args:
            name: its exact name.
            arguments: its arguments, as find_tools describes its parameters.
        """
        what = f"{shorten(name, 60)!r} with {count_of(len(arguments), 'argument')}"
        raise ToolFailed(f"{what} is no call of a listed tool.", fix=_CALL_FIX)

    def _make_tools(self) -> dict[str, Tool]:
        """Make the two tools; the definitions that they return are no texts of others, as those that are offered."""
        functions: dict[str, Callable[..., str]] = {self._find_name: self.find_tools, self._call_name: self.call_tool}
        return {
            name: builtin_tool(
                function,
                "nbtool.tool_search",
                Policy("auto"),
                name=name,
                thread=True,
                stores_result=False,
                is_value_free=True,
                reads_outside=False,
            )
            for name, function in functions.items()
        }

    def _rank(self, query: str) -> list[str]:
        """Return the names of the tools that have words of a query, the best match first (BM25 without lengths)."""
        wanted = set(_words_of(query))
        if not wanted:
            return []
        if not self._words:
            self._words = {name: _tool_words(tool) for name, tool in self._searched.items()}
        counts = Counter(word for words in self._words.values() for word in words.keys() & wanted)
        weights = {word: math.log(1 + (len(self._words) + 1) / count) for word, count in counts.items()}
        scores = {
            name: sum(weights[word] * words[word] * 2.2 / (words[word] + 1.2) for word in words.keys() & wanted)
            for name, words in self._words.items()
        }
        return sorted((name for name, score in scores.items() if score), key=lambda name: (-scores[name], name))


def _free_name(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _definition(tool: Tool) -> dict[str, Any]:
    return {"name": tool.spec["name"], "description": tool.spec["description"], "parameters": tool.spec["parameters"]}


def _definition_size(tool: Tool) -> int:
    """Return the length of a definition; the text of a dict is about as long as its JSON, and quicker to make."""
    return len(tool.name) + len(tool.description) + len(str(tool.offer.schema))


def _summary(tool: Tool) -> str:
    """Return the first sentence of a description, or what of it fits in a line."""
    first = re.split(r"(?<=[.!?])\s|\n", tool.description.strip(), maxsplit=1)[0]
    return shorten(single_line(first), MAX_LINE)


def _words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case and without the ending of a plural."""
    words = (word.lower() for word in _WORD.findall(text))
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words]


def _tool_words(tool: Tool) -> Counter[str]:
    """Count the words by which a tool is found; those of its name count more."""
    words = Counter(_words_of(tool.description))
    for name, parameter in tool.offer.schema.get("properties", {}).items():
        words.update(_words_of(name))
        if isinstance(parameter, Mapping) and isinstance(text := parameter.get("description"), str):
            words.update(_words_of(text))
    for word in _words_of(tool.name):
        words[word] += _NAME_WEIGHT
    return words
