"""Turns of a model that gets its tools through the prompt and does not write calls as it was asked to."""

from __future__ import annotations

import pytest

from nbtool import Chat, tool
from nbtool.chat.turn import Turn
from nbtool.events import Notice
from tests.chaos import ChaosServer, finish, head, serve_each, text
from tests.wire.prompted.model_texts import HIDDEN, RUN, WORD

CALL = '{"name": "price", "arguments": {"ticker": "A"}}'


def send(*replies: str, max_rounds: int = 10) -> tuple[Turn, ChaosServer, list[str]]:
    """Send a prompt to a server with these replies; return the turn, the server, and what the tool was called with."""
    ran: list[str] = []

    @tool(run="auto")
    def price(ticker: str = "") -> str:
        """Return the price."""
        ran.append(ticker)
        return "12"

    with serve_each(*[[head(), text(reply), finish()] for reply in replies]) as server:
        chat = Chat("m", base_url=server.url, tools=[price], tool_mode="prompted", max_rounds=max_rounds)
        vars(chat.model)["fence"] = WORD.removeprefix("call-")
        turn = chat.send("Hi")
    return turn, server, ran


def notices(turn: Turn) -> list[str]:
    return [event.topic for event in turn.log if isinstance(event, Notice) and event.topic]


@pytest.mark.parametrize("how", ["four backticks", "windows lines", "tag", "in a fence of json"])
def test_the_own_block_runs_however_it_is_rendered(how: str) -> None:
    turn, server, ran = send(RUN[how], "It is 12.")

    assert (turn.status, turn.text, ran, len(server.requests)) == ("completed", "It is 12.", ["A"], 2)
    assert notices(turn) == []


@pytest.mark.parametrize("how", [how for how in HIDDEN if "own block" not in how and "price" in HIDDEN[how]])
def test_another_form_is_hidden_reported_and_asked_for_once_more(how: str) -> None:
    turn, server, ran = send(HIDDEN[how], f"```{WORD}\n{CALL}\n```", "It is 12.")
    actual = server.requests[1].body.decode()

    assert (turn.status, turn.text, ran, len(server.requests)) == ("completed", "It is 12.", ["A"], 3)
    assert notices(turn) == ["malformed_call"]
    assert turn.calls[0].status == "invalid"
    assert "did not run" in actual or "nothing ran" in actual
    assert not any("ticker" in reply.text for reply in turn.rounds)


def test_what_is_malformed_twice_is_not_asked_for_again() -> None:
    turn, server, ran = send(f"<tool_call>{CALL}</tool_call>", f"<tool_call>{CALL}</tool_call>", "I cannot say.")

    assert (turn.text, ran, len(server.requests)) == ("I cannot say.", [], 3)
    assert "do not call" not in turn.text
    assert notices(turn) == ["malformed_call"] * 2
    assert "tool_call>" not in "".join(reply.text for reply in turn.rounds)


def test_an_unknown_tool_and_an_unreadable_block_are_answered() -> None:
    unknown = f'```{WORD}\n{{"name": "prize", "arguments": {{}}}}\n```'
    turn, server, ran = send(unknown, HIDDEN["own block, unreadable"], "Sorry.")

    assert (turn.text, ran) == ("Sorry.", [])
    assert [call.status for call in turn.calls] == ["not_found", "invalid"]
    assert "price" in server.requests[1].json["messages"][-1]["content"]
    assert "cannot be read" in server.requests[2].json["messages"][-1]["content"]


def test_a_good_call_beside_a_malformed_one_runs() -> None:
    turn, _, ran = send(f"<tool_call>{CALL}</tool_call>\n```{WORD}\n{CALL}\n```", "It is 12.")

    assert (turn.text, ran) == ("It is 12.", ["A"])
    assert [call.status for call in turn.calls] == ["invalid", "ok"]


@pytest.mark.parametrize("last", [f"```{WORD}\n{CALL}\n```", f"So:\n<tool_call>{CALL}</tool_call>", CALL])
def test_the_final_reply_shows_no_call(last: str) -> None:
    turn, server, ran = send(f"```{WORD}\n{CALL}\n```", last, max_rounds=2)

    assert (len(server.requests), ran) == (2, ["A"])
    assert "ticker" not in turn.text
    assert "ticker" not in "".join(event.text for event in turn.log if event.kind == "text_delta")
    assert any(isinstance(event, Notice) and "final reply contained a tool call" in event.text for event in turn.log)


def test_a_chat_without_tools_hides_nothing() -> None:
    with serve_each([head(), text(f"<tool_call>{CALL}</tool_call>"), finish()]) as server:
        turn = Chat("m", base_url=server.url, tool_mode="prompted").send("Show me a call of Hermes.")

    assert (turn.text, len(server.requests)) == (f"<tool_call>{CALL}</tool_call>", 1)


def test_a_family_format_is_described_and_read() -> None:
    ran: list[int] = []

    @tool(run="auto")
    def price(ticker: str) -> str:
        """Return the price."""
        ran.append(len(ticker))
        return "12"

    replies = (f"<tool_call>{CALL}", f"<tool_call>\n{CALL}\n</tool_call>", "It is 12.")
    with serve_each(*[[head(), text(reply), finish()] for reply in replies]) as server:
        chat = Chat("m", base_url=server.url, tools=[price], tool_mode="prompted", tool_format="hermes")
        turn = chat.send("Hi")

    assert "<tool_call>" in server.requests[0].json["messages"][0]["content"]
    assert [call.status for call in turn.calls] == ["invalid", "ok"]  # without its end mark a call was cut off
    assert (turn.text, ran) == ("It is 12.", [1])
