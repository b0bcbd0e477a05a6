"""The search for what looks like a call and is written in another form than the one that was asked for.

Nothing that is found runs: a text that the model merely repeats may look like a call. It is found so that it can be
hidden, reported, and asked for again, so the search is broad where a tool of the chat is named, and strict where none
is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from nbtool.wire.prompted.model_formats import OPENERS
from nbtool.wire.prompted.suspected_calls.labelled_lines import find_actions, find_labelled_names
from nbtool.wire.prompted.suspected_calls.literal_calls import find_json_objects, find_python_calls
from nbtool.wire.prompted.suspected_calls.marked_blocks import (
    find_control_tokens,
    find_delimited,
    find_results,
    find_tags,
)
from nbtool.wire.prompted.suspected_calls.searched_text import OtherForm, SearchedText

_FINDERS: tuple[Callable[[SearchedText], Iterator[OtherForm]], ...] = (
    find_results, find_delimited, find_tags, find_control_tokens, find_json_objects, find_python_calls, find_actions,
    find_labelled_names,
)  # fmt: skip


def find_other_forms(text: str, names: Collection[str] | None) -> list[OtherForm]:
    """Return what looks like a call, in order and without overlaps; with no tools at all, nothing does."""
    if (names is not None and not names) or not text.strip():
        return []
    searched = SearchedText(text, names)
    found = [form for find in _FINDERS for form in find(searched)]
    unread = min(searched.unread, default=len(text))
    if not _may_hold_call(searched, unread):
        unread = len(text)
    forms = [form for form in _without_overlaps(found) if form.start < unread]
    end = max(unread, forms[-1].end if forms else 0)
    return [*forms, OtherForm(end, len(text), reason="too_many")] if end < len(text) and unread < len(text) else forms


def _without_overlaps(found: list[OtherForm]) -> Iterator[OtherForm]:
    end = 0
    for form in sorted(found, key=lambda form: (form.start, -form.end)):
        if form.start >= end:
            end = form.end
            yield form


def _may_hold_call(searched: SearchedText, start: int) -> bool:
    return bool(searched.tools.mention(searched.text, start) or OPENERS.search(searched.text, start))
