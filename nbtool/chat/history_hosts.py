"""Which hosts may get the history of a chat: the host that had it last, and one that a person has named since.

A default that was found (a key, a local server), and an address that changed behind a name, are not named. Before a
request with history, its host is compared with those that the earlier turns went to (`RequestStarted.host`).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar

from nbtool.blocks.sanitize import one_line
from nbtool.chat.conversation import Conversation
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.model import Model
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, NbtoolError
from nbtool.events import RequestStarted, TurnStarted
from nbtool.wire.base import Endpoint
from nbtool.wire.transport.models.default_model import destination

UNKNOWN_HOST = "an unknown host"
MAX_NAME = 100
"""Characters of the name of a model or a host that a refusal shows."""

calling_host: ContextVar[str] = ContextVar("nbtool_calling_host", default="")
"""The host of the turn whose call is running; empty outside a turn."""


def host_of(turn: Turn, tree: Tree[Turn]) -> str | None:
    """Return the host that got a turn of a tree last: "" if it is not known, None if nothing was sent.

    A version that reuses all replies of another one sends nothing: then it is where the others went.
    """
    if (host := _host_of_log(turn)) is not None:
        return host
    node = next((item for item in tree.nodes() if turn in item.all_versions), None)
    hosts = map(_host_of_log, reversed(node.all_versions)) if node else ()
    return next((item for item in hosts if item is not None), None)


def _host_of_log(turn: Turn) -> str | None:
    """Return the host of a turn's last request; of a replayed turn, that of the recorded one."""
    is_replayed = any(isinstance(event, TurnStarted) and event.replayed for event in turn.log)
    sent = [event.host for event in turn.log if isinstance(event, RequestStarted) and (is_replayed or not event.given)]
    return (sent[-1] or _usual_host(turn.model)) if sent else None


def check_recipient(
    conversation: Conversation,
    history: Sequence[Turn],
    model: Model,
    endpoint: Endpoint,
    *,
    is_named: bool = False,
) -> None:
    """Check that the host of a request may get the turns that are sent with it, the latest last.

    Args:
        conversation: the one of these turns; it remembers which host a name stood for.
        history: the turns whose messages the request contains.
        model: the chat's.
        endpoint: where the request goes.
        is_named: the person names the model for this turn (`-m`).

    Raises:
        BadUsage: the host has not had all of them, and nobody has named it; it names both hosts.
    """
    if model.is_in_kernel:
        return  # nothing leaves
    host, name = endpoint.host, (model.name, model.base_url or "")
    if is_named:
        conversation.named_hosts[name] = host
        return
    if held := _held_by(conversation, history, model, host):
        raise _refusal(*held, model, host)
    if model.is_named:
        conversation.named_hosts.setdefault(name, host)


def describe_recipient(conversation: Conversation, history: Sequence[Turn], model: Model) -> str:
    """Return who has the history, and that the host of the model gets it only once it is named; empty if it may."""
    try:
        host = model.destination
    except NbtoolError:
        return ""
    if not host or not (held := _held_by(conversation, history, model, host)):
        return ""
    turn, former = held
    return (
        f"with {_shown(former) if former else UNKNOWN_HOST} ({_shown(turn.model)}); not sent to {_shown(host)} "
        f"until you name it: `%%chat {_option(model.name)}`"
    )


def _held_by(conversation: Conversation, history: Sequence[Turn], model: Model, host: str) -> tuple[Turn, str] | None:
    """Return the latest turn that was sent, and the host that has it, if that is another one that nobody has named."""
    if model.is_in_kernel:
        return None
    if model.is_named and conversation.named_hosts.get((model.name, model.base_url or ""), host) == host:
        return None
    hosts = ((turn, host_of(turn, conversation.tree)) for turn in reversed(history))
    turn, former = next(((turn, former) for turn, former in hosts if former is not None), (None, None))
    return (turn, former) if turn is not None and former is not None and former != host else None


def new_host_notice(history: Sequence[Turn], tree: Tree[Turn], model: Model, endpoint: Endpoint) -> str:
    """Return that a request sends the history to another host than the one that had it last; empty if it does not."""
    if model.is_in_kernel or not endpoint.host:
        return ""
    sent = ((turn, host_of(turn, tree)) for turn in reversed(history))
    former, host = next(((turn, host) for turn, host in sent if host is not None), (None, None))
    if former is None or not host or host == endpoint.host:
        return ""
    name = _shown(former.model)
    before = f"the model {name} of this kernel" if Model(former.model).is_in_kernel else f"{_shown(host)} ({name})"
    return f"The messages of this chat, which went to {before} before, are sent to {_shown(endpoint.host)} now."


def check_question(model: Model) -> None:
    """Check that the host of a sub-chat may get the question of a model: the one that asks, or one that is named.

    Raises:
        BadUsage: it is another one, and nobody has named it.
    """
    asking = calling_host.get()
    if not asking or model.is_in_kernel or model.is_named or (host := model.endpoint().host) == asking:
        return
    raise BadUsage(
        f"Nothing was sent: this chat is at {_shown(asking)}, and nobody has named {_shown(host)} for its sub-chat.",
        fix=f"Name a model: `subchat({model.name!r})`.",
    )


def _usual_host(model_name: str) -> str:
    """Return the host of a provider's model; empty if it is not known."""
    with suppress(NbtoolError):
        return destination(model_name)[0]
    return ""


def _refusal(turn: Turn, former: str, model: Model, host: str) -> BadUsage:
    before = f"{_shown(former) if former else UNKNOWN_HOST} ({_shown(turn.model)})"
    now = f"{_shown(host)} ({_shown(model.name)}: {_shown(model.reason)})"
    return BadUsage(
        f"Nothing was sent: the messages of this chat went to {before}, and {now} has not had them.",
        fix=f"`{_option(model.name)}` sends them there, in Python `chat.model = "
        f"chat.model.with_changes({_shown(model.name)!r})`; {_way_back(turn.model, former, model)}",
    )


def _way_back(name: str, former: str, model: Model) -> str:
    """Return what the former model's name does now: it leads to the former host, to another one, or nowhere."""
    option = f"`{_option(name)}`"
    try:
        host = model.with_changes(name).destination
    except NbtoolError as error:
        return f"{option} cannot be used: {_shown(error.message)}"
    return f"{option} goes on as before." if host == former else f"{option} is at {_shown(host)} now."


def _shown(text: str) -> str:
    return one_line(text, MAX_NAME)


def _option(name: str) -> str:
    """Return the option of a cell that names a model, whatever its name, which may be of a file, begins with."""
    return f"--model={shlex.quote(_shown(name))}" if name.startswith("-") else f"-m {shlex.quote(_shown(name))}"
