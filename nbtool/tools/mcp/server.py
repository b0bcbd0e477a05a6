"""MCP servers as toolsets of a chat."""

from __future__ import annotations

import asyncio
import warnings
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from nbtool.annotation_kinds import Seconds
from nbtool.argument_check import check_arguments
from nbtool.clock import monotonic
from nbtool.errors import BadUsage, McpFailed, ToolFailed
from nbtool.sign_in import AskLogin
from nbtool.text import count_of, shorten
from nbtool.threads.loop import background_loop
from nbtool.tools.approval import Policy, make_digest
from nbtool.tools.execution.runner import ReturnValue
from nbtool.tools.mcp.catalog.prompts import RemotePrompt, get_prompt, list_prompts
from nbtool.tools.mcp.catalog.resources import RemoteResource, list_resources, read_resource
from nbtool.tools.mcp.catalog.tool_list import (
    MAX_DIFFERENCE,
    RemoteParameters,
    RemoteTool,
    ToolListing,
    diff_tools,
    quoted_instructions,
    server_label,
)
from nbtool.tools.mcp.catalog.tool_names import MAX_NAME, model_tool_names, qualified_tool_name
from nbtool.tools.mcp.config import DEFAULT_LIMITS, ServerLimits, ServerSpec, read_config
from nbtool.tools.mcp.connection.reconnection import Connection
from nbtool.tools.mcp.connection.token_store import TokenStore
from nbtool.tools.mcp.questions.elicitation import answer_for_call
from nbtool.tools.mcp.questions.login_prompt import LOGIN_SECONDS, LoginPrompt, ask_person
from nbtool.tools.mcp.questions.sign_in_question import login_for_call
from nbtool.tools.mcp.resource_tool import make_resource_tool
from nbtool.tools.tool import Progress, Tool
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.line_diff import line_diff
from nbtool.tools.values.sanitize import single_line

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")

CONNECT_SECONDS = 30.0
"""Seconds for a server to initialize and list its tools; all servers start at once."""

CALL_SECONDS = 120.0
"""Seconds that a call of a server's tool may take."""


@check_arguments
def mcp_servers(
    config: Mapping[str, Any] | str | Path,
    *,
    connect_seconds: Seconds = CONNECT_SECONDS,
    call_seconds: Seconds = CALL_SECONDS,
    limits: ServerLimits = DEFAULT_LIMITS,
    ask_login: AskLogin = ask_person,
) -> McpServers:
    """Start or connect to the MCP servers of a configuration and return their tools.

        files = mcp_servers({"mcpServers": {"files": {"command": "npx", "args": ["some-server", "/data"]}}})
        chat = Chat(tools=[files])

    `config` is such an object or a JSON file with one; an entry with `url` (and `headers`) is reached over streamable
    HTTP. Every call asks for approval, whatever the server declares about its tools; `servers.approved(policy)` sets
    another policy. At a server with `"auth": "oauth"` a person logs in, who is asked first: on a card in a page, by a
    line of input elsewhere, or by `ask_login`, which returns whether it showed the page. A server that fails is skipped
    with a warning; if all fail, an error is raised. `limits` are the other limits of the sessions.

    Raises:
        BadUsage: the configuration is invalid, or the package `mcp` is not installed.
        McpFailed: no server could be used.
    """
    if background_loop().is_current():
        raise BadUsage("MCP servers cannot be started on nbtool's own loop.", fix="Start them before the chat.")
    specs = [replace(spec, limits=limits, login_prompt=LoginPrompt(ask_login)) for spec in read_config(config)]
    servers = [McpServer(spec, call_seconds, connect_seconds) for spec in specs]
    deadline = monotonic() + connect_seconds
    failures = [failure for server in servers if (failure := server.open(deadline, connect_seconds))]
    if failures and len(failures) == len(servers):
        raise failures[0] if len(failures) == 1 else McpFailed(" ".join(map(str, failures)))
    for failure in failures:
        warnings.warn(str(failure), RuntimeWarning, stacklevel=3)
    return McpServers([server for server in servers if not server.error])


@check_arguments
class McpServer:
    """The tools of one MCP server; also a tool source by itself.

    The model receives the tool descriptions of the first listing until a person has accepted a change: before every
    call the server lists its tools again, and a tool with another description is not called. The next call shows the
    difference to the person, whatever the policy; approving it accepts the new description. Tools that were added later
    are available after `accept_changes()`. A server's instructions for the model are marked as the server's text, as
    they were when it was accepted.

    A session that has ended is replaced: the next call starts another, and compares its tools with the accepted ones. A
    call itself is never repeated.
    """

    def __init__(
        self, spec: ServerSpec, call_seconds: float = CALL_SECONDS, connect_seconds: float = CONNECT_SECONDS
    ) -> None:
        self.name = spec.name
        self.error: ToolFailed | None = None
        self._spec = spec
        self._call_seconds = call_seconds
        self._accepted: dict[str, RemoteTool] = {}
        self._latest = ToolListing()
        self._tool_cache: dict[tuple[str, RemoteTool, RemoteTool], Tool] = {}
        self._others: tuple[McpServer, ...] = ()
        self._instructions = ""
        self._connection = Connection(spec, connect_seconds, weakref.WeakMethod(self._on_listed))
        weakref.finalize(self, self._connection.begin_close)  # also at the kernel's exit

    def open(self, deadline: float, seconds: float) -> ToolFailed | None:
        """Wait for the first listing until a time of the monotonic clock; return the error if there is one."""
        try:
            if self._spec.uses_oauth and self._spec.login_prompt:
                self._spec.login_prompt.attend(self._connection.when_open, max(0.0, deadline - monotonic()))
            self._accepted = self._latest = self._connection.open(max(0.0, deadline - monotonic()), seconds)
            self._instructions = self._connection.instructions
        except (ToolFailed, BadUsage) as error:
            self.close()
            self.error = error if isinstance(error, ToolFailed) else McpFailed(str(error))
        return self.error

    def login(self) -> None:
        """Connect again, and ask the person to log in if the server requires it.

        Raises:
            McpFailed: nobody logged in.
        """
        self._connection.retry_now()
        listing = background_loop().submit(self._connection.list_tools())
        if self._spec.login_prompt:
            self._spec.login_prompt.attend(listing, LOGIN_SECONDS)
        self._latest = listing.result(self._spec.limits.list_seconds)

    def logout(self) -> None:
        """Delete the stored login; the current session ends with its server's own time."""
        background_loop().submit(TokenStore(self._spec.url).clear()).result()

    def tools(self) -> dict[str, Tool]:
        """Return the tools by their names for the model, each of which is another one; see `stay_apart`."""
        taken = {name for other in self._others for name in model_tool_names(other.name, other._accepted).values()}
        names = model_tool_names(self.name, self._accepted, taken)
        pairs = [(accepted, self._latest[name]) for name, accepted in self._accepted.items() if name in self._latest]
        return {names[pair[0].name]: self._cached_tool(names[pair[0].name], *pair) for pair in pairs}

    def stay_apart(self, others: Iterable[McpServer]) -> None:
        """Name the tools otherwise than those of other servers."""
        self._others = tuple(others)

    def left_out(self) -> tuple[str, ...]:
        """Return what of the server's list is not offered or was described wrongly, and why, a line each."""
        return self._latest.left_out

    def _cached_tool(self, name: str, accepted: RemoteTool, latest: RemoteTool) -> Tool:
        key = (name, accepted, latest)
        return self._tool_cache.get(key) or self._tool_cache.setdefault(key, self._make_tool(*key))

    def rules(self) -> str:
        """Return the server's instructions, each line marked as the server's text."""
        return quoted_instructions(self.name, self._instructions)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the server lists and cannot be used, recovered problems, and how the server ended."""
        return (*self.left_out(), *self._connection.notices)

    def pending_changes(self) -> str:
        """List the server's tools and return the difference to the accepted ones; empty for none.

        Raises:
            McpFailed: the server does not respond.
        """
        self._latest = background_loop().submit(self._connection.list_tools()).result()
        empty = RemoteTool("", "", "{}")
        names = {**self._accepted, **self._latest}
        pairs = {name: (self._accepted.get(name, empty), self._latest.get(name, empty)) for name in names}
        changed = [f"{name}:\n{diff_tools(*pair)}" for name, pair in pairs.items() if pair[0] != pair[1]]
        if instructions := line_diff(self._instructions, self._connection.instructions, "instructions"):
            changed.append(f"instructions:\n{instructions}")
        return "\n".join(changed)

    def accept_changes(self) -> None:
        """Accept the tools of the server's last listing: changed and new ones."""
        self._accepted = dict(self._latest)
        self._instructions = self._connection.instructions

    def prompts(self) -> tuple[RemotePrompt, ...]:
        """List the server's prompts; `%chat prompt` writes one into a cell."""
        return self._request(partial(list_prompts, self.name, self._connection.note), "list its prompts")

    def get_prompt(self, name: str, arguments: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the text of a prompt with these arguments.

        Raises:
            McpFailed: the server has no such prompt, or needs other arguments.
        """
        return self._request(
            partial(get_prompt, self.name, name, arguments), f"return the prompt {single_line(name)!r}"
        )

    def resources(self) -> tuple[RemoteResource, ...]:
        """List the server's resources; results of its tools may link to others."""
        return self._request(partial(list_resources, self.name, self._connection.note), "list its resources")

    def read_resource(self, resource: RemoteResource | str) -> Any:
        """Return the content of a resource of the list, of a link in a result, or of an address: text or media.

        Raises:
            BadUsage: it is a resource of another server.
            McpFailed: the server has no such resource.
        """
        return background_loop().submit(self._read_resource(resource)).result()

    def resource_tool(self) -> Tool:
        """Return a tool with which a model reads the resources that results link to; every call asks for approval."""

        async def read(resource: RemoteResource | str) -> Any:
            return await asyncio.wrap_future(background_loop().submit(self._read_resource(resource)))

        return make_resource_tool(self.name, self._spec.identity, read)

    async def _read_resource(self, resource: RemoteResource | str) -> Any:
        if isinstance(resource, RemoteResource) and resource.server != self.name:
            raise BadUsage(
                f"{server_label(self.name)} does not have {resource}, which is of the server {resource.server!r}.",
                fix=f"Read it with servers[{resource.server!r}].",
            )
        uri = resource.uri if isinstance(resource, RemoteResource) else resource
        doing = f"return the resource {shorten(single_line(uri), 200)!r}"
        return await self._connection.request(partial(read_resource, uri), doing)

    def _request(self, send: Callable[[Client], Awaitable[T]], doing: str) -> T:
        return background_loop().submit(self._connection.request(send, doing)).result()

    def close(self) -> None:
        """Close the session, and stop the server if it was started here; calls of its tools then fail."""
        self._connection.close()

    def __repr__(self) -> str:
        return f"McpServer({self.name!r}, {count_of(len(self._accepted), 'tool')})"

    def _make_tool(self, name: str, accepted: RemoteTool, latest: RemoteTool) -> Tool:
        policy, notice, rejection = Policy(), "", ""
        if accepted != latest:
            policy, changed = Policy(sensitive=True), diff_tools(accepted, latest)
            if len(changed) > MAX_DIFFERENCE:
                rejection = (
                    f"{server_label(self.name)} changed this tool by more than can be shown at a gate ({len(changed)} "
                    "characters), so it is not called. "
                    "The user can print the server's `pending_changes()` and call `accept_changes()`."
                )
            notice = f"{server_label(self.name)} changed this tool after it was accepted:\n{changed}"
        return Tool(
            function=partial(self._call_tool, latest),
            name=name,
            description=accepted.description,
            parameters=RemoteParameters({}, None, accepted.parameters, refusal=rejection),
            policy=policy,
            timeout=self._call_seconds,
            digest=make_digest(name=name, text=latest.text),
            identity=f"{self._spec.identity}.{accepted.name}",
            origin=f"mcp.{self.name}.{accepted.name}",
            notice=notice,
            sends_to="server",
            qualified_name=qualified_tool_name(self.name, accepted.name),
            hint=latest.hint,
        )

    async def _call_tool(
        self, approved: RemoteTool, arguments: dict[str, Any]
    ) -> AsyncIterator[Progress | ReturnValue]:
        """Call a tool if it is unchanged since its approval, and report the server's progress messages."""
        loop, progress_queue = asyncio.get_running_loop(), asyncio.Queue[Progress | None]()

        def enqueue(progress: Progress | None) -> None:
            with suppress(RuntimeError):  # the loop of a cancelled call may be closed
                loop.call_soon_threadsafe(progress_queue.put_nowait, progress)

        check, answer = partial(self._check_unchanged, approved), answer_for_call(self.name)
        prompt = self._spec.login_prompt
        with prompt.during_call(login_for_call()) if prompt else nullcontext():
            future = background_loop().submit(self._connection.call(approved, arguments, check, enqueue, answer))
            future.add_done_callback(lambda _: enqueue(None))
            try:
                while (progress := await progress_queue.get()) is not None:
                    yield progress
            finally:
                future.cancel()
        yield ReturnValue(future.result())

    def _on_listed(self, tools: ToolListing) -> None:
        """Take what the server lists after it said that its tools changed; nothing is accepted by that."""
        self._latest = tools

    def _check_unchanged(self, approved: RemoteTool, tools: ToolListing) -> None:
        """Check that a tool is unchanged since its approval.

        Raises:
            McpFailed: it was removed, or has changed.
        """
        self._latest = tools
        current, name = self._latest.get(approved.name), shorten(single_line(approved.name), MAX_NAME)
        if current is None:
            raise McpFailed(f"{server_label(self.name)} no longer has the tool {name!r}.")
        if current != approved:
            raise McpFailed(
                f"{server_label(self.name)} has changed the tool {name!r}, so it was not called.",
                fix="Call it again: the user is then asked about the change.",
            )
        if approved.name in self._accepted:  # a changed tool always asks, so its change was approved
            self._accepted = {**self._accepted, approved.name: approved}


@check_arguments
class McpServers(Toolset):
    """The tools of several MCP servers; `servers["name"]` is one of them, and as a context manager it closes them."""

    def __init__(self, servers: Iterable[McpServer]) -> None:
        self._servers = {server.name: server for server in servers}
        for number, server in enumerate(self._servers.values()):
            server.stay_apart(list(self._servers.values())[:number])
        try:
            # of two sets of one name the later one replaces the other: only the same servers are meant
            super().__init__(f"mcp:{'+'.join(self._servers)}", self._servers.values())
        except BadUsage:
            self.close()
            raise

    def __getitem__(self, name: str) -> McpServer:
        if name not in self._servers:
            raise BadUsage(f"There is no MCP server {name!r}.", fix=f"Servers: {', '.join(self._servers) or 'none'}.")
        return self._servers[name]

    @property
    def servers(self) -> tuple[McpServer, ...]:
        """The servers, in the order of the configuration."""
        return tuple(self._servers.values())

    def close(self) -> None:
        """Close all sessions, and stop the servers that were started here."""
        for server in self._servers.values():
            server._connection.begin_close()
        for server in self._servers.values():
            server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
