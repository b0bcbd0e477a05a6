"""Texts on which regular expressions of the package once took quadratic time and more."""

from __future__ import annotations

import json

import pytest

from nbtool.wire.framing.provider_errors import error_from_response
from nbtool.wire.prompted.suspected_calls import labelled_lines, marked_blocks
from tests.cpu_time import run_within
from tests.fuzzing.test_growth import Read

TEXTS: dict[str, tuple[Read, str]] = {
    "spaces behind an action": (lambda text: [*labelled_lines._ACTION.finditer(text)], "Action:" + " " * 30_000),
    "stars behind an action": (lambda text: [*labelled_lines._ACTION.finditer(text)], "Action:" + "*" * 30_000),
    "spaces before arguments": (labelled_lines._ARGUMENT_LABEL.match, " " * 30_000),
    "a refusal that repeats itself": (
        lambda text: error_from_response(400, {}, json.dumps({"error": {"message": text}}).encode()),
        "not supported in " * 3_500,
    ),
    "a long tag": (lambda text: [*marked_blocks._WORD_TAG.finditer(text)], "<" + "tool" * 7_500),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_pattern_takes_linear_time(name: str) -> None:
    read, text = TEXTS[name]

    run_within(0.2, lambda: read(text))
