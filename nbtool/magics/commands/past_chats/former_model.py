"""The model of a chat that is opened: the one that it had, so that its history stays with the host that has it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat
from nbtool.chat.history_hosts import UNKNOWN_HOST, host_of
from nbtool.chat.model import Model
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, EnvFileNotAllowed, NbtoolError
from nbtool.magics.commands.context import CommandContext

MAX_SHOWN = 100
"""Characters of the name of a model or a host that are shown."""

MODEL_FLAGS = ("-m", "--model")
"""The flags of `open` that name a model."""


def take_model(args: list[str]) -> tuple[list[str], str | None]:
    """Return the arguments of a command without the model that it names, and that model.

    Raises:
        BadUsage: the flag has no value.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument(*MODEL_FLAGS)
    try:
        flags, others = parser.parse_known_args(args)
    except argparse.ArgumentError:
        flags, others = argparse.Namespace(model=""), []
    if flags.model == "":
        raise BadUsage("-m takes a model.", fix="`%chat open ID -m provider:model`")
    return others, flags.model


def choose_former_model(context: CommandContext, named: str | None = None) -> str:
    """Set the model of a chat that was just opened: the one that it had, or the one that is named; return a note.

    If neither can be used, the chat keeps the default one, whose host gets the history only if it has it, or is named
    from now on.
    """
    chat = context.chat
    if named:
        chat.model = chat.model.with_changes(named)
        return f" It goes on with {_describe(chat.model)}."
    if not (found := _last_sent(chat)):
        return ""
    turn, host = found
    default = chat.model
    for model in _candidates(context, default, turn.model):
        if _can_go_on(model, turn.model, host):
            context.chat.model = model
            chat.named_hosts[model.name, model.base_url or ""] = host  # and no other, if that changes
            return f" It goes on with {_describe(model)}, as before."
    context.chat.model = default if default.is_in_kernel else replace(default, is_unnamed=True)
    before = f"{one_line(turn.model, MAX_SHOWN)} ({one_line(host, MAX_SHOWN) if host else UNKNOWN_HOST})"
    if default.is_in_kernel:
        return f" Its messages went to {before}, which cannot be used here; it goes on with {_describe(default)}."
    return (
        f" Its messages went to {before}, which cannot be used here; they go to {_describe(default)} only if you name "
        f"it: `%%chat -m {one_line(default.name, MAX_SHOWN)}`."
    )


def _last_sent(chat: Chat) -> tuple[Turn, str] | None:
    """Return the last turn of the active line that was sent, and the host that got it; None if none was."""
    for node in reversed(chat.tree.active_path):
        if node.turn and (host := host_of(node.turn, chat.tree)) is not None:
            return node.turn, host
    return None


def _candidates(context: CommandContext, default: Model, former: str) -> Iterator[Model]:
    """Yield models that may be the former one: the default, a provider's, another one of the default's server."""
    if default.name == former:
        yield default
    context.chat.model = Model(former)
    yield context.chat.model  # with the settings of this kernel, where they are those of its server
    if default.base_url:
        yield default.with_changes(former)
    yield default


def _can_go_on(model: Model, former: str, host: str) -> bool:
    """Return whether a model can be used, and is the former practice model or at the former host; nothing is sent."""
    try:
        if model.is_in_kernel:
            return model.name == former
        return bool(host) and model.endpoint().host == host
    except EnvFileNotAllowed:  # the cell asks for consent
        with suppress(NbtoolError):
            return model.destination == host
    except NbtoolError:
        pass
    return False


def _describe(model: Model) -> str:
    host = ""
    with suppress(NbtoolError):
        host = "" if model.is_in_kernel else model.destination
    return one_line(model.name, MAX_SHOWN) + (f" ({one_line(host, MAX_SHOWN)})" if host else "")
