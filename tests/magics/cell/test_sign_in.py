from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbtool.magics.cell.sign_in import ask_in_cell
from nbtool.sign_in import LoginRequest, get_login_asker, sign_in_page

REQUEST = LoginRequest("lab", "login.example", "https://login.example/authorize")


@pytest.mark.parametrize(("line", "is_agreed"), [("y", True), ("", False)])
def test_without_a_page_a_line_of_input_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, *, is_agreed: bool
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: line)

    assert ask_in_cell(SimpleNamespace(kernel=None), "chat", REQUEST) is is_agreed
    assert (REQUEST.url in capsys.readouterr().out) is is_agreed


def test_the_extension_registers_what_asks_and_removes_it(shell: Any) -> None:
    assert get_login_asker() is not None
    shell.extension_manager.unload_extension("nbtool")
    assert get_login_asker() is None


@pytest.mark.parametrize("schema", [{"nbtool-sign-in": 7}, {}])
def test_only_a_form_of_nbtool_itself_is_about_a_page(schema: dict[str, Any]) -> None:
    assert sign_in_page(schema, is_form=True) == ""
    assert sign_in_page({"nbtool-sign-in": REQUEST.url}, is_form=False) == ""
