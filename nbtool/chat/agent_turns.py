"""The turns of a chat that an agent answers: its session, what of a turn it cannot do, and the clean-up at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from nbtool.chain.hooks import Cleanup, TurnContext
from nbtool.chain.limits import MAX_ROUNDS, Limits
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.journal.storage import is_in_memory
from nbtool.chat.model import Model
from nbtool.chat.rerun.operations import Reexecute, Rerun, Resume, TurnOperation
from nbtool.chat.turn import Turn
from nbtool.errors import ApprovalError, BadUsage
from nbtool.ids import is_id
from nbtool.tools.approval import ApprovalQueue
from nbtool.wire.agents.agent import AgentEndpoint
from nbtool.wire.base import Endpoint

if TYPE_CHECKING:
    from nbtool.wire.agents.agent_host import AgentHost
    from nbtool.wire.agents.endpoint import AgentTurn
    from nbtool.wire.agents.limits import AgentLimits

_hosts: WeakKeyDictionary[ChatBase, AgentHost] = WeakKeyDictionary()
"""The agents of the chats that have one; a fork of a chat has none."""


@dataclass(slots=True)
class AgentCleanup:
    """The plugin that ends the prompt of an agent with its turn, whatever the outcome."""

    runs_on_loop: ClassVar[bool] = True

    agent: AgentTurn

    def on_turn_start(self, turn: TurnContext) -> Cleanup:
        """Take note of the budget of the turn, and return its clean-up."""
        self.agent.token_limit = partial(_tokens_left, turn)
        return self.agent.end


def agent_of(chat: ChatBase) -> AgentHost | None:
    """Return the agent of a chat; None before it has answered a turn."""
    return _hosts.get(chat)


def use_agent(chat: ChatBase, limits: AgentLimits | None = None) -> AgentHost:
    """Return the agent of a chat; a new one has these limits."""
    from nbtool.wire.agents.agent_host import AgentHost  # noqa: PLC0415 - only where an agent is used

    return _hosts.get(chat) or _hosts.setdefault(chat, AgentHost(limits))


def make_agent_turn(chat: ChatBase, turn: Turn, earlier: Sequence[Turn], endpoint: Endpoint) -> AgentTurn | None:
    """Return the endpoint of a turn that an agent answers, and None for one of a model.

    Args:
        chat: the chat.
        turn: the turn that is about to start.
        earlier: the turns that are sent before it.
        endpoint: the endpoint of the chat's model.
    """
    if not isinstance(endpoint, AgentEndpoint):
        return None
    from nbtool.wire.agents.endpoint import AgentTurn, TurnPlace  # noqa: PLC0415 - only where an agent is used
    from nbtool.wire.agents.session_record import SessionRecord  # noqa: PLC0415 - the same

    agent = use_agent(chat)
    record = SessionRecord("" if is_in_memory() or not is_id(chat.chat_id) else chat.chat_id)
    place = TurnPlace(line_of(chat, earlier), line_of(chat, [*earlier, turn]), record)
    return AgentTurn(endpoint, agent, place, partial(_deny_questions, chat.approvals, turn))


def forget_agent(chat: ChatBase) -> None:
    """End the agent of a chat, whose memory has what was erased."""
    if agent := _hosts.pop(chat, None):
        agent.abandon()


def forget_records(chat_id: str) -> None:
    """Forget which session a chat has had, or, with "", those of all chats."""
    from nbtool.wire.agents.session_record import SessionRecord, forget_sessions  # noqa: PLC0415 - not at the start

    if is_id(chat_id):
        SessionRecord(chat_id).remove()
    elif not chat_id:
        forget_sessions()


def line_of(chat: ChatBase, turns: Sequence[Turn]) -> str:
    """Return a digest of turns by which it is recognized that an agent has seen exactly these."""
    return hashlib.sha256("\n".join([chat.chat_id, *(turn.turn_id for turn in turns)]).encode()).hexdigest()


def limits_of_agent(limits: Limits) -> Limits:
    """Return the limits of a turn of an agent: each call of it is a round, so calls are counted, and not rounds."""
    return replace(limits, max_rounds=MAX_ROUNDS, max_calls=limits.call_limit)


def check_agent_turn(endpoint: Endpoint, operation: TurnOperation | None, options: Mapping[str, Any]) -> None:
    """Check that an agent can answer a turn.

    Raises:
        BadUsage: it cannot; the message says why.
    """
    if not isinstance(endpoint, AgentEndpoint):
        return
    if options:
        names = ", ".join(sorted(options))
        raise BadUsage(
            f"{endpoint.host} takes no request options and no tools of a provider ({names}).", fix="Leave them out."
        )
    if isinstance(operation, Resume | Reexecute) or (isinstance(operation, Rerun) and _is_partial(operation)):
        raise BadUsage(
            f"{endpoint.host} cannot go on within a turn: what it did in it cannot be repeated in part.",
            fix="`%%chat --rerun` sends its prompt again, to a new session.",
        )


def check_agent_approvals(model: Model, approve: str | None) -> None:
    """Check how the calls of a turn are approved: an agent does not wait until a person comes back.

    Raises:
        BadUsage: the questions would wait after the cell has ended.
    """
    if approve == "park" and model.is_agent:
        raise BadUsage(
            f"{model.name} waits for minutes at most, so a call cannot wait for a click after the cell has ended.",
            fix="Leave out `--approve later`.",
        )


def refuse_agent(model: Model, what: str) -> None:
    """Check that a model is none that is an agent.

    Raises:
        BadUsage: it is one; `what` says what an agent is not for.
    """
    if model.is_agent:
        raise BadUsage(f"{model.name} is an agent, which {what}.", fix="Choose a model.")


def _is_partial(operation: Rerun) -> bool:
    is_from_start = operation.from_round in (None, 1)
    return bool(operation.arguments or operation.results) or not is_from_start


def _tokens_left(turn: TurnContext) -> int | None:
    limit = turn.limits.tokens
    return None if limit is None else limit - turn.meter.usage.total_tokens


def _deny_questions(approvals: ApprovalQueue, turn: Turn, reason: str) -> None:
    """Deny the open questions of a turn: what its agent does not wait for must not run."""
    for question in approvals.pending():
        if question.digest in turn.state.questions:
            with suppress(ApprovalError):  # it was decided meanwhile
                approvals.expire(question.digest, reason)
