"""What a person is shown of the changes between the call that was approved and the one that would run."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from nbtool.events import Difference
from nbtool.tools import tool
from nbtool.tools.calls.bound_call import BoundCall, bind
from nbtool.tools.calls.call_changes import _content, find_differences
from nbtool.tools.tool import as_tools
from nbtool.tools.variables.store import Variables


def weigh(items: Any, unit: Any = "g") -> str:
    return f"{items} {unit}"


def bound(variables: Variables, **arguments: Any) -> BoundCall:
    return bind(as_tools(tool(weigh, name="weigh"))[0], arguments, variables).with_contents(variables)


def test_an_argument_of_one_of_the_calls_only_differs_from_none() -> None:
    without, with_unit = (bound(Variables({}), items=1, **more) for more in ({}, {"unit": "kg"}))

    assert [(one.what, one.before, one.after) for one in find_differences(without, with_unit)] == [
        ("the argument 'unit'", "", '"kg"')
    ]
    assert [(one.before, one.after) for one in find_differences(with_unit, without)] == [('"kg"', "")]


def test_a_changed_content_is_shown_beside_a_reference_that_was_added() -> None:
    cart = ["tea"]
    variables = Variables({"cart": cart, "unit": "kg"})
    for name in ("cart", "unit"):
        variables.expose(name, readable=True)
    before = bound(variables, items="$VAR_REF{{cart}}")
    cart.append("gold")
    after = bound(variables, items="$VAR_REF{{cart}}", unit="$VAR_REF{{unit}}")

    assert ("cart", "", "gold") in [
        (one.what.split()[-1], one.before, one.after) for one in find_differences(before, after)
    ]


def test_of_an_effect_the_lines_that_differ_are_shown() -> None:
    before, after = (
        replace(bound(Variables({}), items=1), effect=effect) for effect in ("a\nx = 1\nb", "a\nx = 1\ntyped\nb")
    )

    assert find_differences(before, after) == (Difference("what will change", "", "typed"),)
    assert find_differences(before, replace(before, effect="other")) == (
        Difference("what will change", "a\nx = 1\nb", "other"),
    )


def test_an_object_without_content_lines_has_no_content() -> None:
    call = SimpleNamespace(contents={("text",): ("lines",)})

    assert [_content(call, ("text",), index) for index in (0, 1)] == ["lines", None]  # type: ignore[arg-type]  # only `contents` is read
    assert _content(call, ("other",), 0) is None  # type: ignore[arg-type]  # the same
