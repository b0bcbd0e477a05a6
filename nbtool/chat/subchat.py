"""A chat as a tool of another chat: each question starts a new conversation with its own tools and limits.

Approvals of the sub-chat's tools use the queue of the parent chat, whose view shows the calls. The plugins of the
parent chat see every request of the sub-chat, and an object that is exposed by reference only cannot be part of a
question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from nbtool.argument_check import check_arguments
from nbtool.chain.limits import Limits
from nbtool.chat.agent_turns import refuse_agent
from nbtool.chat.chat import Chat
from nbtool.chat.history_hosts import check_question
from nbtool.chat.turn import Turn
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import ToolFailed
from nbtool.events import DELTAS, CallFinished, CallReady, Event
from nbtool.policy import site_policy
from nbtool.text import count_of, format_number
from nbtool.tools.approval import Policy
from nbtool.tools.calls.runtime import RunningCall, current_call
from nbtool.tools.calls.site_rules import error_text
from nbtool.tools.execution.threads import STOP_GRACE_SECONDS
from nbtool.tools.tool import Tool, as_tools, tool
from nbtool.tools.toolset import Toolset

MAX_DEPTH = 3
"""Maximum nesting of sub-chats."""

_depth: ContextVar[int] = ContextVar("nbtool_subchats", default=0)


@check_arguments
def subchat(
    model: Chat | str | None = None,
    *,
    tools: Iterable[Any] = (),
    system: str = "",
    limits: Limits | None = None,
    name: str = "ask",
    description: str = "",
) -> Tool:
    """Return the tool `ask(question)`, which sends a question to a separate chat and returns the answer.

    Each question starts a new conversation. `model` is a model id, or a chat whose current model and plugins are used;
    the plugins of the parent chat run after them.
    `limits` apply to each question (default: 5 requests); the usage of a sub-chat is reported with its answer. It
    counts towards the tokens and the dollars that the parent turn may use, but not towards its other limits.

        expert = subchat("anthropic:claude-sonnet-5-5", tools=[price], name="ask_expert")
        chat = Chat("openai:gpt-6.1-terra", tools=[expert])
    """
    tool_list, bounds = list(tools), limits or Limits(max_rounds=5)
    Toolset(name, tool_list)  # what is no tool is refused here, not at the first question

    @tool(run="auto", name=name)
    async def ask(question: str) -> str:
        """Ask another assistant, which sees nothing of this conversation, and read its answer.

        Args:
            question: everything it needs to know, in full.
        """
        depth = _depth.get()
        if depth >= MAX_DEPTH:
            raise ToolFailed(f"Sub-chats can be nested at most {MAX_DEPTH} deep.")
        _depth.set(depth + 1)
        fresh = Chat(model if isinstance(model, str) else None, tools=tool_list, system=system)
        fresh.model = model.model if isinstance(model, Chat) else fresh.model
        fresh.limits = bounds
        own = model.plugins if isinstance(model, Chat) else ()
        fresh.plugins = merge_plugins(own, current_call().runtime.plugins)
        refuse_agent(fresh.model, "cannot be a sub-chat")
        check_question(fresh.model)
        return _answer_text(await _run_subchat(fresh, question, current_call()))

    definition = replace(as_tools(ask)[0], sends_to="model", is_value_free=True)
    return replace(definition, description=description, policy=Policy("auto")) if description else definition


def merge_plugins(own: Sequence[object], parent: Sequence[object]) -> list[object]:
    """Return the plugins of both chats without duplicates; those of the parent chat mask last."""
    return [*(plugin for plugin in own if not any(plugin is other for other in parent)), *parent]


async def _run_subchat(chat: Chat, question: str, call: RunningCall) -> Turn:
    """Run a turn of the sub-chat to its end, and forward its call events to the parent turn."""
    chat.approvals, chat.check_results = call.runtime.approvals, call.runtime.check_results
    runtime = call.runtime
    chat.audit = runtime.audit_file.path if runtime.audit_file else None
    settings = TurnSettings(typed="")  # a model wrote the question
    turn = chat.compose(
        question, approver=runtime.approver, caller_thread=runtime.caller_thread, settings=settings
    ).start()
    try:
        async for event in turn:
            if forwarded := _forwarded_event(event, call):
                await call.runtime.emit(forwarded)
    finally:
        turn.cancel_signal.cancel()  # only the signal: the calling thread belongs to the parent turn
        await asyncio.wait({asyncio.wrap_future(turn.done)}, timeout=STOP_GRACE_SECONDS)
    return turn


def _forwarded_event(event: Event, call: RunningCall) -> Event | None:
    """Return the event of a call for the parent turn; None for the deltas of a reply, and for all else of the turn."""
    if isinstance(event, CallReady | CallFinished):
        return replace(event, round=call.round, forwarded=True)
    return event if type(event) not in DELTAS and hasattr(event, "call_id") else None


def _answer_text(turn: Turn) -> str:
    usage, stats = turn.usage, turn.stats
    cost = f", {usage.cost:.4f} US dollars" if usage.cost is not None else ""
    used = (
        f"[{count_of(stats.rounds, 'request')}, {count_of(stats.calls, 'call')}, "
        f"{count_of(usage.input_tokens, 'token')} in, {format_number(usage.output_tokens)} out{cost}]"
    )
    if turn.status != "completed":
        partial = f" Partial answer: {turn.text}" if turn.text else ""
        raise ToolFailed(f"The sub-chat did not complete ({_failure(turn)}).{partial} {used}")
    return f"{turn.text}\n{used}"


def _failure(turn: Turn) -> str:
    """Return why a turn did not complete, for the model: an error may quote a value."""
    if turn.error and not site_policy().values_may_leave:
        return error_text(turn.error).removesuffix(".")
    return str(turn.error or turn.status)
