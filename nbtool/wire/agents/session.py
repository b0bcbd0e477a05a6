"""One session of an agent: its process, its mode, its prompts and its questions.

Whatever an agent does that is not a call of the notebook ends its process and the turn, with an error.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nbtool.errors import AgentStopped, AuthenticationFailed, BadUsage, InvalidReply, TimedOut, WireError
from nbtool.events import Delta
from nbtool.ids import new_id
from nbtool.messages import ToolResult
from nbtool.settings import display_path
from nbtool.text import count_of
from nbtool.wire.agents.connection import AUTH_REQUIRED, METHOD_NOT_FOUND, AgentConnection, AgentError, Json, RequestId
from nbtool.wire.agents.limits import AgentLimits
from nbtool.wire.agents.mapping import (
    PROTOCOL_VERSION,
    AgentAbilities,
    CostReader,
    ReplyReader,
    describe_diffs,
    describe_tool_call,
    initialize_params,
    mode_of,
    session_params,
)
from nbtool.wire.agents.process import AgentProcess, one_line
from nbtool.wire.agents.profiles import SERVER_NAME, AgentProfile
from nbtool.wire.agents.relay import ToolRelay
from nbtool.wire.agents.settings import AgentCommand, agent_folder
from nbtool.wire.base import ToolSpec
from nbtool.wire.transport import traffic

NO_TURN = "No turn of this chat is running, so nothing was called."
TOO_MANY = "{calls} wait already, which is the limit. Call again when one of them has ended."
TURN_ENDED = "The turn has ended, so the call has no result."

Opened = Literal["new", "resumed", "loaded"]


@dataclass(slots=True)
class RelayCall:
    """A call of a tool of the notebook that an agent waits for."""

    name: str
    arguments: Mapping[str, Any]
    answer: asyncio.Future[ToolResult]
    id: str = field(default_factory=lambda: new_id("acp"))


@dataclass(frozen=True, slots=True)
class PromptEnd:
    """The agent's answer to a prompt."""

    result: Json


Item = Delta | RelayCall | PromptEnd | WireError


@dataclass(slots=True)
class PromptRun:
    """A prompt that an agent works on: what has arrived of its answer, in order; nothing once `is_closed`.

    `shown` is what the agent tried to do by itself, for the person.
    """

    result: asyncio.Future[Json]
    items: asyncio.Queue[Item] = field(default_factory=asyncio.Queue)
    reader: ReplyReader = field(default_factory=ReplyReader)
    calls: dict[str, RelayCall] = field(default_factory=dict)
    is_closed: bool = False
    shown: tuple[str, str] = ("", "")

    def put(self, item: Item) -> None:
        """Add what has arrived; the turn that has ended gets nothing."""
        if not self.is_closed:
            self.items.put_nowait(item)

    def close(self) -> None:
        """Take nothing more, and answer the calls that wait."""
        self.is_closed = True
        for call in self.calls.values():
            if not call.answer.done():
                call.answer.set_result(ToolResult(call.name, TURN_ENDED, is_error=True))
        self.calls.clear()


class AgentSession:
    """A session of an agent in a process of its own.

    `line` is a digest of the turns that it has seen, `given_system` the system text that it has got. `how` says
    whether it is new, or goes on. `on_stop` is called when it ends by itself, or is ended for what it did.
    """

    def __init__(self, profile: AgentProfile, folder: Path, tools: tuple[ToolSpec, ...], limits: AgentLimits) -> None:
        self.profile, self.tools, self.limits = profile, tools, limits
        self.session_id, self.mode, self.line = "", "", ""
        self.given_system = ""
        self.how: Opened = "new"
        self.abilities = AgentAbilities()
        self.costs = CostReader()
        self.prompt: PromptRun | None = None
        self.error: WireError | None = None
        self.on_stop: Callable[[str], None] = _nothing
        self.relay = ToolRelay(tools, self._call)
        self._folder = folder
        self._connection: AgentConnection | None = None
        self._process: AgentProcess | None = None
        self._is_ready = self._is_loading = False
        self._calls: dict[object, bool] = {}
        self._has_changed = asyncio.Event()

    @classmethod
    async def open(
        cls,
        profile: AgentProfile,
        command: AgentCommand,
        tools: tuple[ToolSpec, ...],
        session_id: str,
        limits: AgentLimits,
    ) -> AgentSession:
        """Start an agent, and open a session: the one with this id if the agent can go on with it, else a new one.

        Raises:
            nbtool.errors.WireError: it does not start, needs a login, or does not say that it is in the right mode.
        """
        session = cls(profile, agent_folder(profile), tools, limits)
        try:
            async with asyncio.timeout(limits.start):
                await session._start(command, session_id)
        except TimeoutError:
            await session.close()
            raise TimedOut(f"{profile.label} did not open a session within {limits.start:g} s.") from None
        except BaseException:
            await session.close()
            raise
        return session

    @property
    def is_open(self) -> bool:
        """Whether a prompt can be sent."""
        return self.error is None and self._is_ready

    @property
    def pid(self) -> int:
        """The process above the agent; 0 if there is none."""
        return self._process.pid if self._process else 0

    def describe(self) -> str:
        """Return the agent, its version, its session and its mode, in words."""
        about = " ".join(filter(None, (self.abilities.about or self.profile.label, self.abilities.version)))
        return f"{about}, mode {self.mode}, session {one_line(self.session_id, 40)}"

    def begin_prompt(self, params: Json) -> PromptRun:
        """Send a prompt; what comes of it is in the run that is returned."""
        assert self._connection
        self._calls.clear()
        traffic.record(self.profile.model_id, len(json.dumps(params)))
        run = self.prompt = PromptRun(self._connection.request("session/prompt", params))
        run.result.add_done_callback(lambda done: run.put(self._end_of(done)))
        return run

    async def end_prompt(self) -> None:
        """End the prompt that runs, if any: the agent is told, and its process is ended if it goes on."""
        run, self.prompt = self.prompt, None
        if run is None:
            return
        run.close()
        if self.is_open and not run.result.done():
            self._notify("session/cancel", {"sessionId": self.session_id})
            await asyncio.wait({run.result}, timeout=self.limits.cancel)
        if not run.result.done() or self.error:
            await self.close()

    async def close(self) -> None:
        """End the agent's process, and everything that it started."""
        self.error = self.error or AgentStopped(f"{self.profile.label} was ended.")
        if self.prompt:
            self.prompt.put(self.error)
            self.prompt.close()
        if self._connection:
            await self._connection.close()
        await self.relay.close()

    def notify(self, method: str, params: Json) -> None:
        """Handle a notification of the agent; an unknown one is no harm."""
        update = params.get("update")
        if self.error or method != "session/update" or not isinstance(update, Mapping) or self._is_loading:
            return
        kind = update.get("sessionUpdate")
        if isinstance(kind, str) and kind.startswith("tool_call"):
            self._check_call(update)
        elif params.get("sessionId") != self.session_id:
            return
        elif kind == "usage_update":
            self.costs.read(update)
        elif kind in ("current_mode_update", "config_option_update"):
            self._note_mode(mode_of(update))
        elif self.prompt:
            for delta in self.prompt.reader.read(update):
                self._put(delta)

    def ask(self, request: RequestId, method: str, params: Json) -> None:
        """Answer a request of the agent: whether it may call a tool; anything else was not offered."""
        assert self._connection
        if self.error:
            return  # its process is ending
        if method != "session/request_permission":
            self._connection.refuse(request, METHOD_NOT_FOUND, "This client does not offer that.")
            if not method.startswith("_"):
                self._stop(f"asked for `{one_line(method, 60)}`, which was not offered")
            return
        call = params.get("toolCall")
        call = call if isinstance(call, Mapping) else {}
        is_own = self._is_notebook_question(call)
        self._connection.answer(
            request, {"outcome": _choose(params.get("options"), allow=is_own and bool(self.prompt))}
        )
        if not is_own:
            self._stop_for_call("asked to use a tool of its own", call)

    def end(self, error: WireError) -> None:
        """Handle the end of the agent's process."""
        self.error = self.error or error
        self._has_changed.set()
        if self.prompt:
            self.prompt.put(self.error)
            self.on_stop(str(self.error))

    async def _start(self, command: AgentCommand, session_id: str) -> None:
        server = await self.relay.start()
        self._process = await AgentProcess.start(command, self._folder)
        program = display_path(Path(command.command)) + (" …" if command.args else "")  # arguments may be secret
        self._connection = AgentConnection(self.profile.label, self._process, self, program)
        self.abilities = AgentAbilities.read(await self._request("initialize", initialize_params()))
        if self.abilities.protocol != PROTOCOL_VERSION:
            raise InvalidReply(
                f"{self.profile.label} speaks version {self.abilities.protocol} of the Agent Client Protocol; version"
                f" {PROTOCOL_VERSION} is needed.",
                fix=f"Install the version that was tried: {self.profile.command} {self.profile.tested}.",
            )
        options = self.profile.session_options
        response = await self._go_on(session_params(self._folder, server, options, session_id)) if session_id else None
        if response is None:
            response = await self._request("session/new", session_params(self._folder, server, options))
            self.session_id, self.how = str(response.get("sessionId", "")), "new"
        if not self.session_id:
            raise InvalidReply(f"{self.profile.label} opened a session without an id.")
        await self._set_mode(response)
        if self.error:
            raise self.error.changed()
        self._is_ready = True

    async def _go_on(self, params: Json) -> Json | None:
        """Go on with an earlier session; None if the agent cannot.

        What it replays of the past is dropped: some agents do that also where the protocol has them not do it.
        """
        self.session_id = str(params["sessionId"])
        ways: list[tuple[str, Opened]] = [("session/resume", "resumed")] if self.abilities.can_resume else []
        ways += [("session/load", "loaded")] if self.abilities.can_load else []
        for method, self.how in ways:
            self._is_loading = True
            with suppress(AgentError):  # it does not know the session: there is no code for that
                return await self._request(method, params)
        self._is_loading = False
        return None

    async def _set_mode(self, response: Json) -> None:
        """Set the mode in which the agent asks, and wait until it says that it is in it.

        Raises:
            AgentStopped: it does not say so.
        """
        self._is_loading = False
        wanted = self.profile.mode
        self.mode = mode_of(response) or ""
        if self.mode != wanted:
            self._has_changed.clear()
            with suppress(AgentError):  # what counts is the mode that it says
                await self._request("session/set_mode", {"sessionId": self.session_id, "modeId": wanted})
            with suppress(TimeoutError):
                async with asyncio.timeout(self.limits.mode):
                    while self.mode != wanted and self.error is None:
                        self._has_changed.clear()
                        await self._has_changed.wait()
        if self.mode != wanted:
            raise AgentStopped(
                f"{self.profile.label} does not say that it is in the mode {wanted!r}, in which it asks before it uses"
                f" a tool (it says {one_line(self.mode, 40)!r}). Nothing was sent.",
                fix=f"Install the version that was tried: {self.profile.command} {self.profile.tested}.",
            )

    async def _request(self, method: str, params: Json) -> Json:
        assert self._connection
        try:
            return await self._connection.request(method, params)
        except AgentError as error:
            if error.code == AUTH_REQUIRED:
                raise self._login_error(error) from None
            raise

    def _login_error(self, error: AgentError) -> AuthenticationFailed:
        fix = f"Run `{self.profile.log_in}` in a terminal and log in there; nbtool has no part in it."
        return AuthenticationFailed(f"{self.profile.label} asks for a login: {error.text!r}.", fix=fix)

    def _notify(self, method: str, params: Json) -> None:
        if self._connection:
            self._connection.notify(method, params)

    def _end_of(self, done: asyncio.Future[Json]) -> Item:
        """Return the item with which the items of a prompt end."""
        error = done.exception()
        if isinstance(error, AgentError) and error.code == AUTH_REQUIRED:
            return self._login_error(error)
        if isinstance(error, WireError):
            return self.error or error
        return PromptEnd(done.result())

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Hand a call to the turn that runs, and wait for its result.

        Raises:
            BadUsage: no turn runs, or too many calls wait.
        """
        run = self.prompt
        if run is None or run.is_closed:
            raise BadUsage(NO_TURN)
        if sum(not item.answer.done() for item in run.calls.values()) >= self.limits.max_waiting:
            raise BadUsage(TOO_MANY.format(calls=count_of(self.limits.max_waiting, "call")))
        call = RelayCall(name, arguments, asyncio.get_running_loop().create_future())
        run.calls[call.id] = call
        self._put(call)
        try:
            return await call.answer
        except asyncio.CancelledError:  # the agent does not wait any longer: it must not be asked about any more
            if not run.is_closed:
                self.on_stop(f"{self.profile.label} has stopped waiting for the call.")
            raise

    def _put(self, item: Item) -> None:
        run = self.prompt
        if run and run.items.qsize() >= self.limits.max_updates:
            self._stop(f"sent more than {self.limits.max_updates:,} updates while a call of the notebook ran")
        elif run:
            run.put(item)

    def _note_mode(self, mode: str | None) -> None:
        """Take note of the mode that the agent says it is in; another one than the wanted one ends it."""
        if mode is None:
            return
        self.mode = mode
        self._has_changed.set()
        if self._is_ready and mode != self.profile.mode:
            self._stop(f"went into the mode {one_line(mode, 40)!r}, in which it may use tools without asking")

    def _check_call(self, call: Json) -> None:
        """Check a call that the agent reports: only those of the notebook's tools are allowed."""
        call_id = call.get("toolCallId")
        known = isinstance(call_id, str) and self._calls.get(call_id) is True
        belongs = self.profile.is_notebook_call(call)
        if belongs is False or (belongs is None and not known) or not isinstance(call_id, str):
            self._stop_for_call("used a tool of its own", call)
        elif len(self._calls) >= self.limits.max_calls:
            self._stop(f"made more than {self.limits.max_calls:,} calls in one prompt")
        else:
            self._calls[call_id] = True

    def _is_notebook_question(self, call: Json) -> bool:
        """Whether a question is about a tool of the notebook, by the field for it, or by the call that it names."""
        if self.profile.is_notebook_call(call) is False:
            return False
        server = self.profile.server_of_question(call)
        if server is not None:
            return server == SERVER_NAME
        call_id = call.get("toolCallId")
        return isinstance(call_id, str) and self._calls.get(call_id) is True

    def _stop_for_call(self, what: str, call: Json) -> None:
        """End the agent for a call of its own, which is shown."""
        described = describe_tool_call(call, self.profile.tool_names(call))
        if self.prompt:
            self.prompt.shown = (described, describe_diffs(call))
        self._stop(f"{what} ({described})")

    def _stop(self, what: str) -> None:
        """End the agent for what it did: no later message of it counts."""
        if self.error:
            return
        self.error = AgentStopped(
            f"{self.profile.label} {what}, and was stopped: it may call the notebook's tools, and nothing else.",
            fix="What it did before by itself is not undone.",
        )
        self._notify("session/cancel", {"sessionId": self.session_id})
        if self._process:
            self._process.begin_end()
        self._has_changed.set()
        if self.prompt:
            self.prompt.put(self.error)
            self.on_stop(str(self.error))


def _nothing(_: str) -> None:
    """Do nothing: no turn runs."""


def _choose(options: Any, *, allow: bool) -> Json:
    """Return the outcome of a question: the option for this once; never one that is remembered outside nbtool."""
    wanted = "allow_once" if allow else "reject_once"
    for option in options if isinstance(options, list) else ():
        if isinstance(option, Mapping) and option.get("kind") == wanted and isinstance(option.get("optionId"), str):
            return {"outcome": "selected", "optionId": option["optionId"]}
    return {"outcome": "cancelled"}
