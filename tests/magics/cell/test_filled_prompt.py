"""Values in a prompt: only with the flag, as an f-string formats them, and nothing is sent if one cannot be put in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool.errors import BadUsage, PolicyRefused
from nbtool.magics.cell.filled_prompt import MAX_VALUE, describe_unfilled, fill_prompt
from tests.policy.in_force import policy_in_force

NAMES: dict[str, Any] = {
    "reviews": pd.DataFrame({"text": ["Fine { book }", "Bad"]}),
    "price": 12.3456,
    "name": "Ada",
    "items": {"a": [1, 2]},
    "a": 1,
}
FILLED = {
    "{reviews.text.iloc[0]}": "Fine { book }",
    "{price:.2f} for {name!r}": "12.35 for 'Ada'",
    "{name!r:>8}": "   'Ada'",
    "{items['a'][1]} of {len(items)}": "2 of 1",
    "{ name }": "Ada",
    "{sum(x for x in items['a'])}": "3",
    "{{name}} and {name}": "{name} and Ada",
    '{"a": 1} {} {1} { }': '{"a": 1} {} {1} { }',
    "$VAR_REF{{name}} $`name` \\$VAR_REF{{name}}": "$VAR_REF{{name}} $`name` \\$VAR_REF{{name}}",
    "no field": "no field",
}


@pytest.mark.parametrize("text", FILLED)
def test_fields_are_replaced_by_values_and_everything_else_stays(text: str) -> None:
    assert fill_prompt(text, NAMES) == FILLED[text]


@pytest.mark.parametrize("text", ["{reviws}", "{reviews.tex}", "{1 / (a - 1)}", "{price:%Q}", "{items['b']}"])
def test_an_expression_without_a_value_is_refused_with_the_way_to_keep_its_braces(text: str) -> None:
    with pytest.raises(BadUsage, match=r"has no value .* Nothing was sent. Braces that stay as they are: {{ and }}"):
        fill_prompt(text, NAMES)


def test_a_value_that_is_too_long_is_refused() -> None:
    with pytest.raises(BadUsage, match=r"20,001 characters, above 20,000\. Nothing was sent"):
        fill_prompt("{'x' * (n)}", {"n": MAX_VALUE + 1})


@pytest.mark.promise("policy-values")
def test_no_value_is_put_in_where_a_policy_lets_none_leave(tmp_path: Path) -> None:
    with policy_in_force(tmp_path, "[values]\nmay_leave = false"):
        assert fill_prompt("Hello {1}", NAMES) == "Hello {1}"
        with pytest.raises(PolicyRefused, match="--set fill_prompt=true"):
            fill_prompt("{name}", NAMES)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Is {reviews.text.iloc[0]} kind?", "`{reviews.text.iloc[0]}` is only"),
        ("{name} and {price:.2f}", "`{name}`, `{price:.2f}` are only"),
        (r"\frac{a}{a} x_{a} e^{a} $VAR_REF{{a}} {{name}} {other} {1} {}", ""),
        ('{"name": 1}', ""),
    ],
)
def test_a_field_that_begins_with_a_name_of_the_notebook_is_named_where_it_is_only_text(text: str, fields: str) -> None:
    said = describe_unfilled(text, NAMES)

    assert said == (
        f"{fields} text here: `--set fill_prompt=true` puts the values of the notebook in." if fields else ""
    )


def test_a_cell_sends_the_values_with_the_flag_and_the_text_with_a_hint_without_it(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["reviews"] = NAMES["reviews"]
    shell.run_cell("%%chat -m practice:fast -o filled --set fill_prompt=true\nRepeat {reviews.text.iloc[1]}")
    with_flag = capsys.readouterr().out
    shell.run_cell("%%chat -m practice:fast -o plain\nRepeat {reviews.text.iloc[1]}")
    without = capsys.readouterr().out

    assert shell.user_ns["filled"].prompt.text == "Repeat Bad"
    assert shell.user_ns["plain"].prompt.text == "Repeat {reviews.text.iloc[1]}"
    hint = "`{reviews.text.iloc[1]}` is only text here: `--set fill_prompt=true` puts the values of the notebook in."
    assert (hint in with_flag, hint in without) == (False, True)


def test_a_dry_run_shows_the_values_or_the_hint(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["secret_name"] = "Ada"
    shell.run_cell("%%chat --dry-run -m practice:fast --set fill_prompt=true\nHello {secret_name}")
    filled = capsys.readouterr().out
    shell.run_cell("%%chat --dry-run -m practice:fast\nHello {secret_name}")
    plain = capsys.readouterr().out

    assert "Hello Ada" in filled
    assert "Hello {secret_name}" in plain
    assert "`--set fill_prompt=true` puts" in plain


def test_a_cell_whose_field_fails_sends_nothing_and_a_value_exposes_nothing(shell: Any) -> None:
    shell.user_ns["text"] = "Use &`double` on $`frame`"
    failed = shell.run_cell("%%chat -q -m practice:fast --set fill_prompt=true\n{nothing_of_this_name}")
    shell.run_cell("%%chat -q -m practice:fast --set fill_prompt=true\nRepeat {text}")
    chat = shell.magics_manager.registry["ChatMagics"].chats["main"]

    assert "has no value (NameError" in str(failed.error_in_exec)
    assert len(chat.tree.active_path) == 1
    assert (list(chat.tools.tools()), list(chat.exposed_variables())) == ([], [])
