"""The forms in which models write calls, and the search for them in a text.

What only looks like a call does not run: a text that the model merely repeats may look like one. It is found so that
it can be hidden, reported, and asked for again, so the search is broad where a tool of the chat is named, and strict
where none is. The calls of a reply without marks run in some formats, so that reading is strict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from nbtool.wire.prompted.call_json import match_tools
from nbtool.wire.prompted.forms.labelled_lines import (
    LABELS,
    find_actions,
    find_labelled_names,
    read_actions,
    read_named_objects,
)
from nbtool.wire.prompted.forms.literal_calls import find_json_objects, find_python_calls, read_values
from nbtool.wire.prompted.forms.marked_blocks import find_quoted_blocks
from nbtool.wire.prompted.forms.searched_text import OtherForm, SearchedText
from nbtool.wire.prompted.forms.tags import find_control_tokens, find_results, find_tags, read_between_role_tokens
from nbtool.wire.prompted.model_formats import OPENERS
from nbtool.wire.prompted.segments import CallBlock

FIRST_WORDS = (*dict.fromkeys(label.split()[0] for label in LABELS), "functions.")
"""Words with which a line that calls a tool begins."""

_WORDS = "|".join(map(re.escape, FIRST_WORDS))
_LINE = r"[ \t>*#-]*+"
# ruff: noqa: RUF001 - the marks are written with the very characters that the models use
_TAG = r"</?[\w:.-]*(?:tool|func|call|invoke|action|api|observation)"


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which models write calls, or the results of calls.

    `begins` is where in a line it may begin, and `begins_line` how a line begins that may begin it: from there on a
    streamed text is held back. In these expressions `%names` stands for the tools that there are, and `%openers` for
    the opening marks. `find` yields what looks like it in a text, up to where it ends. `read` returns the calls of a
    text without marks that certainly is written in this form.
    """

    find: Callable[[SearchedText], Iterator[OtherForm]]
    begins: str = ""
    begins_line: str = ""
    read: Callable[[str], list[CallBlock]] | None = None


FORMS = (
    Form(find_results, begins=_TAG),
    Form(find_quoted_blocks, begins="%openers"),
    Form(find_tags, begins=rf"<(?:%names)\b|{_TAG}"),
    Form(find_actions, begins_line=rf"{_LINE}(?:{_WORDS})[\w \t]*\*{{0,2}}[ \t]*[:=(`]", read=read_actions),
    Form(find_control_tokens, begins=r"<[|｜]|\bto=\w", read=read_between_role_tokens),
    Form(
        find_labelled_names,
        begins=r"(?:functions\.)?(?:%names)[ \t]*\r?\n",
        begins_line=rf"{_LINE}(?:(?:{_WORDS})[ \t:]+)?[\"'`*]{{0,4}}(?:functions\.)?(?:%names)[\"'`*]*[ \t]*"
        r"(?:[:({,]|\r?\n|$|with\b)",
        read=read_named_objects,
    ),
    Form(find_json_objects, begins=r"[{\[]\s*[{\"'“]", begins_line=r"[ \t]*[{\[]", read=read_values),
    Form(find_python_calls, begins=r"\[\s*(?:functions\.)?(?:%names)\s*\("),  # read with JSON
)


def find_other_forms(text: str, names: Collection[str] | None) -> list[OtherForm]:
    """Return what looks like a call, in order and without overlaps; with no tools at all, nothing does."""
    if (names is not None and not names) or not text.strip():
        return []
    searched = SearchedText(text, names)
    found = [place for form in FORMS for place in form.find(searched)]
    unread = min(searched.unread, default=len(text))
    if not _may_hold_call(searched, unread):
        unread = len(text)
    forms = [form for form in _without_overlaps(found) if form.start < unread]
    end = max(unread, forms[-1].end if forms else 0)
    return [*forms, OtherForm(end, len(text), reason="too_many")] if end < len(text) and unread < len(text) else forms


def find_bare_calls(text: str, names: Collection[str] | None = None) -> list[CallBlock]:
    """Return the calls of a text without marks; none if one of them is not certain, or not of a tool that there is."""
    read = (form.read(text) for form in FORMS if form.read)
    blocks: list[CallBlock] = next(filter(None, read), [])
    return blocks if all(match_tools(block.calls or (), names) for block in blocks) else []


def _without_overlaps(found: list[OtherForm]) -> Iterator[OtherForm]:
    end = 0
    for form in sorted(found, key=lambda form: (form.start, -form.end)):
        if form.start >= end:
            end = form.end
            yield form


def _may_hold_call(searched: SearchedText, start: int) -> bool:
    return bool(searched.tools.mention(searched.text, start) or OPENERS.search(searched.text, start))
