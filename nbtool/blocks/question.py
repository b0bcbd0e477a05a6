"""What a person is asked at a gate, in one sentence; the card of the page says the same (`asking.ts`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbtool.blocks.confusables import unmasked
from nbtool.blocks.media import told
from nbtool.blocks.protocol import AgainShape, Asked, CallBlock, DifferenceShape, ResolvedShape
from nbtool.blocks.resolved import only_reference, resolved_text
from nbtool.blocks.sanitize import one_line, visible, without_controls
from nbtool.events import CallAsked, Gate, RepeatedQuestion
from nbtool.messages import Media, clean_text

AGAIN = {
    "changed": "Asked again: it has changed since it was shown.",
    "unwatched": "Asked again, right before it runs: it may have changed since it was shown.",
    "invalid": "Asked again: the arguments that you put in do not fit.",
}
"""Why a call is asked about once more; the card says the same (`asking.ts`)."""

SAID = 60
"""Characters of an argument that the sentence holds."""

NAMED = 6
"""Arguments that the sentence names."""


def asked(event: CallAsked, shelf: dict[str, Media]) -> Asked:
    """Give a question as blocks hold it; the bytes of its images go to a shelf, by their keys."""
    question: Asked = {
        "gate": event.gate, "digest": event.digest, "tool": clean_text(event.tool),
        "shown": clean_text(event.shown), "description": without_controls(event.description),
        "schema": event.schema, "can_remember": event.can_remember, "sensitive": event.sensitive,
    }  # fmt: skip
    if event.notice:
        question["notice"] = without_controls(event.notice)
    if event.effect:
        question["effect"] = clean_text(event.effect)
    if event.media:
        question["media"] = told(event.media, shelf)
    if event.notes:
        question["notes"] = [without_controls(note) for note in event.notes]
    if event.again:
        question["again"] = _again(event.again)
    if not event.can_remember_call:
        question["can_remember_call"] = False
    return question


def _again(again: RepeatedQuestion) -> AgainShape:
    differences: list[DifferenceShape] = [
        {"what": clean_text(one.what), "before": clean_text(one.before), "after": clean_text(one.after)}
        for one in again.differences
    ]
    problem, edited = clean_text(again.problem), clean_text(again.edited)
    return {"reason": again.reason, "differences": differences, "problem": problem, "edited": edited}


def remarks(question: Asked) -> str:
    """Write what a person should know before all else: why a call is asked about again, and what cannot be watched."""
    again = question.get("again")
    parts = [*_why_again(again)] if again else []
    return "\n".join(unmasked(visible(part)) for part in [*parts, *question.get("notes", ())])


def remarks_of(again: RepeatedQuestion | None, notes: Sequence[str]) -> str:
    """Write the remarks of a question that is no block; see `remarks`."""
    parts = [*_why_again(_again(again))] if again else []
    return "\n".join(unmasked(visible(part)) for part in [*parts, *notes])


def _why_again(again: AgainShape) -> Iterator[str]:
    yield AGAIN[again["reason"]]
    if again["problem"]:
        yield again["problem"]
    if again["edited"]:
        yield f"Your arguments were: {again['edited']}"
    for one in again["differences"]:
        yield f"Changed: {one['what']}"
        yield from (f"- {line}" for line in one["before"].splitlines())
        yield from (f"+ {line}" for line in one["after"].splitlines())


def sentence(block: CallBlock) -> str:
    """Say what will happen if the question of a call is answered with yes; empty where it has none."""
    question = block["question"]
    if question is None:
        return ""
    images = len(question.get("media", ()))
    return sentence_of(question["gate"], question["tool"], question["shown"], block["resolved"], images)


def sentence_of(gate: Gate, tool: str, shown: str, resolved: Mapping[str, ResolvedShape], images: int = 0) -> str:
    """Say what will happen if a question is answered with yes.

    `resolved` tells what each argument stands for; `images` says how many there are in a result.
    """
    tool = _line(tool, 80)
    if gate == "result":
        seen = f" and {_count(images, 'image')}" if images else ""
        return f"The model will read the result of {tool} ({_count(len(shown), 'character')}{seen})."
    values = _arguments(shown)
    if values is None:
        return f"{tool} asks: {_line(shown, 300)}"
    said = [_said(name, value, resolved.get(name)) for name, value in values.items()]
    more = f" and {_count(len(said) - NAMED, 'argument')} more" if len(said) > NAMED else ""
    return f"{tool} will run{' with ' if said else ' without arguments'}{', '.join(said[:NAMED])}{more}."


def effect_of(effect: str) -> str:
    """Write what a call will change, as its tool tells it, with a title; empty where it tells nothing."""
    return f"What will change:\n{unmasked(visible(effect.rstrip()))}" if effect.strip() else ""


def notice_of(notice: str) -> str:
    """Write what the person has to know before a decision, in full; empty where there is nothing."""
    return unmasked(visible(notice.strip()))


def _said(name: str, value: Any, resolved: ResolvedShape | None) -> str:
    lines = len(value.rstrip().split("\n")) if isinstance(value, str) else 1
    if lines > 1:
        return f"{_line(name)} = {_count(lines, 'line')}"
    if reference := only_reference(resolved):
        return f"{_line(name)} = {_line(reference['name'])} ({_line(reference['summary'] or reference['text'])})"
    return f"{_line(name)} = {_line(resolved_text(resolved) if resolved else '…')}"


def _line(text: str, limit: int = SAID) -> str:
    return one_line(unmasked(text[: limit * 4]), limit)


def _arguments(shown: str) -> dict[str, Any] | None:
    try:
        values = json.loads(shown or "{}")
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
