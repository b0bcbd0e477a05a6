"""Where the texts of a chat's turns come from: which of a prompt the person typed, and what came from outside.

It is known of turns that ran in this process only. A turn of an earlier kernel, of a recording or of a file counts as
from outside, and nothing of it as typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from nbtool.chat.conversation.tree import Node
from nbtool.chat.rerun.operations import TurnPlan
from nbtool.chat.turn import Turn
from nbtool.messages import Message
from nbtool.tools.approval import OutsideText
from nbtool.tools.calls.turn_sources import TurnSources
from nbtool.tools.tool import Tool

COMPOSED = OutsideText("a part of the prompt that was not typed")
ATTACHED = OutsideText("an attachment")
RECORDED = OutsideText("a recording")
OF_SERVER = "what the server of {tool} says of it"
OF_VARIABLE = "the description of the variable {name}"
EARLIER_TURN = "a turn that did not run in this kernel"


@dataclass(frozen=True, slots=True)
class PromptOrigin:
    """What of a prompt the person typed, and what else is in it."""

    typed: str = ""
    outside: tuple[OutsideText, ...] = (COMPOSED,)


_prompts: WeakKeyDictionary[Turn, PromptOrigin] = WeakKeyDictionary()
_sources: WeakKeyDictionary[Turn, TurnSources] = WeakKeyDictionary()


def note_prompt(
    turn: Turn, prompt: str | Message, typed: str | None, plan: TurnPlan | None, *, has_attachment: bool
) -> None:
    """Note the origin of a turn's prompt: a text, of which `typed` is the person's part, or all of it if None.

    A message that code has put together is not typed, and a repeated prompt is what it was.
    """
    if plan and plan.prompt is not None:
        former = next(
            (all_version for all_version in plan.node.all_versions if all_version.prompt is plan.prompt), None
        )
        _prompts[turn] = _prompts.get(former, PromptOrigin()) if former else PromptOrigin()
        return
    text = "" if isinstance(prompt, Message) else prompt
    own = text if typed is None else typed
    is_composed = isinstance(prompt, Message) or own != text
    outside = (*((COMPOSED,) if is_composed else ()), *((ATTACHED,) if has_attachment else ()))
    _prompts[turn] = PromptOrigin(own, outside)


def make_sources(turn: Turn, node: Node[Turn], tools: Iterable[Tool], exposed: Iterable[str]) -> TurnSources:
    """Return the sources of a turn at its place in the conversation, and keep them for the turns after it."""
    origin, line = _prompts.get(turn, PromptOrigin()), list(_earlier_turns(node))
    typed = (*(_prompts[item].typed for item in line if item in _prompts), origin.typed)
    own = [*origin.outside]
    own += (OutsideText(OF_VARIABLE.format(name=name)) for name in exposed)
    own += (OutsideText(OF_SERVER.format(tool=tool.display_name)) for tool in tools if tool.sends_to == "server")
    earlier = dict.fromkeys(text for texts in (*map(_own_texts_of, line), own) for text in texts)
    sources = _sources[turn] = TurnSources(turn.turn_id, typed, tuple(earlier), tuple(own))
    return sources


def replayed_sources(turn: Turn) -> TurnSources:
    """Return the sources of a turn that is replayed: its replies and results come from a file."""
    sources = _sources[turn]
    sources.earlier = tuple(dict.fromkeys((*sources.earlier, RECORDED)))
    sources.own = (*sources.own, RECORDED)
    return sources


def _earlier_turns(node: Node[Turn]) -> Iterator[Turn]:
    """Yield the turns before a node, oldest first; hidden ones too, which later turns may have followed from."""
    line = []
    while (parent := node.parent) is not None:
        node = parent
        if node.turn:
            line.append(node.turn)
    yield from reversed(line)


def _own_texts_of(turn: Turn) -> tuple[OutsideText, ...]:
    """Return the texts from outside of one turn, without those of the turns before it."""
    known = _sources.get(turn)
    return known.own_texts if known else (OutsideText(EARLIER_TURN),)
