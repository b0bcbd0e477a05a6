"""What can be done with a turn in place of saying something new: each verb is a value, and makes a plan.

*Rerun* asks the model again, *resume* finishes what is pending, *re-execute* runs the tools again. (*Replay*, the same
results with nothing run, is the business of recordings.) Each makes a new version beside the old one, which is kept.
*Edit* says something else in a turn's place, on a branch of its own; *insert* puts a turn between two.

What of a turn is kept, and what of it is run again, is never guessed: rounds that are kept are told from the record,
and no call is run that could have run before, unless it was asked for.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.chat.conversation import Conversation, TurnRef
from nbtool.chat.edits import CallEdit, VersionDiff, parse_edits
from nbtool.chat.rerun.carry_over import CarryOver, carry_over
from nbtool.chat.rerun.recovery import complete_rounds, is_pending, recover
from nbtool.chat.tree import Node
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.messages import Message
from nbtool.plugins.structured import Structured


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """Where a turn goes, what it says again, and what it takes from the version that it is made from.

    `prompt` is None where the person says something new. `difference` says how the version is another one.
    """

    node: Node[Turn]
    prompt: Message | None = None
    answer: Structured | None = None
    carry_over: CarryOver = field(default_factory=CarryOver)
    difference: VersionDiff | None = None

    def resolve_prompt(self, prompt: Message) -> Message:
        """Give what is said: the person's own words, or, where nothing was said, those of the turn.

        Raises:
            BadUsage: the words are others than those of the turn.
        """
        if self.prompt is None:
            return prompt
        has_media = any(part.kind == "media" for part in prompt.parts)
        if has_media or prompt.text.strip() not in ("", self.prompt.text.strip()):
            raise BadUsage(
                "This says something else than the turn that it runs again.",
                fix="Leave the text empty to say the same; `--edit TURN` says something else, on a branch of its own.",
            )
        return self.prompt


@dataclass(frozen=True, slots=True)
class Edit:
    """Say something else in place of a turn, on a branch of its own: what followed the turn stays with the turn."""

    turn: TurnRef = None

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:
        """Plan it; raises BadUsage where there is no such turn."""
        node, _ = conversation.find_turn(self.turn)
        return TurnPlan(conversation.tree.new_sibling(node, cell_id))


@dataclass(frozen=True, slots=True)
class Insert:
    """Say something after a turn of the active line; what followed it follows the new one."""

    after: TurnRef = None

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:
        """Plan it; raises BadUsage where there is no such turn on the line."""
        node, _ = conversation.find_turn(self.after)
        return TurnPlan(conversation.tree.insert_after(node, cell_id))


@dataclass(frozen=True, slots=True)
class Rerun:
    """Ask the model again, from one of the rounds on; what came before is kept, and nothing of it runs.

    `results` are texts that the model is told in place of a call's result, `arguments` those with which a call runs in
    place of its own; both by the ids of the calls, all of one round, after which the model is asked again.
    """

    turn: TurnRef = None
    from_round: int | None = None
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:  # noqa: ARG002 - one shape for every verb
        """Plan it.

        Raises:
            BadUsage: there is no such turn, round or call, or the edits are of several rounds.
        """
        node, turn = conversation.find_turn(self.turn)
        edits = parse_edits(turn, self.arguments, self.results)
        count = self._rounds_to_keep(turn, edits)
        changed = {edit.call_id for edit in edits if edit.what == "arguments"}
        carry = carry_over(
            turn,
            count,
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
                fix="Edit the earlier ones, and the later ones in the version that comes of it.",
            )
        if not rounds:
            return _checked_round(turn, self.from_round) - 1
        (edited,) = rounds
        if self.from_round not in (None, edited + 1):
            raise BadUsage(f"The edited calls are of round {edited}, so the model is asked from round {edited + 1} on.")
        return edited


@dataclass(frozen=True, slots=True)
class Resume:
    """Finish what is pending of a turn that broke off: it goes on after its last complete reply.

    Calls that never began are run now, gates and all. Every other one is told as it came out; one that was running when
    the turn broke off is told to be of unknown outcome, and is not run again.
    """

    turn: TurnRef = None

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:  # noqa: ARG002 - one shape for every verb
        """Plan it; raises BadUsage where there is no such turn, or nothing of it is pending."""
        node, turn = conversation.find_turn(self.turn)
        if not turn.done.done():
            raise BadUsage(f"{turn.turn_id} is still on its way.", fix="Wait for it, or stop it first.")
        if turn.status == "completed":
            raise BadUsage(f"{turn.turn_id} came to its end, so nothing is pending.", fix="A rerun asks again.")
        recovered = recover(turn, lambda turn_id: conversation.find_turn(turn_id)[1])
        count = complete_rounds(recovered)
        carry = carry_over(recovered, count, runs=lambda _, record: is_pending(record))
        return _new_version(node, turn, carry, VersionDiff("Resumed", turn.turn_id, count))


@dataclass(frozen=True, slots=True)
class Reexecute:
    """Run the tools of a turn again, from one of its rounds on, with the recorded arguments or with others.

    Every gate is asked again. The recorded replies hold while the calls come out as they did; from the first that comes
    out otherwise, the model is asked.
    """

    turn: TurnRef = None
    from_round: int = 1
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def plan(self, conversation: Conversation, cell_id: str) -> TurnPlan:  # noqa: ARG002 - one shape for every verb
        """Plan it; raises BadUsage where there is no such turn, round or call, or it called no tools from there on."""
        node, turn = conversation.find_turn(self.turn)
        first, count = _checked_round(turn, self.from_round), complete_rounds(turn)
        edits = parse_edits(turn, self.arguments, {})
        if too_early := {edit.round for edit in edits if edit.round < first}:
            raise BadUsage(
                f"The edited calls are of round {_join_numbers(too_early)}, "
                f"and round {first} is the first to run again."
            )
        rounds = {call.call_id: number for number, reply in enumerate(turn.rounds[:count], 1) for call in reply.calls}
        if not any(round >= first for round in rounds.values()):
            raise BadUsage(f"{turn.turn_id} called no tools from round {first} on, so there is nothing to run again.")
        carry = carry_over(
            turn,
            count,
            runs=lambda call, _: rounds[call.call_id] >= first,
            arguments={edit.call_id: edit.value for edit in edits},
            compare=True,
        )
        return _new_version(node, turn, carry, VersionDiff("Re-executed", turn.turn_id, first - 1, edits))


TurnOperation = Edit | Insert | Rerun | Resume | Reexecute


def _new_version(node: Node[Turn], turn: Turn, carry: CarryOver, difference: VersionDiff | None) -> TurnPlan:
    """Plan a new version of a turn: the same words, the same attachments, an answer of the same type."""
    return TurnPlan(node, turn.prompt, copy.copy(turn.answer), carry, difference)


def _checked_round(turn: Turn, number: int | None) -> int:
    rounds = max(len(turn.rounds), 1)
    if number is not None and not 1 <= number <= rounds:
        how_many = "1 round" if rounds == 1 else f"{rounds} rounds"
        raise BadUsage(f"{turn.turn_id} has {how_many}, and no round {number}.", fix="Rounds count from 1.")
    return number or 1


def _join_numbers(rounds: set[int]) -> str:
    return ", ".join(map(str, sorted(rounds)))
