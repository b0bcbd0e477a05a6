"""The models that a page offers for the next prompt: of the chats, the settings, the last listing and the providers."""

from __future__ import annotations

from collections.abc import Iterator

from nbtool.blocks.render.whole_conversation import ModelChoice
from nbtool.blocks.sanitize import one_line
from nbtool.errors import NbtoolError
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.notebook.inserted_cell import model_option
from nbtool.wire.providers.catalog import providers
from nbtool.wire.providers.credentials import find_key
from nbtool.wire.providers.model_id import parse_model
from nbtool.wire.providers.provider import Provider

MAX_CHOICES = 100
"""Models that are offered; `%chat models` lists all."""

MAX_NAME = 120
"""Characters of the name of a model that is offered."""


def model_choices(context: CommandContext, flags: str = "") -> list[ModelChoice]:
    """Return the models for the next prompt, the chat's own first; no server is contacted.

    A model without `magic` cannot be chosen: its note says that its provider is unknown, or has no key. `flags` are
    other ones of the cell.
    """
    found: dict[str, str] = {}
    for name, note in _known_models(context):
        if name and len(name) <= MAX_NAME and name.isprintable():
            found.setdefault(name, note)
        if len(found) == MAX_CHOICES:
            break
    return [_choice(context, name, note, flags) for name, note in found.items()]


def _known_models(context: CommandContext) -> Iterator[tuple[str, str]]:
    """Yield the names of models with notes, the most likely ones first."""
    kernel = context.kernel
    yield context.chat.model.name, "the model of this chat"
    for name, chat in list(kernel.chats.items()):
        yield chat.model.name, f"of the chat {one_line(name, 40)}"
    yield kernel.settings.model, "of the settings"
    with_default = [provider for provider in _providers() if provider.default_model]
    ready = [provider for provider in with_default if not _lacks_key(provider)]
    yield from ((f"{item.name}:{item.default_model}", "") for item in ready)
    yield from ((name, "") for name in kernel.model_list)
    yield from ((f"{item.name}:{item.default_model}", "") for item in with_default if item not in ready)


def _choice(context: CommandContext, name: str, note: str, flags: str) -> ModelChoice:
    problem = "" if any(chat.model.name == name for chat in context.kernel.chats.values()) else _problem(context, name)
    if problem:
        return {"name": name, "note": problem, "magic": ""}
    flag = "" if name == context.chat.model.name else f" {model_option(name)}"
    return {"name": name, "note": note, "magic": context.cells.cell_magic + flags + flag}


def _problem(context: CommandContext, name: str) -> str:
    """Return why a model cannot be used; empty if it can: the settings may name the server or the key of theirs."""
    settings = context.kernel.settings
    if name == settings.model and (settings.base_url or settings.api_key or settings.key_command):
        return ""
    try:
        provider, _ = parse_model(name)
        return f"no key: {provider.keys[0]} is not set" if _lacks_key(provider) else ""
    except NbtoolError as error:
        return one_line(error.message, 80)


def _lacks_key(provider: Provider) -> bool:
    return provider.needs_key and find_key(provider) is None


def _providers() -> list[Provider]:
    try:
        return list(providers().values())
    except NbtoolError:  # the file of providers is invalid, as each cell says
        return []
