"""The configuration and contents of a chat: `status`, `models`, `tools`, `vars`, `config`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbtool.blocks.sanitize import one_line
from nbtool.chain.price_check import price_example
from nbtool.chat.chat import Chat
from nbtool.chat.history_hosts import describe_recipient
from nbtool.chat.journal.storage import is_in_memory
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, NbtoolError, SettingsError, UnknownReference
from nbtool.magics.commands.context import CommandContext, describe_maps, format_sentences, format_table
from nbtool.magics.commands.files.recordings import describe_recording
from nbtool.magics.commands.serve import describe_client
from nbtool.magics.commands.state.agents import describe_agent, list_agents
from nbtool.magics.commands.state.doctor import doctor
from nbtool.magics.commands.state.model_table import list_models
from nbtool.magics.commands.state.tool_gates import describe_gates
from nbtool.magics.commands.turns.branches import count_versions
from nbtool.magics.flags.config import FLAGS
from nbtool.magics.flags.provider_choice import provider_tools
from nbtool.policy import site_policy
from nbtool.settings import Setting, data_dir, display_path
from nbtool.text import count_of, format_size
from nbtool.tools.tool_search import ToolSearch
from nbtool.tools.tool_views import left_out_tools
from nbtool.tools.values.memory_size import size_of
from nbtool.tools.variables.store import MAX_BYTES
from nbtool.tools.variables.turn_results import describe_oversized
from nbtool.tools.variables.variable import Variable
from nbtool.wire.agents.profiles import PROVIDER, is_agent_id
from nbtool.wire.providers.provider_tools import PROVIDER_TOOLS, name_definition
from nbtool.wire.providers.providers_toml import SETTINGS_FILE
from nbtool.wire.transport.traffic import HostTraffic, totals

IN_THIS_KERNEL = "127.0.0.1: the practice model runs in this kernel"
"""The host of the model that has no server outside."""

STAYS_HERE = "practice model"
"""The row of the requests that do not leave the kernel; a footer says of their turns that nothing is sent."""

COSTS_NOTHING = "none: the practice model is free"
"""The cost of the model that has no server outside."""

MAX_NAME = 60
"""Characters of the name of a tool of the provider."""

AT_PROVIDER = "runs at the provider, without asking"
"""When a tool of the provider needs approval."""

WRITABLE_POLICY = " (you can change this file, so it does not bind you)"

_JOURNAL_FILES = ("", "-wal", "-shm", "-journal")
"""How the names of the journal's files end: SQLite keeps what was written last beside the file itself."""

RESULT_BYTES = "result_bytes"
"""The setting that is a number of bytes, and is shown with its unit."""


CHECK = "--check"
"""Tries what this front end and kernel can do, instead of showing the chat."""


def status(context: CommandContext, args: list[str]) -> str:
    """Show the model, settings and tools, and what has been sent.

    Also what waits for a decision, the plugins, the variables, the sources of settings, and what has left this kernel
    for which host. `status --check` tries what this front end and kernel can do, with a line of advice for each;
    nothing is sent to a model.
    """
    if CHECK in args:
        return doctor(context, [])
    chat = context.chat
    turns = [node.turn for node in chat.tree.active_path if node.turn]
    rows = [
        ("model", f"{chat.model.name} ({chat.model.reason})"),
        *_way_back(context),
        ("host", _host(chat)),
        *describe_agent(chat),
        *_history_host(chat),
        *_forced_settings(chat),
        ("tools", _tool_names(chat)),
        *_tool_search(chat),
        *([("  at the provider", ", ".join(names))] if (names := _provider_tools(context)) else []),
        ("variables", "" if chat.exposed_variables() else "none"),
        *((f"  {entry.name}", _visibility(chat, entry)) for entry in chat.exposed_variables()),
        ("results", _results(chat)),
        ("waiting", _waiting(context)),
        ("turns", ". ".join(filter(None, [_count_turns(chat, len(turns)), describe_maps()]))),
        ("tokens", f"{sum(t.usage.input_tokens for t in turns)} in, {sum(t.usage.output_tokens for t in turns)} out"),
        *_cost(chat, turns),
        ("cells", _cells(context)),
        *_settings(context),
        ("plugins", ", ".join(type(plugin).__name__ for plugin in chat.plugins) or "none"),
        ("providers.toml", _providers_file()),
        *_served(context),
        ("replay", describe_recording(context)),
        ("journal", _journal()),
        *_policy(),
        *_traffic(),
    ]
    return format_sentences(*rows)


def models(context: CommandContext, args: list[str]) -> str:
    """List the models of the provider: `models [PATTERN]`.

    Each by the name that `-m` takes, with price, context and abilities. `models acp` lists the agents of this machine,
    as does `models` in a chat that has one.
    """
    if len(args) > 1:
        raise BadUsage("%chat models takes at most one pattern.", fix="For example `%chat models *mini*`.")
    if context.chat.model.is_agent or args == [PROVIDER]:
        return list_agents()
    return list_models(context.chat.model, args[0] if args else "", context.kernel.model_list)


def tools(context: CommandContext, _: list[str]) -> str:
    """List the tools, when they need approval, and the variables.

    The variables are those that are exposed, and the results for `bind`, each as the model sees it.
    """
    return f"{_tools(context)}\n\n{variables(context, [])}"


def _tools(context: CommandContext) -> str:
    source = context.chat.tools
    rows = [(tool.display_name, describe_gates(tool)) for tool in source.tools().values() if not tool.unfit_reason]
    rows += [(name, AT_PROVIDER) for name in _provider_tools(context)]
    shown = (
        format_table(*rows) if rows else "No tools. Expose a function with `%%chat -t NAME` or &`name` in the prompt."
    )
    return "\n".join([shown, *map(one_line, left_out_tools(source))])


def _provider_tools(context: CommandContext) -> list[str]:
    """Return the names of the tools of the provider that a cell of the chat has."""
    tools = context.kernel.settings.provider_tools
    found = provider_tools(context.chat, {} if tools is None else {PROVIDER_TOOLS: tools})
    return [one_line(name_definition(tool), MAX_NAME) for tool in found]


def variables(context: CommandContext, _: list[str]) -> str:
    """List the exposed variables, and the results for `bind`.

    Each as the model sees it.
    """
    chat = context.chat
    entries = chat.variables.list_entries()
    rows = [(entry.name, _visibility(chat, entry)) for entry in entries if entry.kind == "exposed"]
    results = [entry for entry in entries if entry.kind != "exposed"]
    rows += [(entry.name, f"{entry.kind}: {chat.variables.describe(entry.name)}") for entry in results]
    return format_table(*rows) if rows else "No variables. Expose one with `%%chat -v NAME` or $`name` in the prompt."


def config(context: CommandContext, args: list[str]) -> str:
    """List the settings, or set one: `config [KEY [VALUE]]`.

    Each with its source; `config KEY default` resets one.
    """
    settings = context.kernel.settings
    match args:
        case []:
            shown = {name: _in_force(context, name) for name in sorted(settings.class_traits(config=True))}
            return format_table(*((name, f"{setting.value}  ({setting.source})") for name, setting in shown.items()))
        case [name]:
            return str(_in_force(context, name) if name == RESULT_BYTES else settings.setting(name))
        case [name, *words] if len(words) == 1 or (name == RESULT_BYTES and len(words) == 2):
            settings.change(name, " ".join(words))
            context.kernel.chat(context.name)  # applies it
            return f"{name}: {_in_force(context, name).value}"
        case _:
            raise BadUsage(
                "%chat config takes no arguments, KEY, or KEY VALUE.", fix="Put quotes around a value with spaces."
            )


def _in_force(context: CommandContext, name: str) -> Setting[str]:
    """Return a setting as it is shown; of the bound of results the one in force, which a chat may have of its own."""
    setting = context.kernel.settings.setting(name)
    if name != RESULT_BYTES:
        return Setting(_format_value(setting.value), setting.source)
    count = context.chat.variables.max_bytes
    own = "default" if count == MAX_BYTES else "set by the chat"
    return Setting(f"{format_size(count)}, {count_of(count, 'byte')}", setting.source if setting.value else own)


def _waiting(context: CommandContext) -> str:
    """Return how many calls wait for a decision, and how many turns go on without a cell."""
    chat = context.chat
    count, turns = (
        len(chat.approvals.pending()),
        [running_turn for running_turn in chat.running_turns if not running_turn.caller_thread.is_attached],
    )
    calls = f"{count_of(count, 'call')}: `%chat approvals` lists {'it' if count == 1 else 'them'}" if count else "none"
    return f"{calls}; {count_of(len(turns), 'turn')} in the background" if turns else calls


def _count_turns(chat: Chat, active: int) -> str:
    """Return how many turns the active line has, which the rows below it count too, and how many the whole chat."""
    versions = count_versions(chat)
    return f"{active} on the active line" + (
        f"; {versions} with all versions and branches" if versions > active else ""
    )


def _tool_names(chat: Chat) -> str:
    """Return the tool names that a turn offers: the chat's own, and those that read its variables."""
    readers = [name for name in chat.turn_tools().tools() if name not in chat.tools.tools()]
    own = ", ".join(tool.display_name for tool in chat.tools.tools().values())
    return f"{own or 'none of your own'}; for variables: {', '.join(readers)}" if readers else own or "none"


def _tool_search(chat: Chat) -> list[tuple[str, str]]:
    """Return what a search of tools saves in each request, if there is one."""
    search = ToolSearch(chat.variable_tools.tools(), is_on=chat.search_tools)
    search.refresh(chat.turn_tools().tools())
    return [("  search", search.describe())] if search.is_active else []


def _host(chat: Chat) -> str:
    try:
        return chat.model.destination or IN_THIS_KERNEL
    except NbtoolError as error:
        return str(error)


def _history_host(chat: Chat) -> list[tuple[str, str]]:
    """Return which host has the history, if the one of the model does not get it before it is named."""
    line = [node.turn for node in chat.tree.active_path if node.turn and not node.hidden]
    held = describe_recipient(chat, line, chat.model)
    return [("  history", held)] if held else []


def _way_back(context: CommandContext) -> list[tuple[str, str]]:
    """Return how a cell goes back to the default model, if the chat has another one."""
    default = context.kernel.default_model(context.name)
    is_default = context.chat.model.model_id == default.model_id
    return [] if is_default else [("  default", f"{default.name}: `%%chat -m default` goes back to it")]


def _forced_settings(chat: Chat) -> list[tuple[str, str]]:
    """Return the connection settings that the person set explicitly; they stay until changed."""
    wire, mode = chat.model.wire, chat.model.tool_mode
    return [
        *([("wire", f"{wire} (set by you)")] if isinstance(wire, str) else []),
        *([("tool mode", f"{mode} (set by you)")] if mode != "auto" else []),
    ]


def _settings(context: CommandContext) -> list[tuple[str, str]]:
    """Return the history mode and every setting that is not the default, each with its source."""
    settings = context.kernel.settings
    values = {name: settings.setting(name) for name in FLAGS if name != "replay"}
    history_mode = values.pop("history")
    history = f"{history_mode.value} ({history_mode.source})" if history_mode.value else context.chat.history
    others = [(name.replace("_", " "), value) for name, value in values.items() if value.source != "default"]
    return [("history", history), *((name, f"{other.value} ({other.source})") for name, other in others)]


def _cost(chat: Chat, turns: list[Turn]) -> list[tuple[str, str]]:
    """Return that the practice model is free, or how to give the price of the model if turns have an unknown cost."""
    if unknown := sum(turn.usage.is_cost_unknown for turn in turns):
        return [("cost", f"unknown in {unknown} of them. {price_example(chat.model.name)}")]
    return [("cost", COSTS_NOTHING)] if chat.model.is_in_kernel else []


def _cells(context: CommandContext) -> str:
    """Return which cells of the notebook the last prompt contained."""
    cells = context.kernel.names.cell_contexts.get(context.chat.chat_id)
    return f"the last prompt contained {cells.describe()}" if cells else "none in the last prompt"


def _served(context: CommandContext) -> list[tuple[str, str]]:
    """Return where the notebook is served to other programs, if it is, and how much each got."""
    server = context.kernel.server
    if not server:
        return []
    clients = server.handlers.clients.values()
    received = [f"{one_line(client.name, 40)}: {describe_client(client)}" for client in clients]
    return [("served at", "; ".join([server.address.url, *(received or ["no clients yet"])]))]


def _providers_file() -> str:
    """Return where the settings of providers are read, and whether the file exists."""
    try:
        path = data_dir() / SETTINGS_FILE
    except SettingsError as error:
        return str(error)
    return f"{display_path(path)}{'' if path.exists() else ' (there is none)'}"


def _results(chat: Chat) -> str:
    """Return the size of the stored results, the limit, and how many were dropped because of it."""
    result_count, variables = sum(entry.kind == "result" for entry in chat.variables.list_entries()), chat.variables
    count = f"{result_count} by reference, " if result_count else "none by reference, "
    dropped = f"; {variables.evicted_count} dropped to make room" if variables.evicted_count else ""
    stored, limit = format_size(variables.stored_bytes), format_size(variables.max_bytes)
    oversized = describe_oversized(variables)
    return f"{count}{stored} of {limit} in total (result_bytes){dropped}{f'. {oversized}' if oversized else ''}"


def _traffic() -> list[tuple[str, str]]:
    """Return what was sent to each host, and apart from it what the practice model got, which stays in the kernel."""
    inside = {
        host: total
        for host, total in totals().items()
        if not is_agent_id(host) and site_policy().is_own_server(f"http://{host}")
    }
    sent = {host: total for host, total in totals().items() if host not in inside}
    rows = [("sent to providers", "" if sent else "nothing")]
    rows += [(f"  {host}", _format_traffic([host_traffic])) for host, host_traffic in sent.items()]
    return rows + ([(STAYS_HERE, f"{_format_traffic([*inside.values()])}: in this kernel")] if inside else [])


def _format_traffic(traffic: Sequence[HostTraffic]) -> str:
    count, size = (
        sum(host_traffic.requests for host_traffic in traffic),
        sum(host_traffic.size for host_traffic in traffic),
    )
    return f"{count:,} {'request' if count == 1 else 'requests'}, {format_size(size)}"


def _visibility(chat: Chat, entry: Variable) -> str:
    """Return what the model sees of a variable, its size, and whether its values may be sent."""
    try:
        size = f"; {format_size(size_of(chat.variables.value(entry.name)))}"
    except UnknownReference:
        return "no longer in the notebook: references to it fail"
    return f"{chat.variables.describe(entry.name)}{size}; values {'may be read' if entry.is_readable else 'withheld'}"


def _format_value(value: object) -> str:
    return "not set" if value in (None, "") else str(value)


def _policy() -> list[tuple[str, str]]:
    """Return the administrator's policy: where it is, what it limits, and whether it binds this user at all."""
    policy = site_policy()
    if policy.problem:
        return [("policy", str(policy.problem))]
    if not policy.files:
        return []
    from nbtool.policy.description import describe_rules  # noqa: PLC0415 - pydantic loads only where there is a policy

    rows: list[tuple[str, str]] = []
    for file in policy.files:
        rows.append(("policy", f"{file.path}{WRITABLE_POLICY if file.is_writable else ''}"))
        rows += [(f"  {subject}", sentence) for subject, sentence in describe_rules(file.rules)]
    return rows


def _journal() -> str:
    if is_in_memory():
        by_policy = site_policy().journal_storage == "memory"
        return f"in memory ({'by the policy' if by_policy else 'NBTOOL_JOURNAL=off'})"
    try:
        path = data_dir() / "journal.sqlite"
    except SettingsError as error:
        return f"in memory ({error.message})"
    size = sum(_file_size(path.with_name(f"{path.name}{end}")) for end in _JOURNAL_FILES)
    if not size:  # nothing was written yet
        return display_path(path)
    return f"{display_path(path)}, {format_size(size)}: `%chat history vacuum DAYS` deletes older turns"


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # it does not exist, or no longer
        return 0
