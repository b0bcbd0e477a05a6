"""Operations on existing turns; each one is a value that returns a plan.

*Rerun* sends the prompt again, *resume* finishes pending calls, *re-execute* runs the tools again. (*Replay*, which
runs nothing, is part of recordings.) Each creates a new version and keeps the old one. *Edit* replaces the prompt of a
turn on a new branch, *edit reply* its last reply in a version of its own; *insert* adds a turn between two others.

Reused rounds always come from the record, and a call that may have run before never runs again unless requested.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nbtool.argument_check import check_arguments
from nbtool.chain.additions import additions_of
from nbtool.chat.conversation import Conversation, TurnRef
from nbtool.chat.conversation.tree import Node
from nbtool.chat.rerun.carry_over import CarryOver, carry_over
from nbtool.chat.rerun.edits import parse_edits
from nbtool.chat.rerun.recovery import Round, complete_rounds, is_pending, recover, rounds_of
from nbtool.chat.turn import Turn
from nbtool.chat.turn.version_diff import CallEdit, VersionDiff
from nbtool.errors import BadUsage, InvalidAnswer
from nbtool.events import RequestStarted
from nbtool.ids import short_id
from nbtool.messages import Media, Message, Text
from nbtool.plugins.structured import Structured
from nbtool.text import count_of
from nbtool.turn_state import Call
from nbtool.wire.reply import Reply


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """The node of a turn, the prompt that it repeats, and what it reuses from an earlier version.

    `prompt` is None for a new prompt, else that of `repeated`. `difference` describes the changes from the earlier
    version.
    """

    node: Node[Turn]
    prompt: Message | None = None
    answer: Structured | None = None
    carry_over: CarryOver = field(default_factory=CarryOver)
    difference: VersionDiff | None = None
    repeated: Turn | None = None

    def resolve_prompt(self, prompt: Message) -> Message:
        """Return the prompt to send: the new one, or the one of the turn that is repeated.

        Raises:
            BadUsage: the prompt differs from the one of the turn.
        """
        if self.prompt is None:
            return prompt
        has_media = any(part.kind == "media" for part in prompt.parts)
        if has_media or prompt.text.strip() not in ("", self.prompt.text.strip()):
            raise BadUsage(
                "The prompt differs from the turn that is run again.",
                fix="Leave it empty to repeat the prompt, or use `--edit TURN` to change it on a new branch.",
            )
        return self.prompt


@check_arguments
@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the prompt of a turn, on a new branch; later turns stay on the old branch."""

    turn: TurnRef = None

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:
        """Return the plan; raises BadUsage if the turn does not exist."""
        node, _ = conversation.find_turn(self.turn)
        return TurnPlan(conversation.tree.new_sibling(node, cell_id))


@check_arguments
@dataclass(frozen=True, slots=True)
class Insert:
    """Insert a turn after one of the active branch; later turns follow the new one."""

    after: TurnRef = None

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:
        """Return the plan; raises BadUsage if the turn is not on the active branch."""
        node, _ = conversation.find_turn(self.after)
        return TurnPlan(conversation.tree.insert_after(node, cell_id))


@check_arguments
@dataclass(frozen=True, slots=True)
class Rerun:
    """Send the prompt again, from a round on; earlier rounds are reused, and nothing in them runs.

    `results` are texts that replace results of calls, `arguments` replace the arguments of calls, which then run; both
    by the ids of the calls, all of one round, after which a request is sent.
    """

    turn: TurnRef = None
    from_round: int | None = None
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:  # noqa: ARG002 - one signature for all operations
        """Return the plan.

        Raises:
            BadUsage: the turn, round or call does not exist, or the edits are in several rounds.
        """
        node, turn = conversation.find_turn(self.turn)
        edits = parse_edits(turn, self.arguments, self.results)
        count = self._rounds_to_keep(turn, edits)
        changed = {edit.call_id for edit in edits if edit.what == "arguments"}
        carry = carry_over(
            rounds_of(turn)[:count],
            runs=lambda call, _: call.call_id in changed,
            arguments={edit.call_id: edit.value for edit in edits if edit.what == "arguments"},
            results={edit.call_id: edit.value for edit in edits if edit.what == "result"},
        )
        return _new_version(node, turn, carry, VersionDiff("Rerun", turn.turn_id, count, edits) if count else None)

    def _rounds_to_keep(self, turn: Turn, edits: tuple[CallEdit, ...]) -> int:
        rounds = {edit.round for edit in edits}
        if len(rounds) > 1:
            raise BadUsage(
                f"The edited calls are of rounds {_join_numbers(rounds)}; a rerun edits calls of one round.",
                fix="Edit the earlier ones first, then the later ones in the new version.",
            )
        if not rounds:
            return _checked_round(turn, self.from_round) - 1
        (edited,) = rounds
        if self.from_round not in (None, edited + 1):
            raise BadUsage(f"The edited calls are of round {edited}, so the model is asked from round {edited + 1} on.")
        return edited


@check_arguments
@dataclass(frozen=True, slots=True)
class Resume:
    """Finish an interrupted turn: it continues after its last complete reply.

    Calls that never started run now, with approval. The outcomes of all others are reused; a call that was running when
    the turn was interrupted has an unknown outcome and does not run again. `with_undecided`, calls that were denied by
    nobody's decision are asked about again, and the turn goes on from the first round with one, unless a call of a
    later round has started. `with_new_answer`, the model is asked again after the last calls: no later reply is reused.
    """

    turn: TurnRef = None
    with_undecided: bool = False
    with_new_answer: bool = False

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:  # noqa: ARG002 - one signature for all operations
        """Return the plan; raises BadUsage if the turn does not exist or is complete."""
        node, turn = conversation.find_turn(self.turn)
        if not turn.done.done():
            raise BadUsage(f"{short_id(turn.turn_id)} is still running.", fix="Wait for it, or stop it first.")
        rounds = recover(turn, lambda turn_id: conversation.find_turn(turn_id)[1])
        first = self._first_undecided(rounds)
        if self.with_new_answer:
            rounds = _until_last_calls(turn, rounds)
        elif turn.status == "completed" and not first:
            raise BadUsage(
                f"{short_id(turn.turn_id)} is complete, so nothing is pending.", fix="Use a rerun to send it again."
            )
        rounds = rounds[:first] if first else rounds
        carry = carry_over(rounds, runs=lambda _, record: is_pending(record) or (first > 0 and _is_denied(record)))
        return _new_version(node, turn, carry, VersionDiff("Resumed", turn.turn_id, len(rounds)))

    def _first_undecided(self, rounds: Sequence[Round]) -> int:
        """Return the number of the round from which the turn goes on; 0 if that is the end of its record."""
        if not self.with_undecided:
            return 0
        first = next((number for number, round in enumerate(rounds, 1) if any(map(_is_denied, round.calls))), 0)
        has_later = any(record.has_run for round in rounds[first:] for record in round.calls)
        return 0 if has_later else first


@check_arguments
@dataclass(frozen=True, slots=True)
class Reexecute:
    """Run the tools of a turn again, from a round on, with the recorded or edited arguments.

    All approvals are requested again. The recorded replies are reused as long as the outcomes are unchanged; after the
    first outcome that differs, requests are sent to the model.
    """

    turn: TurnRef = None
    from_round: int = 1
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:  # noqa: ARG002 - one signature for all operations
        """Return the plan; raises BadUsage if the turn, round or call does not exist, or no tools were called."""
        node, turn = conversation.find_turn(self.turn)
        first, rounds = _checked_round(turn, self.from_round), complete_rounds(turn)
        edits = parse_edits(turn, self.arguments, {})
        if too_early := {edit.round for edit in edits if edit.round < first}:
            raise BadUsage(
                f"The edited calls are of round {_join_numbers(too_early)}, "
                f"and round {first} is the first to run again."
            )
        numbers = {call.call_id: number for number, round in enumerate(rounds, 1) for call in round.reply.calls}
        if not any(number >= first for number in numbers.values()):
            raise BadUsage(
                f"{short_id(turn.turn_id)} called no tools from round {first} on, so there is nothing to run again."
            )
        carry = carry_over(
            rounds,
            runs=lambda call, _: numbers[call.call_id] >= first,
            arguments={edit.call_id: edit.value for edit in edits},
            compare=True,
        )
        return _new_version(node, turn, carry, VersionDiff("Re-executed", turn.turn_id, first - 1, edits))


@check_arguments
@dataclass(frozen=True, slots=True)
class EditReply:
    """Replace the last reply of a turn by a text of the person, as a new version; nothing is sent and nothing runs."""

    turn: TurnRef = None
    text: str = ""

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:  # noqa: ARG002 - one signature for all operations
        """Return the plan.

        Raises:
            BadUsage: the turn does not exist, runs or has no last reply, or the text is empty or not of its type.
        """
        node, turn = conversation.find_turn(self.turn)
        name = short_id(turn.turn_id)
        if not turn.done.done():
            raise BadUsage(f"{name} is still running.", fix="Wait for it, or stop it first.")
        if not self.text.strip():
            raise BadUsage("The reply would be empty.", fix="Write the text of the reply; `hide` leaves a turn out.")
        rounds = complete_rounds(turn)
        if len(rounds) < len(turn.rounds) or not rounds or rounds[-1].reply.calls or not rounds[-1].reply.text.strip():
            raise BadUsage(f"{name} has no last reply that could be edited.", fix="Run it again: `--rerun TURN`.")
        carry = carry_over(rounds, runs=lambda *_: False)
        if carry.runs_calls:
            raise BadUsage(f"The outcome of a call of {name} is not known, so its reply cannot be edited.")
        carry.replies = (*carry.replies[:-1], _with_text(carry.replies[-1], self.text))
        plan = _new_version(node, turn, carry, VersionDiff("Edited", turn.turn_id, len(rounds)))
        if plan.answer:
            try:
                plan.answer.parse(self.text)
            except InvalidAnswer as error:
                raise BadUsage(error.message, fix="Write a reply of that type.") from None
        return plan


def _with_text(reply: Reply, text: str) -> Reply:
    """Return a reply with another text in the place of its own, which has ended as usual; its thinking is left out."""
    media = [part for part in reply.message.parts if isinstance(part, Media)]
    message = reply.message.with_parts([*media, Text(text)])
    return replace(reply, message=message, stop_reason="end", finish_reason="", explanation="", refusal="")


def _is_denied(record: Call | None) -> bool:
    """Whether a call was denied by nobody's decision."""
    return record is not None and record.started is None and record.is_undecided


def _until_last_calls(turn: Turn, rounds: Sequence[Round]) -> list[Round]:
    """Return the rounds up to the last one with calls; those of a final reply, which was to have none, do not count."""
    final = {event.round for event in turn.log if isinstance(event, RequestStarted) and event.final}
    numbers = (number for number, round in enumerate(rounds, 1) if round.reply.calls and number not in final)
    return list(rounds[: max(numbers, default=0)])


TurnOperation = Edit | EditReply | Insert | Rerun | Resume | Reexecute


def _new_version(node: Node[Turn], turn: Turn, carry: CarryOver, difference: VersionDiff | None) -> TurnPlan:
    """Return the plan of a new version: the same prompt and attachments, an answer of the same type.

    One that continues the turn has what the person added to it, up to the last reply that is reused.
    """
    if difference:
        added = additions_of(turn.log).items()
        carry.additions = {replies: texts for replies, texts in added if replies <= len(carry.replies)}
    return TurnPlan(node, turn.prompt, copy.copy(turn.answer), carry, difference, turn)


def _checked_round(turn: Turn, number: int | None) -> int:
    rounds = max(len(turn.rounds), 1)
    if number is not None and not 1 <= number <= rounds:
        how_many = count_of(rounds, "round")
        raise BadUsage(f"{short_id(turn.turn_id)} has {how_many}, and no round {number}.", fix="Rounds count from 1.")
    return number or 1


def _join_numbers(rounds: set[int]) -> str:
    return ", ".join(map(str, sorted(rounds)))
