"""Rebuild turns and conversations from journalled events.

Only the record is restored: nothing runs, nothing is sent, no approval is restored, and result objects are gone with
their kernel (their texts are kept). If the events are incomplete, the turn was interrupted: a call that had started has
an *unknown* outcome, the others did not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from nbtool.chat.conversation.conversation import Conversation
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.journal.chat_use import use_chat
from nbtool.chat.turn import Turn
from nbtool.errors import JournalError, NbtoolError
from nbtool.events import (
    DELTAS,
    CallFinished,
    CallStatus,
    Event,
    MessageAppended,
    ReplyFinished,
    TextDelta,
    TreeChanged,
    TurnEnded,
    TurnStarted,
)
from nbtool.ids import is_id
from nbtool.messages import Message, results
from nbtool.tools.variables.references import referenced_names
from nbtool.tools.variables.store import Variables
from nbtool.turn_state import TurnState, fold, without_native

FINAL_STATUSES = ("completed", "cancelled", "error", "timeout")
"""The states of an ended turn; in any other the kernel ended first."""


class OpenTurn(NamedTuple):
    """What is said of a turn without an end, of its calls that had started, and of those that had not."""

    turn: str
    started: str
    waiting: str


LEFT_BEHIND = OpenTurn(
    "The kernel ended before this turn was complete; its content so far is kept.",
    "The kernel ended while this call was running: its outcome is unknown.",
    "The kernel ended before this call ran.",
)
RUNNING_ELSEWHERE = OpenTurn(
    "This turn had not ended in the other kernel, which is running; its content so far is kept.",
    "This call had started in the other kernel, which is running: its outcome is unknown here.",
    "This call had not started in the other kernel, which is running.",
)


class Interrupted(NbtoolError):
    """The kernel ended before the turn did."""


def restore_turn(
    events: Iterable[Event],
    *,
    before: Sequence[Message] = (),
    is_trusted: bool = True,
    open_turn: OpenTurn = LEFT_BEHIND,
) -> Turn:
    """Rebuild a turn from its events, in order; the result has always ended, even if the events are incomplete.

    `before` are the messages that preceded the prompt, if known. Results of calls are None: their text is in `shown`.
    Unless `is_trusted`, later requests contain no system message of it, and no message in its provider's own form.

    Raises:
        JournalError: the events have no start of the turn.
    """
    log = list(events)
    ended = next((event for event in reversed(log) if _is_end(event)), None)
    log = [event for event in log if not isinstance(event, TurnEnded)]
    state = fold(log)
    if state.began is None:
        raise JournalError("The journal has no start event of this turn.")
    _add(_missing_outcomes(state, open_turn), state, log)
    _add(_missing_results(state), state, log)
    _add([ended or _interrupted_end(log, state, open_turn.turn)], state, log)
    context = [*before, state.began.prompt]
    if not is_trusted:
        context = without_native(context)
        state.chain = without_native(message for message in state.chain if message.role != "system")
    turn = Turn(
        state.began.prompt,
        state.began.model,
        cell_id=state.began.cell_id,
        turn_id=state.began.turn_id,
        context=tuple(context),
        state=state,
        error=_error(state.ended),
        log=_deduplicated(log),
        is_rerun=state.began.is_rerun,
    )
    turn.done.set_result(turn)
    return turn


def restore_tree(events: Iterable[tuple[str, Event]], open_turn: OpenTurn = LEFT_BEHIND) -> Tree[Turn]:
    """Rebuild a conversation from the events of its chat, in order, each with the id of its turn.

    A turn that cannot be rebuilt is skipped, with the changes that refer to it.
    """
    items = list(events)
    of_turn: dict[str, list[Event]] = {}
    for turn_id, event in items:
        of_turn.setdefault(turn_id, []).append(event)
    rebuilt: Tree[Turn] = Tree()
    for turn_id, event in items:
        if isinstance(event, TreeChanged):
            rebuilt.apply(event)
        elif isinstance(event, TurnStarted) and event.turn_id == turn_id and turn_id in of_turn and is_id(turn_id):
            node = rebuilt.node_from_event(event)
            rebuilt.add_version(node, restore_turn(of_turn.pop(turn_id), open_turn=open_turn))
    return rebuilt


def restore_into(
    conversation: Conversation, variables: Variables, chat_id: str, events: Iterable[tuple[str, Event]]
) -> list[str]:
    """Continue an old chat in a new one; return the names of references that are no longer valid.

    Only the messages are restored: no approval, no tool, no object. The names are not reused for other results, so that
    statements about an old result are not applied to a new one.
    """
    conversation.chat_id = chat_id
    is_here = use_chat(chat_id)
    tree = restore_tree(events, LEFT_BEHIND if is_here else RUNNING_ELSEWHERE)
    owner = "an earlier kernel" if is_here else "another kernel, which is running"
    return adopt_tree(conversation, variables, tree, f"it belongs to {owner}")


def adopt_tree(conversation: Conversation, variables: Variables, tree: Tree[Turn], reason: str) -> list[str]:
    """Continue a tree from elsewhere in a new chat, as `restore_into`; `reason` is why its references are invalid."""
    conversation.tree = tree
    if not tree.active_path and (ends := tree.branches()):  # the active branch is empty: use the last branch
        tree.apply(TreeChanged("switch", ends[-1].node_id))
    dead: dict[str, None] = {}
    for node in tree.nodes():
        for version in node.all_versions:
            texts = [version.prompt.text, version.text, *(call.arguments + call.shown for call in version.calls)]
            dead |= dict.fromkeys(name for text in texts for name in referenced_names(text))
            for call in version.calls:
                dead |= {call.reference: None} if call.reference else {}
                call.reference, call.dead_reference = "", call.reference
    variables.invalidate(dead, reason)
    return list(dead)


def _is_end(event: Event) -> bool:
    return isinstance(event, TurnEnded) and event.status in FINAL_STATUSES


def _missing_outcomes(state: TurnState, open_turn: OpenTurn) -> list[CallFinished]:
    """Return an outcome for each call without one."""
    outcomes = []
    for call in state.open_calls:
        has_begun = call.may_have_started
        reason = open_turn.started if has_begun else open_turn.waiting
        status: CallStatus = "unknown" if has_begun else "not_run"
        outcomes.append(replace(call.finished(), status=status, shown=reason, reason=reason))
    return outcomes


def _missing_results(state: TurnState) -> list[MessageAppended]:
    """Return the message with the results of the last reply's calls, if the kernel ended before it was appended.

    A call that has no event did not run, which is what a request says of a call without a result.
    """
    requested = state.chain[-1].calls if state.chain else ()
    found = [call.to_result() for tool_call in requested if (call := state.call(tool_call.call_id))]
    return [MessageAppended(results(*found))] if found else []


def _add(events: Iterable[Event], state: TurnState, log: list[Event]) -> None:
    for event in events:
        state.apply(event)
        log.append(event)


def _interrupted_end(log: Sequence[Event], state: TurnState, error: str) -> TurnEnded:
    """Return the end, and so the status, of a turn that has none."""
    text = "".join(event.text for event in _unfinished(log) if isinstance(event, TextDelta))
    rounds, calls = state.stats.rounds, len(state.calls)
    return TurnEnded("error", text, state.usage, rounds, calls, 0.0, error=error, end_reason="interrupted")


def _unfinished(log: Sequence[Event]) -> list[Event]:
    """Return the deltas of an unfinished reply."""
    last = max((index for index, event in enumerate(log) if isinstance(event, ReplyFinished)), default=-1)
    return [event for event in log[last + 1 :] if type(event) in DELTAS]


def _deduplicated(log: Sequence[Event]) -> list[Event]:
    """Return the log without the deltas of finished replies, which `ReplyFinished` contains."""
    last = max((index for index, event in enumerate(log) if isinstance(event, ReplyFinished)), default=-1)
    return [event for index, event in enumerate(log) if index > last or type(event) not in DELTAS]


def _error(ended: TurnEnded | None) -> BaseException | None:
    if ended is None or not ended.error:
        return None
    return Interrupted(ended.error) if ended.end_reason == "interrupted" else NbtoolError(ended.error)
