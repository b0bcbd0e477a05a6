"""Calls without marks of their own: what may stand at the end of the text, and how its lines may end."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.wire import parse_calls
from nbtool.wire.prompted.call_json import _parse_call
from nbtool.wire.prompted.model_formats import MAX_END_CHARS


def read(text: str) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in parse_calls(text).calls]


@pytest.mark.parametrize("ending", ["<|im_end|>", "</s>", " <|eot_id|>\n", "<|endoftext|></s>"])
@pytest.mark.parametrize(
    "written",
    [
        'look\n{"a": 1}',
        'I have to look.\n\nAction: look\nAction Input: {"a": 1}',
        "[look(a=1)]",
        'I have to look.\n{"name": "look", "arguments": {"a": 1}}',
    ],
)
def test_a_token_that_ends_a_reply_hides_no_call(written: str, ending: str) -> None:
    assert read(written + ending) == [("look", {"a": 1})]
    assert parse_calls(written + ending).text.endswith(ending)


def test_a_token_that_ends_a_reply_is_looked_for_at_its_end_only() -> None:
    assert read('look\n{"a": 1}' + "</s>" * MAX_END_CHARS) == []


@pytest.mark.parametrize(
    "written", ['look\r\n{"a": 1}', 'Action: look \r\nAction Input: {"a": 1}\r\n\r\nObservation: 2']
)
def test_lines_that_end_as_on_windows_are_lines(written: str) -> None:
    assert read(written) == [("look", {"a": 1})]


def test_an_object_with_other_names_than_those_of_a_call_is_none() -> None:
    call = {"name": "look", "arguments": {"n": 1}}

    assert _parse_call(call, False, ()) is not None
    assert _parse_call({**call, "color": "red"}, False, ()) is None
    assert _parse_call({"name": "look"}, False, ()) is None
