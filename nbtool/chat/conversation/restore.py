"""Rebuild turns and conversations from journalled events.

Only the record is restored: nothing runs, nothing is sent, no approval is restored, and result objects are gone with
their kernel (their texts are kept). If the events are incomplete, the turn was interrupted: a call that had started has
an *unknown* outcome, the others did not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from nbtool.chain.outcome import Outcome
from nbtool.chat.conversation.conversation import Conversation
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.journal.chat_use import use_chat
from nbtool.chat.turn import Messages, Turn
from nbtool.errors import JournalError, NbtoolError
from nbtool.events import (
    DELTAS,
    CallAsked,
    CallDecided,
    CallFinished,
    CallReady,
    CallStarted,
    Event,
    MessageAppended,
    ReplyFinished,
    RequestStarted,
    TextDelta,
    TreeChanged,
    TurnEnded,
    TurnStarted,
)
from nbtool.ids import is_id
from nbtool.messages import Message, Refusal, Usage
from nbtool.tools.calls.record import CallRecord
from nbtool.tools.variables.references import referenced_names
from nbtool.tools.variables.store import Variables
from nbtool.wire.reply import Reply

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
    began = next((event for event in log if isinstance(event, TurnStarted)), None)
    if began is None:
        raise JournalError("The journal has no start event of this turn.")
    records = _records(log)
    log = _completed_log(log, records, open_turn)
    ended = next(event for event in reversed(log) if isinstance(event, TurnEnded))
    replies = [_reply(event) for event in log if isinstance(event, ReplyFinished)]
    context, chain = [*before, began.prompt], _chain(log)
    if not is_trusted:
        context = [replace(message, native=None) for message in context]
        chain = [replace(message, native=None) for message in chain if message.role != "system"]
    turn = Turn(
        began.prompt,
        began.model,
        cell_id=began.cell_id,
        turn_id=began.turn_id,
        messages=Messages(tuple(context), tuple(chain)),
        log=_deduplicated(log),
        calls=records,
        is_rerun=began.is_rerun,
    )
    turn.finish(Outcome(ended.status, ended.text, replies, _errors(ended), ended.end_reason))
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
            # Events without a node id are from an older format, in which nodes were identified by their cells.
            node = rebuilt.node_from_event(event) if event.node_id else rebuilt.node_for_cell(event.cell_id)
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


def _records(log: Sequence[Event]) -> list[CallRecord]:
    """Fold the events of calls into records, in the order of the model's requests."""
    requested = {
        call.call_id: call for event in log if isinstance(event, ReplyFinished) for call in event.message.calls
    }
    images = {
        result.call_id: result.media
        for event in log
        if isinstance(event, MessageAppended)
        for result in event.message.results
    }
    records: dict[str, CallRecord] = {}
    for event in log:
        match event:
            case CallReady() | CallFinished() if event.call_id not in records:
                call = requested.get(event.call_id)
                arguments = event.arguments if isinstance(event, CallReady) else call.arguments if call else ""
                new_record = CallRecord(event.call_id, event.name, arguments, event.round, call.id if call else "")
                new_record.qualified_name = event.qualified_name
                new_record.images = images.get(event.call_id, ())
                records[event.call_id] = new_record
        if record := records.get(getattr(event, "call_id", "")):
            _fold(event, record)
    order = {call_id: index for index, call_id in enumerate(requested)}
    return sorted(records.values(), key=lambda record: (record.round, order.get(record.call_id, len(order))))


def _fold(event: Event, record: CallRecord) -> None:
    match event:
        case CallReady():
            record.resolved, record.edited = dict(event.resolved), event.edited
        case CallAsked():
            record.status = "waiting"
        case CallDecided():
            record.decisions.append(event)
        case CallStarted():
            record.status, record.started, record.edited = "running", event.started, event.edited
            record.resolved = dict(event.resolved) or record.resolved
        case CallFinished():
            record.status, record.shown, record.reason = event.status, event.shown, event.reason
            record.started = None if event.status == "not_run" else record.started
            record.reference, record.whole, record.traceback = event.reference, event.whole, event.traceback
            record.ended = record.started + event.seconds if record.started else None
        case _:
            pass


def _completed_log(log: list[Event], records: Sequence[CallRecord], open_turn: OpenTurn) -> list[Event]:
    """Return the log with missing events added: an outcome for every call, and the end of the turn."""
    ended = [event for event in log if isinstance(event, TurnEnded) and event.status in FINAL_STATUSES][-1:]
    body = [event for event in log if not isinstance(event, TurnEnded)]
    for record in records:
        if record.status in ("waiting", "running"):
            has_begun = record.started is not None
            record.status = "unknown" if has_begun else "not_run"
            record.shown = record.reason = open_turn.started if has_begun else open_turn.waiting
            body = [*body, record.finished()]
    return [*body, *(ended or [_interrupted_end(log, len(records), open_turn.turn)])]


def _interrupted_end(log: Sequence[Event], calls: int, error: str) -> TurnEnded:
    replies = [event for event in log if isinstance(event, ReplyFinished)]
    rounds = sum(isinstance(event, RequestStarted) for event in log)
    usage = sum((reply.usage for reply in replies), Usage())
    text = "".join(event.text for event in _unfinished(log) if isinstance(event, TextDelta))
    return TurnEnded("error", text, usage, rounds, calls, 0.0, error=error, end_reason="interrupted")


def _unfinished(log: Sequence[Event]) -> list[Event]:
    """Return the deltas of an unfinished reply."""
    last = max((index for index, event in enumerate(log) if isinstance(event, ReplyFinished)), default=-1)
    return [event for event in log[last + 1 :] if type(event) in DELTAS]


def _deduplicated(log: Sequence[Event]) -> list[Event]:
    """Return the log without the deltas of finished replies, which `ReplyFinished` contains."""
    last = max((index for index, event in enumerate(log) if isinstance(event, ReplyFinished)), default=-1)
    return [event for index, event in enumerate(log) if index > last or type(event) not in DELTAS]


def _chain(log: Sequence[Event]) -> list[Message]:
    """Return the messages that the turn added, without unanswered calls of the final reply."""
    chain: list[Message] = []
    is_final = False
    for event in log:
        match event:
            case RequestStarted():
                is_final = event.final
            case MessageAppended(message=message):
                drop = is_final and message.role == "assistant" and bool(message.calls)
                chain.append(message.with_parts(p for p in message.parts if p.kind != "call") if drop else message)
            case _:
                pass
    return chain


def _reply(event: ReplyFinished) -> Reply:
    refusal = "".join(part.text for part in event.message.parts if isinstance(part, Refusal))
    return Reply(
        event.message, event.stop_reason, event.finish_reason, event.usage, event.complete, refusal, event.explanation
    )


def _errors(ended: TurnEnded) -> list[BaseException]:
    if not ended.error:
        return []
    return [Interrupted(ended.error) if ended.end_reason == "interrupted" else NbtoolError(ended.error)]
