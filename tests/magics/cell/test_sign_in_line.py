from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.chat import TurnSettings, wait_for_turn
from nbtool.chat.model import Model
from nbtool.magics.cell.approver import CellApprover
from nbtool.magics.cell.sign_in_line import address_parts, ask_in_cell, login_line
from nbtool.mcp_server.endpoint import ClientEndpoint
from nbtool.sign_in import LoginRequest, get_login_asker, sign_in_page
from nbtool.tools.approval import BY_INPUT
from nbtool.tools.mcp.questions.sign_in_question import SIGN_IN_TOOL, sign_in_form

REQUEST = LoginRequest("lab", "login.example", "https://login.example/authorize")


@pytest.mark.parametrize(("line", "is_agreed"), [("y", True), ("", False)])
def test_without_a_page_a_line_of_input_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, *, is_agreed: bool
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: line)

    assert ask_in_cell(SimpleNamespace(kernel=None), REQUEST) is is_agreed
    assert (REQUEST.url in capsys.readouterr().out) is is_agreed


@pytest.mark.promise("logins")
@pytest.mark.parametrize(("line", "status"), [("y", "ok"), ("why?", "denied")])
def test_a_typed_yes_agrees_during_a_turn_and_is_the_decision_of_a_person(
    monkeypatch: pytest.MonkeyPatch, line: str, status: str
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: line)
    chat = Chat(tools=[sign_in_form(REQUEST)[0]])
    chat.model = Model("lab", wire=ClientEndpoint("lab", SIGN_IN_TOOL, {}))
    turn = chat.compose("Sign in.", settings=TurnSettings(replay="off"))
    turn.approver = CellApprover(turn, chat.approvals, can_input=True)
    wait_for_turn(turn)

    assert [call.status for call in turn.calls] == [status]
    assert [decision.by for decision in turn.calls[0].decisions] == [BY_INPUT]


def test_the_extension_registers_what_asks_and_removes_it(shell: Any) -> None:
    assert get_login_asker() is not None
    shell.extension_manager.unload_extension("nbtool")
    assert get_login_asker() is None


@pytest.mark.parametrize("schema", [{"nbtool-sign-in": 7}, {}])
def test_only_a_form_of_nbtool_itself_is_about_a_page(schema: dict[str, Any]) -> None:
    assert sign_in_page(schema, is_form=True) == ""
    assert sign_in_page({"nbtool-sign-in": REQUEST.url}, is_form=False) == ""


@pytest.mark.promise("logins")
@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://login.example/a?b=c#d", ("https://", "login.example", "/a?b=c#d")),
        ("https://login.example:8443", ("https://", "login.example:8443", "")),
        ("http://127.0.0.1:9/a", ("http://", "127.0.0.1:9", "/a")),
        ("http://login.example/a", None),
        ("javascript:alert(1)", None),
        ("https://login.example@evil.example/a", None),
        ("https://login.example\\@evil.example/", None),
        ("https://login.example/\u202e", None),
        ("https://login.example/ b", None),
        ("HTTPS://login.example/", None),
        ("https:///a", None),
        ("https://[::1", None),
    ],
)
def test_only_a_plain_https_address_or_one_of_this_machine_becomes_a_link(
    url: str, parts: tuple[str, str, str] | None
) -> None:
    assert address_parts(url) == parts


@pytest.mark.promise("logins")
def test_the_line_of_a_hostile_server_has_no_element_and_no_hidden_character_of_its_own() -> None:
    request = LoginRequest("<b>lab\u202e", "login.example", 'https://login.example/"><img src=x onerror=y>', "<i>other")

    html = (
        login_line(request, ("https://", "login.example", '/"><img>'))["text/html"]
        + login_line(request, None)["text/html"]
    )

    assert set(re.findall(r"<(\w+)", html)) == {"p", "a", "strong", "code"}
    assert "\u202e" not in html
    assert '"><' not in html
