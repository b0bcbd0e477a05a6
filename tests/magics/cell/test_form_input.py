from __future__ import annotations

from typing import Any

import pytest

from nbtool import Approved, Denied
from nbtool.magics.cell.form_input import fill_in_by_input
from nbtool.sign_in import SIGN_IN_KEY
from nbtool.tools.approval import Question

SCHEMA: dict[str, Any] = {
    "properties": {
        "name": {"type": "string", "description": "Who sits there."},
        "seats": {"type": "integer"},
        "window": {"type": "boolean"},
        "rows": {"type": "array", "items": {"enum": ["front", "back"]}},
    }
}
FORM = Question(
    "c", "run", "d", "input", "{}", notice="> Which seat?", schema=SCHEMA, arguments={"name": "", "seats": 1},
    qualified_name="lab asks", is_form=True,
)  # fmt: skip


@pytest.fixture
def prompts() -> list[str]:
    return []


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch, prompts: list[str]) -> list[str]:
    typed: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        if not typed:
            raise EOFError
        return typed.pop(0)

    monkeypatch.setattr("builtins.input", ask)
    return typed


def test_each_field_is_a_line_and_only_a_plain_yes_sends(
    lines: list[str], prompts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines += ["Ada", "", "yes", "front, back", "y"]

    assert fill_in_by_input(FORM) == Approved({"name": "Ada", "seats": 1, "window": True, "rows": ["front", "back"]})
    assert prompts[0] == "name (text) Who sits there.: "
    assert prompts[1] == "seats (integer) [1]: "
    assert "front | back" in prompts[3]
    assert capsys.readouterr().out == "> Which seat?\nlab asks you for an answer.\n"


def test_a_value_of_another_kind_is_left_to_the_check(lines: list[str]) -> None:
    lines += ["7", "many", "perhaps", "", "yes"]

    decision = fill_in_by_input(FORM)

    assert decision == Approved({"name": "7", "seats": "many", "window": "perhaps"})


@pytest.mark.parametrize("typed", [["Ada", "2", "", "", "no"], ["Ada", "2", "", "", ""], ["Ada"], []])
def test_anything_else_declines(lines: list[str], typed: list[str]) -> None:
    lines += typed

    assert isinstance(fill_in_by_input(FORM), Denied)


@pytest.mark.parametrize(("line", "is_agreed"), [("y", True), ("n", False), ("", False)])
def test_the_page_of_a_login_is_asked_about_with_its_whole_address(
    lines: list[str], prompts: list[str], capsys: pytest.CaptureFixture[str], line: str, *, is_agreed: bool
) -> None:
    page = f"https://login.example/authorize?{'x' * 500}"
    question = Question(
        "c", "run", "d", "sign_in", "{}", schema={"properties": {}, SIGN_IN_KEY: page},
        qualified_name="lab asks", is_form=True,
    )  # fmt: skip
    lines.append(line)

    assert isinstance(fill_in_by_input(question), Approved) is is_agreed
    assert prompts == ["Sign in there? [y = yes, or type anything else for no] "]
    assert capsys.readouterr().out == f"lab asks you to sign in. Open its page?\n{page}\n"
