"""The provider's own tools, such as `web_search`, as arguments of `-t`: the notebook's own name wins."""

from __future__ import annotations

from argparse import Namespace as Flags
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from nbtool.chat.chat import Chat
from nbtool.errors import NbtoolError
from nbtool.wire.dialect import PROVIDER_TOOL_NAMES, Definition
from nbtool.wire.endpoints.adaptive_endpoint import AdaptiveEndpoint
from nbtool.wire.providers.provider_tools import PROVIDER_TOOLS

"""The names of all tools that providers run."""

OWN_TAKEN = "`{name}` is a tool of this notebook, which is meant; `--set provider_tools={name}` is the provider's."
PROVIDER_TAKEN = "`{name}` is the provider's tool here: the variable {name} of the notebook is no tool."
PROVIDER_STAYS = "`{name}` of this notebook was taken away; `--set provider_tools=[]` is without the provider's."


class OwnNames(Protocol):
    """The names of a notebook."""

    def has_tool(self, chat: Chat, name: str) -> bool:
        """Whether a name is one of a function, a toolset or a server of the notebook, or of a tool of the chat."""

    def has_name(self, name: str) -> bool:
        """Whether the notebook has a variable of this name."""


def choose_provider_tools(names: OwnNames, chat: Chat, flags: Flags) -> None:
    """Add and take away the provider's tools that the arguments of `-t` name, for the chat; leave the others there.

    What is meant by a name that both have is printed.
    """
    if {*flags.tool, *flags.no_tool}.isdisjoint(PROVIDER_TOOL_NAMES):
        return  # without a look at the model, which a replayed turn does not start
    present = provider_tools(chat, flags.default_options)
    added, taken = _own_of_provider(names, chat, flags.tool), _own_of_provider(names, chat, flags.no_tool)
    taken = [name for name in taken if name in present]
    for name in flags.tool:
        if name in PROVIDER_TOOL_NAMES and (name not in added or names.has_name(name)):
            print((PROVIDER_TAKEN if name in added else OWN_TAKEN).format(name=name))  # noqa: T201 - a notice
    for name in flags.no_tool:
        if name in present and name not in taken:
            print(PROVIDER_STAYS.format(name=name))  # noqa: T201 - the same
    if added or taken:
        _set_provider_tools(chat, flags, present, added, taken)


def _set_provider_tools(
    chat: Chat, flags: Flags, present: list[str | Definition], added: list[str], taken: list[str]
) -> None:
    flags.tool = [name for name in flags.tool if name not in added]
    flags.no_tool = [name for name in flags.no_tool if name not in taken]
    chat.options = {**chat.options, PROVIDER_TOOLS: _changed(present, added, taken)}
    if flags.provider_tool:
        flags.provider_tool = _changed(flags.provider_tool, added, taken)
    if PROVIDER_TOOLS in flags.set_options:
        flags.set_options |= {PROVIDER_TOOLS: _changed(flags.set_options[PROVIDER_TOOLS], added, taken)}


def provider_tools(chat: Chat, defaults: Mapping[str, Any]) -> list[str | Definition]:
    """Return the provider's tools of a chat: its own, else those of the settings, else those of providers.toml."""
    for options in (chat.options, defaults):
        if PROVIDER_TOOLS in options:
            return list(options[PROVIDER_TOOLS] or ())
    with suppress(NbtoolError):  # the model is unknown, or has no key: the cell reports it
        endpoint = chat.model.endpoint()
        if isinstance(endpoint, AdaptiveEndpoint):
            return list(endpoint.native.provider_tools or ())
    return []


def _own_of_provider(names: OwnNames, chat: Chat, words: list[str]) -> list[str]:
    """Return the words that name tools of the provider, and nothing of the notebook."""
    return [word for word in words if word in PROVIDER_TOOL_NAMES and not names.has_tool(chat, word)]


def _changed(present: list[Any], added: list[str], taken: list[str]) -> list[Any]:
    remaining = [tool for tool in present if tool not in taken]
    return [*remaining, *(name for name in dict.fromkeys(added) if name not in remaining)]
