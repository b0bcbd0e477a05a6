"""Texts on which regular expressions of the package once took quadratic time and more."""

from __future__ import annotations

import json

import pytest

from nbtool.wire.framing.provider_errors import error_from_response
from nbtool.wire.prompted import own_fence
from nbtool.wire.prompted.forms import labelled_lines, literal_calls, tags
from tests.cpu_time import run_within
from tests.fuzzing.patterns import BOUNDED, example_of, is_searched, use
from tests.fuzzing.test_growth import FOUND, Read

RUNS = (" ", "\t", "\n", "a", "0", "-")
RUN_LENGTH = 8_000
BEGINNINGS = 40
"""Beginnings of an example that are tried: of longer ones as many, spread over it."""

TEXTS: dict[str, tuple[Read, str]] = {
    "spaces behind an action": (lambda text: [*labelled_lines._ACTION.finditer(text)], "Action:" + " " * 30_000),
    "stars behind an action": (lambda text: [*labelled_lines._ACTION.finditer(text)], "Action:" + "*" * 30_000),
    "spaces before arguments": (labelled_lines._ARGUMENT_LABEL.match, " " * 30_000),
    "a refusal that repeats itself": (
        lambda text: error_from_response(400, {}, json.dumps({"error": {"message": text}}).encode()),
        "not supported in " * 3_500,
    ),
    "spaces behind a fence": (own_fence._INNER_FENCE.match, "```" + " " * 30_000),
    "spaces before a key": (lambda text: [*literal_calls._JSON.finditer(text)], "{" + " " * 3_000),
    "open tags of results": (lambda text: [*tags._RESULT.finditer(text)], "<tool_result" * 3_000),
    "a long tag": (lambda text: [*tags._WORD_TAG.finditer(text)], "<" + "tool" * 7_500),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_pattern_takes_linear_time(name: str) -> None:
    read, text = TEXTS[name]

    run_within(0.2, lambda: read(text))


@pytest.mark.parametrize("name", FOUND)
def test_a_long_run_of_a_character_behind_any_beginning_of_a_match_takes_linear_time(name: str) -> None:
    pattern, search, most = FOUND[name], is_searched(name), BOUNDED.get(name)
    example = example_of(pattern)
    step = max(1, len(example) // BEGINNINGS)
    for end in range(0, len(example) + 1, step):
        for run in RUNS:
            text = f"{example[:end]}{run * RUN_LENGTH}\0"[:most]
            run_within(0.05, lambda text=text: use(pattern, text, search=search))  # type: ignore[misc]  # bound now
