"""Annotations whose name belongs to a variable of the notebook."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import tool
from nbtool.errors import BadUsage
from nbtool.tools.tool import as_tools


def define(source: str) -> Any:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec", dont_inherit=True), names)
    return names["price"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("str", "'abc'"), ("str", "None"), ("str", "'two words'"), ("list", "[1, 2]"), ("int", "5"), ("float", "1.5"),
        ("dict", "{}"), ("set", "{1}"), ("bool", "lambda x: x"), ("bytes", "b'x'"), ("tuple", "(1, 2)"), ("str", "len"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_a_hidden_type_is_named_with_the_way_out(name: str, value: str, future: str) -> None:
    function = define(f"{future}{name} = {value}\ndef price(ticker: {name}) -> float:\n    return 1.5")

    with pytest.raises(BadUsage, match=rf"`{name}` is a variable of this notebook .*`del {name}`"):
        as_tools(tool(function))


def test_a_hidden_type_inside_another_is_named() -> None:
    function = define("str = 'abc'\ndef price(tickers: 'list[str]') -> float:\n    return 1.5")

    with pytest.raises(BadUsage, match="`del str`"):
        as_tools(tool(function))


@pytest.mark.parametrize(
    "source",
    [
        "class Frame: ...\ntype = 'Frame'\ndef price(frame: 'Frame') -> float:\n    return 1.5",
        "str = 'abc'\ndef price(n: int) -> float:\n    return 1.5",
        "id = 5\nmap = None\ndef price(n: int, text: str = '') -> float:\n    return 1.5",
        "from typing import Any\nobject = Any\ndef price(n: object) -> float:\n    return 1.5",
        "class str(str): ...\ndef price(n: str) -> float:\n    return 1.5",
    ],
)
def test_variables_that_hide_nothing_of_a_signature_do_not_matter(source: str) -> None:
    assert [one.name for one in as_tools(tool(define(source)))] == ["price"]


def test_other_problems_keep_their_own_words() -> None:
    with pytest.raises(BadUsage, match="name 'Missing' is not defined"):
        as_tools(tool(define("str = 'abc'\ndef price(n: 'Missing') -> float:\n    return 1.5")))
