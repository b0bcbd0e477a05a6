"""Text that only shows a form of a call: in code, in quotes, or with no tools to call."""

from __future__ import annotations

import pytest

from nbtool.wire.prompted.forms.table import find_other_forms

TOOLS = {"price"}


@pytest.mark.parametrize(
    "text",
    [
        "Then write `Action: price` and its input.",
        "Write `<price/>` for it.",
        "",
    ],
)
def test_a_form_in_code_is_no_call(text: str) -> None:
    assert find_other_forms(text, TOOLS) == []


def test_without_tools_nothing_is_a_call() -> None:
    assert find_other_forms("<tool_call>price</tool_call>", set()) == []


def test_a_tag_whose_closing_mark_is_missing_is_found_up_to_the_last_letter() -> None:
    (found,) = find_other_forms("<api_request>price", TOOLS)

    assert (found.start, found.end, found.name) == (0, len("<api_request>price"), "price")


def test_a_fence_that_holds_one_call_is_a_call() -> None:
    (found,) = find_other_forms("```python\nprice(ticker='A')\n```", TOOLS)

    assert found.name == "price"


@pytest.mark.parametrize(
    "text",
    [
        "```python\nAction: price\nAction Input: A\n```",
        "```python\nprint('<tool_result>3</tool_result>')\n```",
        "The tag `<tool_result>` contains a result.",
    ],
)
def test_a_form_in_code_is_neither_an_action_nor_a_result(text: str) -> None:
    assert find_other_forms(text, TOOLS) == []


def test_a_name_before_a_parenthesis_that_never_closes_is_prose() -> None:
    assert find_other_forms("tool: price (ticker='A' is the one that I mean", TOOLS) == []
    assert [one.name for one in find_other_forms("tool: price (ticker='A')", TOOLS)] == ["price"]
