"""The question at a gate in one line, in its parts for the card of the page, and its arguments in brief."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nbtool.blocks.argument_lines import short_arguments
from nbtool.blocks.argument_targets import only_reference, resolved_shapes, resolved_text
from nbtool.blocks.confusables import escape_confusables
from nbtool.blocks.media import media_data
from nbtool.blocks.protocol import (
    ArgumentLine,
    CallBlock,
    DifferenceData,
    QuestionData,
    ReaskData,
    ResolvedReferenceShape,
    ResolvedShape,
    TablePreview,
)
from nbtool.blocks.sanitize import escape_invisible, one_line, without_controls
from nbtool.events import CallAsked, RepeatedQuestion
from nbtool.messages import Media
from nbtool.sign_in import sign_in_page
from nbtool.text import clean_text, count_of

REASK_TITLES = {
    "changed": "Asked again: it has changed since it was shown.",
    "unwatched": "Asked again, right before it runs: it may have changed since it was shown.",
    "invalid": "Asked again: the arguments that you put in do not fit.",
}
"""Why approval is requested again."""

FORM_SUMMARY = "{tool} you for an answer."
"""The question about a form, after the server and `asks`."""

SIGN_IN_SUMMARY = "{tool} you to sign in. Open its page?"
"""The question about a page, after the server and `asks`."""

MODEL = "the model"
"""Who receives a result, unless a question names another."""

MAX_ARGUMENT_CHARS = 60
"""Characters of an argument in the question."""

MAX_CALL_CHARS = 80
"""Characters of the arguments of a call whose result is asked about."""

MAX_ARGUMENTS = 6
"""Arguments in the question."""

MAX_DETAIL_CHARS = 1_000
"""Characters of what else is said of a referenced object."""

UNKNOWN = "…"
"""The value of an argument whose target is not known."""

ARGUMENT_NAME = re.compile(r"[\w-]{1,60}", re.ASCII)
"""A name of an argument that cannot be read as more than one argument."""


def question_data(event: CallAsked, store: dict[str, Media]) -> QuestionData:
    """Return a question as stored in blocks; the bytes of its images go to a shelf, by key."""
    question: QuestionData = {
        "gate": event.gate, "digest": event.digest, "tool": clean_text(event.display_name),
        "shown": clean_text(event.shown), "description": without_controls(event.description),
        "schema": event.schema, "can_remember": event.can_remember, "sensitive": event.sensitive,
    }  # fmt: skip
    if event.notice:
        question["notice"] = without_controls(event.notice)
    if event.effect:
        question["effect"] = clean_text(event.effect)
    if event.gate == "result":
        _add_result(question, event, store)
    if event.notes:
        question["notes"] = [without_controls(note) for note in event.notes]
    if event.again:
        question["again"] = _reask_data(event.again)
    if not event.can_remember_call:
        question["can_remember_call"] = False
    if event.is_form:
        _add_form(question, event)
    return question


def _add_form(question: QuestionData, event: CallAsked) -> None:
    """Add that a server asks for input, or to open a page."""
    question["is_form"] = True
    if page := sign_in_page(event.schema, is_form=event.is_form):
        question["sign_in"] = clean_text(page)


def _add_result(question: QuestionData, event: CallAsked, store: dict[str, Media]) -> None:
    """Add the images and the table of a result, and who receives it."""
    if event.recipient:
        question["recipient"] = clean_text(event.recipient)
    if event.media:
        question["media"] = media_data(event.media, store)
    if table := event.glances.get("result"):
        question["table"] = preview_data(table)


def preview_data(data: Mapping[str, Any]) -> TablePreview:
    """Return the first rows of a table as stored in blocks; a journal may contain anything."""
    rows = [[clean_text(str(cell)) for cell in row] for row in data.get("rows", ())]
    cleaned: TablePreview = {"columns": [clean_text(str(name)) for name in data.get("columns", ())], "rows": rows}
    for name in ("more_rows", "more_columns"):
        if type(count := data.get(name)) is int and count > 0:
            cleaned[name] = count
    return cleaned


def _reask_data(reask: RepeatedQuestion) -> ReaskData:
    differences: list[DifferenceData] = [
        {
            "what": clean_text(difference.what),
            "before": clean_text(difference.before),
            "after": clean_text(difference.after),
        }
        for difference in reask.differences
    ]
    problem, edited = clean_text(reask.problem), clean_text(reask.edited)
    title = REASK_TITLES[reask.reason]
    return {
        "reason": reask.reason, "differences": differences, "problem": problem, "edited": edited, "title": title,
    }  # fmt: skip


def remarks(question: QuestionData) -> str:
    """Return what the person should read first: why approval is needed again, and what cannot be monitored."""
    reask = question.get("again")
    parts = [*_reask_lines(reask)] if reask else []
    return "\n".join(escape_confusables(escape_invisible(part)) for part in [*parts, *question.get("notes", ())])


def format_remarks(reask: RepeatedQuestion | None, notes: Sequence[str]) -> str:
    """Return the remarks of a question that is not a block; see `remarks`."""
    parts = [*_reask_lines(_reask_data(reask))] if reask else []
    return "\n".join(escape_confusables(escape_invisible(part)) for part in [*parts, *notes])


def _reask_lines(reask: ReaskData) -> Iterator[str]:
    yield reask["title"]
    if reask["problem"]:
        yield reask["problem"]
    if reask["edited"]:
        yield f"Your arguments were: {reask['edited']}"
    for data in reask["differences"]:
        yield f"Changed: {data['what']}"
        yield from (f"- {line}" for line in data["before"].splitlines())
        yield from (f"+ {line}" for line in data["after"].splitlines())


def question_summary(block: CallBlock) -> str:
    """Describe what happens if the question of a call is approved; empty if it has none."""
    question = block["question"]
    if question is None:
        return ""
    if page := question.get("sign_in"):
        return _summarize_sign_in(question["tool"], page)
    asked = "".join(question_parts(question, block["arguments"], block["resolved"]))
    return asked + _reference_notes(question, block["resolved"])


def question_parts(question: QuestionData, arguments: str, resolved: Mapping[str, ResolvedShape]) -> list[str]:
    """Return a question in words: what is before the call, the call, and what is after it."""
    tool = _line(question["tool"], 80)
    if "sign_in" in question or question.get("is_form"):
        return ["", tool, (SIGN_IN_SUMMARY if "sign_in" in question else FORM_SUMMARY).removeprefix("{tool}")]
    if question["gate"] == "result":
        called = f"{tool}({_line(short_arguments(arguments, MAX_CALL_CHARS), MAX_CALL_CHARS)})"
        images, recipient = len(question.get("media", ())), question.get("recipient", "")
        return ["Send the result of ", called, _result_end(question["shown"], images, recipient)]
    if _arguments(question["shown"]) is None:
        return ["", tool, f" asks: {_line(question['shown'], 300)}"]
    return ["Run ", _call_text(question["tool"], question["shown"], resolved), "?"]


def argument_lines(shown: str, resolved: Mapping[str, ResolvedShape]) -> list[ArgumentLine]:
    """Return the arguments of a question in brief: references by their targets, everything else unchanged."""
    return [_argument_line(name, value, resolved.get(name)) for name, value in (_arguments(shown) or {}).items()]


def _argument_line(name: str, value: Any, resolved: ResolvedShape | None) -> ArgumentLine:
    reference = only_reference(resolved)
    whole = reference["name"] if reference else resolved_text(resolved) if resolved else UNKNOWN
    line = _value_text(value, resolved)
    about = reference["text"] if reference else ""
    note = _line(reference["summary"] or about) if reference else ""
    details = about.removeprefix(note).removeprefix(": ")
    is_complete = line == whole != UNKNOWN and ARGUMENT_NAME.fullmatch(name) is not None
    return {
        "name": _line(name), "value": line, "note": note, "details": _line(details, MAX_DETAIL_CHARS),
        "is_complete": is_complete,
    }  # fmt: skip


def summarize_request(event: CallAsked) -> str:
    """Describe what happens if a question is approved."""
    if page := sign_in_page(event.schema, is_form=event.is_form):
        return _summarize_sign_in(event.display_name, page)
    if event.is_form:
        return _summarize_form(event.display_name)
    if event.gate == "result":
        end = _result_end(event.shown, len(event.media), event.recipient)
        return f"Send the result of {_line(event.display_name, 80)}{end}"
    return summarize_call(event.display_name, event.shown, resolved_shapes(event.resolved))


def describe_request(event: CallAsked) -> str:
    """Return everything that is decided with a question: its summary, what to read first, and what would change."""
    remarks = format_remarks(event.again, event.notes)
    more = (remarks, notice_text(event.notice), effect_text(event.effect))
    return "\n".join([summarize_request(event), *filter(None, more)])


def describe_subject(event: CallAsked) -> str:
    """Return what a decision on a question is about: the call with its arguments, each in one line, or the result."""
    if event.gate == "result":
        return f"the result of {_line(event.display_name, 80)}, for {_line(event.recipient or MODEL, 80)}"
    return _call_text(event.display_name, event.shown, resolved_shapes(event.resolved))


def summarize_call(tool: str, shown: str, resolved: Mapping[str, ResolvedShape]) -> str:
    """Describe what happens if a call is approved; `resolved` has the target of each argument."""
    values = _arguments(shown)
    if values is None:
        return f"{_line(tool, 80)} asks: {_line(shown, 300)}"
    return f"Run {_call_text(tool, shown, resolved)}?{_target_notes(values, resolved)}"


def _reference_notes(question: QuestionData, resolved: Mapping[str, ResolvedShape]) -> str:
    is_call = question["gate"] == "run" and not question.get("is_form")
    return _target_notes(_arguments(question["shown"]) or {}, resolved) if is_call else ""


def _target_notes(names: Iterable[str], resolved: Mapping[str, ResolvedShape]) -> str:
    """Return what the references among arguments are, as sentences after the question."""
    references = [_reference_text(found) for name in names if (found := only_reference(resolved.get(name)))]
    return f" {'; '.join(references)}." if references else ""


def _call_text(tool: str, shown: str, resolved: Mapping[str, ResolvedShape]) -> str:
    """Return a call with its arguments in one line; what is left out is marked."""
    values = _arguments(shown)
    if values is None:
        return f"{_line(tool, 80)}({_line(shown, 300)})"
    arguments = [f"{_line(name)}={_value_text(value, resolved.get(name))}" for name, value in values.items()]
    more = len(arguments) - MAX_ARGUMENTS
    omitted = f", … {count_of(more, 'argument')} more" if more > 0 else ""
    return f"{_line(tool, 80)}({', '.join(arguments[:MAX_ARGUMENTS])}{omitted})"


def _summarize_sign_in(tool: str, page: str) -> str:
    """Describe the question about the page of a login, with its address in full."""
    return f"{SIGN_IN_SUMMARY.format(tool=_line(tool, 80))} {one_line(escape_confusables(page), 8 * len(page))}"


def _summarize_form(tool: str) -> str:
    return FORM_SUMMARY.format(tool=_line(tool, 80))


def _result_end(shown: str, images: int, recipient: str) -> str:
    """Return the end of the question about a result: who receives it, and how much it is."""
    images_note = f" and {count_of(images, 'image')}" if images else ""
    return f" to {_line(recipient or MODEL, 80)} ({count_of(len(shown), 'character')}{images_note})?"


def effect_text(effect: str) -> str:
    """Return what a call will change, as described by its tool, with a title; empty if it provides nothing."""
    return f"What will change:\n{escape_confusables(escape_invisible(effect.rstrip()))}" if effect.strip() else ""


def notice_text(notice: str) -> str:
    """Return the notice before a decision, in full; empty if there is none."""
    return escape_confusables(escape_invisible(notice.strip()))


def _value_text(value: Any, resolved: ResolvedShape | None) -> str:
    lines = len(value.rstrip().split("\n")) if isinstance(value, str) else 1
    if lines > 1:
        return f"… {count_of(lines, 'line')}"
    if reference := only_reference(resolved):
        return _line(reference["name"])
    return _line(resolved_text(resolved) if resolved else UNKNOWN)


def _reference_text(reference: ResolvedReferenceShape) -> str:
    return f"{_line(reference['name'])}: {_line(reference['summary'] or reference['text'])}"


def _line(text: str, limit: int = MAX_ARGUMENT_CHARS) -> str:
    return one_line(escape_confusables(text[: limit * 4]), limit)


def _arguments(shown: str) -> dict[str, Any] | None:
    try:
        values = json.loads(shown or "{}")
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None
