"""What a person is asked at a gate, in one sentence; the card of the page says the same (`asking.ts`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nbtool.blocks.confusables import escape_confusables
from nbtool.blocks.media import media_data
from nbtool.blocks.protocol import CallBlock, DifferenceData, QuestionData, ReaskData, ResolvedShape
from nbtool.blocks.resolved import only_reference, resolved_text
from nbtool.blocks.sanitize import escape_invisible, one_line, without_controls
from nbtool.events import CallAsked, Gate, RepeatedQuestion
from nbtool.messages import Media, clean_text

REASK_TITLES = {
    "changed": "Asked again: it has changed since it was shown.",
    "unwatched": "Asked again, right before it runs: it may have changed since it was shown.",
    "invalid": "Asked again: the arguments that you put in do not fit.",
}
"""Why a call is asked about once more; the card says the same (`asking.ts`)."""

MAX_ARGUMENT_CHARS = 60
"""Characters of an argument that the sentence holds."""

MAX_ARGUMENTS = 6
"""Arguments that the sentence names."""


def question_data(event: CallAsked, store: dict[str, Media]) -> QuestionData:
    """Give a question as blocks hold it; the bytes of its images go to a shelf, by their keys."""
    question: QuestionData = {
        "gate": event.gate, "digest": event.digest, "tool": clean_text(event.tool),
        "shown": clean_text(event.shown), "description": without_controls(event.description),
        "schema": event.schema, "can_remember": event.can_remember, "sensitive": event.sensitive,
    }  # fmt: skip
    if event.notice:
        question["notice"] = without_controls(event.notice)
    if event.effect:
        question["effect"] = clean_text(event.effect)
    if event.media:
        question["media"] = media_data(event.media, store)
    if event.notes:
        question["notes"] = [without_controls(note) for note in event.notes]
    if event.again:
        question["again"] = _reask_data(event.again)
    if not event.can_remember_call:
        question["can_remember_call"] = False
    return question


def _reask_data(reask: RepeatedQuestion) -> ReaskData:
    differences: list[DifferenceData] = [
        {"what": clean_text(one.what), "before": clean_text(one.before), "after": clean_text(one.after)}
        for one in reask.differences
    ]
    problem, edited = clean_text(reask.problem), clean_text(reask.edited)
    return {"reason": reask.reason, "differences": differences, "problem": problem, "edited": edited}


def remarks(question: QuestionData) -> str:
    """Write what a person should know before all else: why a call is asked about again, and what cannot be watched."""
    reask = question.get("again")
    parts = [*_reask_lines(reask)] if reask else []
    return "\n".join(escape_confusables(escape_invisible(part)) for part in [*parts, *question.get("notes", ())])


def format_remarks(reask: RepeatedQuestion | None, notes: Sequence[str]) -> str:
    """Write the remarks of a question that is no block; see `remarks`."""
    parts = [*_reask_lines(_reask_data(reask))] if reask else []
    return "\n".join(escape_confusables(escape_invisible(part)) for part in [*parts, *notes])


def _reask_lines(reask: ReaskData) -> Iterator[str]:
    yield REASK_TITLES[reask["reason"]]
    if reask["problem"]:
        yield reask["problem"]
    if reask["edited"]:
        yield f"Your arguments were: {reask['edited']}"
    for one in reask["differences"]:
        yield f"Changed: {one['what']}"
        yield from (f"- {line}" for line in one["before"].splitlines())
        yield from (f"+ {line}" for line in one["after"].splitlines())


def question_summary(block: CallBlock) -> str:
    """Say what will happen if the question of a call is answered with yes; empty where it has none."""
    question = block["question"]
    if question is None:
        return ""
    images = len(question.get("media", ()))
    return summarize_call(question["gate"], question["tool"], question["shown"], block["resolved"], images)


def summarize_call(gate: Gate, tool: str, shown: str, resolved: Mapping[str, ResolvedShape], images: int = 0) -> str:
    """Say what will happen if a question is answered with yes.

    `resolved` tells what each argument stands for; `images` says how many there are in a result.
    """
    tool = _line(tool, 80)
    if gate == "result":
        images_note = f" and {_plural(images, 'image')}" if images else ""
        return f"The model will read the result of {tool} ({_plural(len(shown), 'character')}{images_note})."
    values = _arguments(shown)
    if values is None:
        return f"{tool} asks: {_line(shown, 300)}"
    arguments = [_argument_text(name, value, resolved.get(name)) for name, value in values.items()]
    more = f" and {_plural(len(arguments) - MAX_ARGUMENTS, 'argument')} more" if len(arguments) > MAX_ARGUMENTS else ""
    return (
        f"{tool} will run{' with ' if arguments else ' without arguments'}{', '.join(arguments[:MAX_ARGUMENTS])}{more}."
    )


def effect_text(effect: str) -> str:
    """Write what a call will change, as its tool tells it, with a title; empty where it tells nothing."""
    return f"What will change:\n{escape_confusables(escape_invisible(effect.rstrip()))}" if effect.strip() else ""


def notice_text(notice: str) -> str:
    """Write what the person has to know before a decision, in full; empty where there is nothing."""
    return escape_confusables(escape_invisible(notice.strip()))


def _argument_text(name: str, value: Any, resolved: ResolvedShape | None) -> str:
    lines = len(value.rstrip().split("\n")) if isinstance(value, str) else 1
    if lines > 1:
        return f"{_line(name)} = {_plural(lines, 'line')}"
    if reference := only_reference(resolved):
        return f"{_line(name)} = {_line(reference['name'])} ({_line(reference['summary'] or reference['text'])})"
    return f"{_line(name)} = {_line(resolved_text(resolved) if resolved else '…')}"


def _line(text: str, limit: int = MAX_ARGUMENT_CHARS) -> str:
    return one_line(escape_confusables(text[: limit * 4]), limit)


def _arguments(shown: str) -> dict[str, Any] | None:
    try:
        values = json.loads(shown or "{}")
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
