"""The requests of the Model Context Protocol: list the tools and variables, call a tool, read a variable."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext

from nbtool.blocks.sanitize import one_line
from nbtool.errors import BadUsage, NbtoolError
from nbtool.mcp_server.client_calls import Client, ReportProgress
from nbtool.mcp_server.content import as_call_result, as_resources, as_tool, refusal, variable_name
from nbtool.mcp_server.task_results import CallTasks, has_earlier_tasks

MAX_CLIENTS = 32
"""Maximum number of clients by name; a further one is refused until the server is started again."""

MAX_NAME = 60
"""Maximum characters of a client's name that are shown."""

UNNAMED = "unnamed client"

INSTRUCTIONS = (
    "The functions and objects of a live Jupyter notebook. Pass an object as a reference: an argument that is exactly "
    "$VAR_REF{{name}} becomes the object itself, whatever its size. A person may be asked before a call runs and before"
    " its result is returned; a denied call says why. Results are kept under the names that they report."
)

OpenClient = Callable[[str], Client]


class Handlers:
    """Answers the requests of all clients; `open_client` makes a client when its name comes for the first time."""

    def __init__(self, open_client: OpenClient, version: str) -> None:
        self._open_client = open_client
        self._lock = threading.Lock()
        self.clients: dict[str, Client] = {}
        self.server: Server[Any] = Server(
            "nbtool",
            version=version,
            title="A notebook's kernel, through nbtool",
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_read_resource=self.read_resource,
        )
        self.tasks = CallTasks()
        self.tasks.register(self.server, _name_of, self._call)

    def stop(self) -> None:
        """Answer the calls under way, and all further ones, that the notebook stopped serving."""
        with self._lock:
            for client in self.clients.values():
                client.stop()

    async def list_tools(
        self, context: ServerRequestContext[Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List the tools, and those that list and read variables."""
        client = self._client(context)
        client.refresh(client.chat)
        tools, has_tasks = client.chat.turn_tools().tools().values(), has_earlier_tasks(context)
        return types.ListToolsResult(tools=[as_tool(tool, has_tasks=has_tasks) for tool in tools])

    async def call_tool(self, context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> Any:
        """Run a call; an error of nbtool is a result that says so, and one that takes long may become a task."""
        return await self.tasks.run(context, _name_of(context), self._call(context, params))

    async def _call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            report = _progress_of(context, partial(self.tasks.note, asyncio.current_task()))
            answer = await self._client(context).call(params.name, params.arguments or {}, report)
        except NbtoolError as error:
            return refusal(error)
        return as_call_result(answer)

    async def list_resources(
        self, context: ServerRequestContext[Any], _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the exposed variables."""
        chat = self._client(context).chat
        return types.ListResourcesResult(resources=as_resources(chat.exposed_variables(), chat.variables.describe))

    async def read_resource(
        self, context: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read a variable by the tool ReadVar, which asks the person about one that is exposed by reference only.

        Raises:
            mcp.MCPError: there is no such variable, or it was not read; a text instead would be taken for its value.
        """
        try:
            arguments = {"name": variable_name(str(params.uri))}
            answer = await self._client(context).call("ReadVar", arguments, _progress_of(context))
        except NbtoolError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        if answer.result.is_error:
            raise MCPError(types.INVALID_PARAMS, answer.result.text)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=answer.result.text)]
        )

    def _client(self, context: ServerRequestContext[Any]) -> Client:
        """Return the client of a request, by the name that it gave.

        Raises:
            BadUsage: there are too many clients.
        """
        name = _name_of(context)
        with self._lock:
            if name not in self.clients:
                if len(self.clients) >= MAX_CLIENTS:
                    raise BadUsage(
                        f"{MAX_CLIENTS} clients are connected, which is the limit.",
                        fix="Run `%chat serve --stop` and `%chat serve` in the notebook.",
                    )
                self.clients[name] = self._open_client(name)
            return self.clients[name]


def _name_of(context: ServerRequestContext[Any]) -> str:
    """Return the name that the client of a request gave."""
    info = context.session.client_params.client_info if context.session.client_params else None
    return one_line(info.name, MAX_NAME) if info and info.name.strip() else UNNAMED


def _progress_of(context: ServerRequestContext[Any], note: Callable[[str], object] = lambda _: None) -> ReportProgress:
    """Return a function that forwards the progress of a call to its client; a client that asked for none gets none.

    `note` gets the texts, on the loop, as soon as they come.
    """
    loop = asyncio.get_running_loop()
    steps = 0.0

    def report(text: str, fraction: float | None) -> None:
        loop.call_soon_threadsafe(note, text)
        asyncio.run_coroutine_threadsafe(send(text, fraction), loop)

    async def send(text: str, fraction: float | None) -> None:
        nonlocal steps
        steps = max(steps + 1e-6, fraction if fraction is not None else steps + 1)  # has to increase
        await context.session.report_progress(steps, 1.0 if fraction is not None else None, text or None)

    return report
