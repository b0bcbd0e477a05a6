"""What a view says of a parked turn where there is no page."""

from __future__ import annotations

import pytest

from nbtool import Chat
from nbtool.chat.chat import wait_for_turn
from nbtool.magics.views.pageless_views import NullView, StaticView, TerminalView
from nbtool.tools.approval import Approved
from tests.chaos import serve, whole
from tests.magics.parking import ParkingChat, wait_end


def test_that_a_turn_waits_is_announced_even_where_nothing_else_is(capsys: pytest.CaptureFixture[str]) -> None:
    parking = ParkingChat()
    turn = parking.park()

    NullView().on_parked(turn)

    said = capsys.readouterr().out
    assert f"%chat approve {parking.waiting[:12]}`" in said
    assert f"%chat deny {parking.waiting[:12]} REASON" in said
    turn.abort()


def test_what_comes_after_the_cell_is_not_announced_at_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    parking = ParkingChat()
    turn = parking.chat.compose("Pay.")
    view = TerminalView(turn, parking.chat)
    turn.add_listener(view.feed)
    parking.wait(turn)
    view.on_parked(turn)
    before = capsys.readouterr().out

    parking.chat.approvals.decide(parking.waiting, Approved())
    wait_end(turn)
    view.show_media(())

    assert "pay wants to run" in before
    assert capsys.readouterr().out == ""


def test_the_footer_names_a_host_that_is_not_the_providers_own(capsys: pytest.CaptureFixture[str]) -> None:
    reply = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    with serve(whole(200, reply)) as server:
        chat = Chat("openai:m", base_url=server.url, api_key="k", wire="chat")
        turn = chat.send("Hello")
        streamed = chat.compose("Hello")
        streamed.add_listener(TerminalView(streamed, chat).feed)
        wait_for_turn(streamed)
    host = server.url.split("/")[2]
    at_terminal = capsys.readouterr().out

    StaticView(chat).on_finished(turn)

    assert f"openai:m at {host} · " in at_terminal

    assert chat.model.foreign_host == host
    assert f"openai:m at {host} · " in capsys.readouterr().out


@pytest.mark.parametrize("model", ["openai:gpt-5", "practice:fast", "ollama:tiny", "azure:gpt-5", "nobody:x"])
def test_a_host_that_is_the_providers_own_is_not_named(model: str) -> None:
    assert Chat(model).model.foreign_host == ""


def test_a_gateway_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")

    assert Chat("openai:gpt-5").model.foreign_host == "gateway.example"
