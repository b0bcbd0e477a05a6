"""What the commands about turns print: approvals, approve, deny, stop, bind, branch, undo."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool import Chat
from nbtool.errors import BadUsage
from nbtool.events import TextDelta
from nbtool.magics.views.pageless_views import NullView
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Approved
from tests.magics.parking import SECONDS, ParkingChat, payment_replies, wait_end
from tests.words.conftest import Page

PAY = """
from nbtool import tool

@tool
def pay(amount: int) -> int:
    "Pay an amount."
    return amount

@tool(run="auto", result="always")
def secret() -> str:
    "Tell."
    return "a secret"

@tool(run="auto")
def find() -> object:
    "Find things."
    return object()
"""
CHANGE = """
df, log = [1, 2], []

@tool(run="auto")
def change() -> str:
    "Change the notebook."
    global df, new
    df, new = [3], "made"
    log.append(1)
    return "done"
"""


def park(page: Page, *replies: Any, chat: str = "main", is_shown: bool = True) -> tuple[ParkingChat, Any]:
    """Park a turn in a chat of this kernel; its cell prints the question, if it is shown."""
    page.run_unseen(PAY)
    parking = ParkingChat(*replies)
    parking.chat.tools.add(page.shell.user_ns["secret"])
    page.shell.magics_manager.registry["ChatMagics"].chats[chat] = parking.chat
    turn = parking.park()
    if is_shown:
        NullView(parking.chat.approvals.mark_shown).on_parked(turn)
    return parking, turn


def masked(page: Page, *ids: str) -> dict[str, str]:
    """Return the texts with the ids of questions replaced."""
    texts = page.texts
    for one in ids:
        texts = {title.replace(one[:12], "ID"): text.replace(one[:12], "ID") for title, text in texts.items()}
    return texts


def test_nothing_waits(page: Page, snapshot: SnapshotAssertion) -> None:
    for line in ("approvals", "approve", "deny", "stop", "approvals revoke pay"):
        page.run(f"%chat {line}")

    assert page.texts == snapshot


def test_one_call_waits(page: Page, snapshot: SnapshotAssertion) -> None:
    parking, turn = park(page)
    asked = parking.waiting
    for line in ("approvals", "approve ffff0000ffff", "approve --wait", "approvals", "history", "stop"):
        page.run(f"%chat {line}")

    assert wait_end(turn).status == "completed"
    assert masked(page, asked) == snapshot


def test_a_call_that_was_not_shown(page: Page, snapshot: SnapshotAssertion) -> None:
    parking, turn = park(page, is_shown=False)
    asked = parking.waiting
    page.run("%chat approve")
    page.run("%%chat -q\nAnd now?")
    page.run("%%chat --new -q\nHello")
    page.run(f"%chat deny {asked[:12]} too much")
    wait_end(turn)
    page.run("%chat history")

    assert masked(page, asked) == snapshot


def test_several_calls_wait(page: Page, snapshot: SnapshotAssertion) -> None:
    parking, turn = park(page, *payment_replies(1, 2))
    both = threading.Event()
    turn.add_listener(lambda event: both.set() if event.kind == "call_asked" else None)
    assert len(parking.chat.approvals.pending()) == 2 or both.wait(SECONDS)
    lines = sorted(page.run("%chat approvals").splitlines(), key=lambda line: line.split("waiting")[1])
    ids = [line.split()[0] for line in lines]
    page.run("%chat approve")
    page.run(f"%chat approve {ids[0]}")
    page.run("%chat stop")
    wait_end(turn)

    in_order = {title: "\n".join(sorted(text.splitlines())) for title, text in masked(page, *ids).items()}
    assert in_order == snapshot


def test_a_call_of_another_chat_waits(page: Page, snapshot: SnapshotAssertion) -> None:
    parking, turn = park(page, chat="side")
    asked = parking.waiting
    page.run("%chat approvals")
    page.run("%chat -c main approve")
    page.run("%chat -c side approve")
    wait_end(turn)

    assert masked(page, asked) == snapshot


def test_a_result_waits(page: Page, snapshot: SnapshotAssertion) -> None:
    parking, turn = park(page, call("secret"), "Done.", is_shown=False)
    asked = parking.waiting
    page.run("%chat approvals")
    page.run("%chat deny keep it")
    wait_end(turn)

    assert masked(page, asked) == snapshot


def test_remembered_approvals(page: Page, snapshot: SnapshotAssertion) -> None:
    parking, turn = park(page, *payment_replies(3), *payment_replies(4), "Done.")
    parking.chat.approvals.decide(parking.waiting, Approved(remember="call"))
    wait_end(turn)
    page.run("%chat approvals", "%chat approvals, of a call")
    turn = parking.park()
    parking.chat.approvals.decide(parking.waiting, Approved(remember="tool"))
    wait_end(turn)
    page.run("%chat approvals", "%chat approvals, of a tool too")
    page.run("%chat approvals revoke payment")
    page.run("%chat approvals revoke approval_")
    page.run("%chat approvals revoke pay")

    assert page.texts == snapshot


def test_bind(page: Page, snapshot: SnapshotAssertion) -> None:
    page.run_unseen(PAY)
    page.run_unseen("%%chat -q -t find\nUse &`find`.")
    page.run("%chat bind find_1_result things")
    page.run("%chat bind find_1_result things")
    page.run("%chat -c side bind find_1_result")
    page.run("%chat bind nothing_1_result")
    page.run("%%chat -q -v find_1_result\nLook.")
    page.run("%%chat -q -v !find_1_result\nLook.")
    page.run("%chat tools")
    page.run_unseen("find_1_result = 'another'")
    page.run("%%chat -q\nLook at $`find_1_result`.")
    page.run("%%chat -q\nLook at $`find_9_result`.")

    assert page.texts == snapshot


def test_branches(page: Page, snapshot: SnapshotAssertion) -> None:
    for name in ("one", "two", "three"):
        page.run_unseen(f"%%chat -q\nSay {name}")
    for line in (
        "branch 1",
        "switch 1",
        "hide 1",
        "pin 2",
        "history",
        "unhide 1",
        "unpin 2",
        "delete 2 --below",
        "undo",
    ):
        page.run(f"%chat {line}")
    page.run_unseen("%%chat -q --rerun 2\n")
    page.run_unseen("%%chat -q --edit 2\nSay four")
    for line in ("history", "switch 2.1", "show 4", "hide 2.7", "show 2.0", "switch 7", "delete 2.1", "new", "history"):
        page.run(f"%chat {line}")

    assert page.texts == snapshot


def test_undo(page: Page, snapshot: SnapshotAssertion) -> None:
    page.run_unseen(PAY)
    page.run_unseen(CHANGE)
    page.shell.user_ns["mine"] = Chat(wire=ScriptedWire([call("change"), "Done."]))
    page.run("%%chat -c mine -t change -o answer\nChange it.")
    page.run_unseen("df = 'mine'")
    turn = page.shell.user_ns["answer"].turn_id
    page.run(f"%chat -c mine undo {turn}", "%chat -c mine undo TURN, after a change by the person")
    page.run(f"%chat -c mine undo {turn} --replace", "%chat -c mine undo TURN --replace")
    page.shell.run_cell("import nbtool\nnbtool.chats()['mine'].delete('1')")
    page.run("%chat -c mine undo")
    page.run(f"%chat -c mine undo {turn}", "%chat -c mine undo TURN, a third time")

    assert page.texts == snapshot


def test_what_is_added_to_a_running_turn(snapshot: SnapshotAssertion) -> None:
    texts: dict[str, str] = {}
    chat = Chat(wire=ScriptedWire(["All ten.", "The first three."]))
    turn = chat.compose("List them.")
    added = ["Only the first three."]
    turn.add_listener(lambda event: turn.steer(added.pop()) if isinstance(event, TextDelta) and added else None)
    turn.start().done.result(30)
    texts["A turn to which a text was added"] = turn._repr_mimebundle_()["text/plain"]
    texts["What later turns are sent of it"] = turn.natural_flow
    stopped = Chat(wire=ScriptedWire(["All ten."]), max_rounds=1).compose("List them.")
    late = ["Only the first three."]
    stopped.add_listener(lambda event: stopped.steer(late.pop()) if isinstance(event, TextDelta) and late else None)
    stopped.start().done.result(30)
    texts["One that ended before its next request"] = "\n".join(notice.text for notice in stopped.notices)
    waiting = chat.compose("Another one.")
    for number in range(20):
        waiting.steer(str(number))
    for title, other, text in (
        ("Nothing", waiting, " "),
        ("Too much", waiting, "x" * 20_001),
        ("One more than may wait", waiting, "x"),
        ("After the end", turn, "x"),
        ("Where a model draws", Chat("openai:gpt-image-1", api_key="k").compose("A cat"), "x"),
    ):
        with pytest.raises(BadUsage) as raised:
            other.steer(text)
        texts[title] = str(raised.value)
    assert texts == snapshot


def test_a_chat_of_its_own(page: Page, snapshot: SnapshotAssertion) -> None:
    for name in ("one", "two", "three"):
        page.run_unseen(f"%%chat -q\nSay {name}")
    for line in (
        "branch 2 --preview",
        "branch 2 --below --preview",
        "branch 2 --as other",
        "branch 2 --as other",
        "branch 2 --as",
        "branch 2 --as rest --cut",
        "branch 2 --as rest --below --cut",
        "history",
        "undo",
        "-c rest history",
    ):
        page.run(f"%chat {line}")
    page.run("%%chat -q --edit 1:reply\nOne, edited.")
    page.run("%%chat -q --edit 1:reply\n")
    page.run("%%chat -q --edit 1:answer\nx")
    page.run("%chat show 1 --whole")

    assert page.texts == snapshot
