"""A chat as it is sent to workers: how to build it there, without its key, its turns and its approvals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nbtool.chat.batch.remote import MeteredPrices, Sealed, seal
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.model import Model
from nbtool.errors import BadUsage, NbtoolError
from nbtool.ids import new_id
from nbtool.plugins.budget import Budget, GivenPrices
from nbtool.policy import apply_sent_files, site_policy
from nbtool.secret import Secret
from nbtool.tools.approval import Policy
from nbtool.tools.execution.worker_version import WorkerVersion
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables.store import Variables
from nbtool.wire.endpoints.adaptive_endpoint import AdaptiveEndpoint
from nbtool.wire.providers.connection import make_connection

MIN_KEY = 8
"""Length from which a key is searched in what is sent: a shorter one is in every text."""

LABELS = {
    "model": "The model's",
    "tools": "The tool",
    "exposed": "The variable",
    "plugins": "The plugin",
    "options": "The option",
    "choose_tools": "choose_tools",
    "call_texts": "call_texts",
    "as_": "The type as_",
    "settings": "settings=",
}
"""What an error calls a part that cannot be sent."""

COPIED = ("system", "limits", "history", "check_results", "search_tools", "choose_tools", "keeps_notes")
"""The parts that are sent as they are."""


@dataclass(frozen=True, slots=True)
class ReceivedChat:
    """A chat on a worker, with the arguments of its map.

    `versions` are its functions that the worker has in modules of its own. If it `is_asked`, somebody at home decides
    what its gates ask, unless an approval is remembered here and the approver at home `uses_remembered` ones. If it
    is `metered`, home is asked before each request, and told the prices that the budgets there need.
    """

    chat: ChatBase
    arguments: Mapping[str, Any]
    versions: Sequence[WorkerVersion] = ()
    is_asked: bool = False
    uses_remembered: bool = True
    metered: MeteredPrices | None = None


def describe_chat(
    chat: ChatBase,
    tools: Toolset,
    arguments: Mapping[str, Any],
    *,
    send_key: bool,
    metered: MeteredPrices | None = None,
) -> Sealed:
    """Return the description of a chat, with the tools and arguments of its map; if it is `metered`, budgets stay here.

    Raises:
        BadUsage: it has a literal key without `send_key`, or a part that cannot be sent.
        PolicyUnreadable: the administrator's policy cannot be read.
    """
    _check_key(chat.model, send_key=send_key)
    _check_sendable(tools)
    given = dict(arguments)
    approver = given.pop("approver")  # stays: what is asked comes home
    described = {
        "map_id": new_id("map"),  # so that what a worker remembers of one map's approvals does not answer in the next
        "policy": site_policy().files_for_workers(),
        "model": _describe_model(chat.model),
        "tools": tools,
        "exposed": {entry.name: chat.variables.value(entry.name) for entry in chat.exposed_variables()},
        "readable": [entry.name for entry in chat.exposed_variables() if entry.is_readable],
        "plugins": [sent for plugin in chat.plugins if (sent := _sent_plugin(plugin))],
        "metered": metered,
        "options": dict(chat.options),
        "call_texts": dict(chat.call_texts),
        "result_bytes": chat.variables.max_bytes,
        **{name: getattr(chat, name) for name in COPIED},
        "is_asked": approver is not None,
        "uses_remembered": bool(getattr(approver, "uses_remembered", True)),
        "versions": _versions_of(chat, tools),
        "as_": given.pop("as_"),
        "settings": given.pop("settings"),
        "arguments": given,
    }
    sealed = seal(described, LABELS)
    _check_sealed(sealed, chat.model, send_key=send_key)
    return sealed


def receive_chat(sealed: Sealed) -> ReceivedChat:
    """Build a chat from its description, on a worker; the model finds its key there.

    Raises:
        BadUsage: the worker has another version of a function of the chat.
    """
    sent = sealed.open()
    apply_sent_files(sent["policy"])
    for label, version in sent["versions"]:
        if version.find_here() is None:
            raise BadUsage(
                f"The worker has another version of {label}, or of what it uses, than the notebook.",
                fix="Start new workers, which load what is there now: a new pool, or client.restart().",
            )
    variables = Variables()
    variables.max_bytes = sent["result_bytes"]
    for name, value in sent["exposed"].items():
        variables.expose(name, value, readable=name in sent["readable"])
    chat = ChatBase(
        _build_model(sent["model"]),
        sent["tools"],
        variables,
        keeps_notes=sent["keeps_notes"],
        system=sent["system"],
        limits=sent["limits"],
        history=sent["history"],
        options=sent["options"],
        check_results=sent["check_results"],
        search_tools=sent["search_tools"],
        plugins=sent["plugins"],
        choose_tools=sent["choose_tools"],
        call_texts=sent["call_texts"],
    )
    arguments = {**sent["arguments"], **{name: sent[name] for name in ("as_", "settings")}}
    versions = [version for _, version in sent["versions"]]
    return ReceivedChat(chat, arguments, versions, sent["is_asked"], sent["uses_remembered"], sent["metered"])


def _sent_plugin(plugin: object) -> object | None:
    """Return what takes the place of a plugin there: of a budget only its prices."""
    if isinstance(plugin, Budget):
        return GivenPrices(plugin.prices) if plugin.prices else None
    return plugin


def _versions_of(chat: ChatBase, tools: Toolset) -> list[tuple[str, WorkerVersion]]:
    """Return the functions and classes that a worker takes, in whole or in part, from its own copies of modules."""
    own_tools = tools.tools().values()
    functions: list[tuple[str, Callable[..., Any]]] = [
        *((f"the tool {tool.name!r}", tool.function) for tool in own_tools),
        *((f"the policy of the tool {tool.name!r}", gate) for tool in own_tools for gate in _functions_of(tool.policy)),
        *((f"the plugin {type(plugin).__name__}", type(plugin)) for plugin in chat.plugins),
        *([("choose_tools", chat.choose_tools)] if callable(chat.choose_tools) else []),
    ]
    versions = [(label, WorkerVersion.of(function)) for label, function in functions]
    return [(label, version) for label, version in versions if version.modules]


def _functions_of(policy: Policy) -> list[Callable[..., Any]]:
    return [mode for mode in (policy.run, policy.result) if callable(mode)]


def _describe_model(model: Model) -> dict[str, Any]:
    """Return the arguments of the model."""
    is_own = not isinstance(model.wire, str | None)
    key = model.api_key.get_secret_value() if isinstance(model.api_key, Secret) else None
    return {
        "model_id": None if is_own else model.name,
        "base_url": model.base_url,
        "wire": model.wire,
        "tool_mode": model.tool_mode,
        "tool_format": model.tool_format,
        "connection": model.connection.settings,
        "key": key,  # only with `send_key`: checked before
    }


def _build_model(sent: Mapping[str, Any]) -> Model:
    key, connection = sent["key"], make_connection(sent["connection"])
    others = {name: sent[name] for name in ("model_id", "base_url", "wire", "tool_mode", "tool_format")}
    return Model(**others, api_key=Secret(key) if key else None, connection=connection)


def _check_key(model: Model, *, send_key: bool) -> None:
    """Refuse a key that would have to be sent.

    Raises:
        BadUsage: the key, a header or a password is written out, or the key comes from a function.
    """
    if model.api_key is not None and not isinstance(model.api_key, Secret):
        raise BadUsage(
            "The key of this chat comes from a function of this process, which is not sent to workers.",
            fix="Set the key in the environment of the workers, or use key_command=.",
        )
    literal = ["api_key", *model.connection.secret_names] if model.api_key else model.connection.secret_names
    if literal and not send_key:
        raise BadUsage(
            f"{literal[0]} was passed as a text, and keys are not sent to workers.",
            fix="Set it in the environment or the providers.toml of the workers, or pass send_key=True.",
        )


def _check_sendable(tools: Toolset) -> None:
    """Refuse what could be sent, but would not do there what it does here."""
    for name, tool in tools.tools().items():
        if tool.executor is not None:
            raise BadUsage(
                f"The tool {name!r} has an executor, which is not sent to workers.",
                fix="Remove executor= from it: with on= it runs on the worker anyway.",
            )
        if tool.sends_to == "server":
            raise BadUsage(
                f"The tool {name!r} is of an MCP server, whose session and login are in this process.",
                fix="Remove on=, or leave the tool out: chat.map(…, tools=[…]).",
            )


def _check_sealed(sealed: Sealed, model: Model, *, send_key: bool) -> None:
    """Refuse a description that contains the key because a tool, an object or a text does.

    Raises:
        BadUsage: it does.
    """
    if send_key:
        return
    for key in _own_keys(model):
        if len(key) >= MIN_KEY and key.encode() in sealed.data:
            raise BadUsage(
                "A tool, an object or a text of this chat contains its key, which is not sent to workers.",
                fix="Let the tool read the key where it runs, for example with os.environ.",
            )


def _own_keys(model: Model) -> Sequence[str]:
    """Return the key that requests of this process would have."""
    with suppress(NbtoolError):  # there may be a key on the workers only
        endpoint = model.endpoint()
        native = endpoint.native if isinstance(endpoint, AdaptiveEndpoint) else endpoint
        key = getattr(native, "key", None)
        return [key.get_secret_value()] if isinstance(key, Secret) else []
    return []
