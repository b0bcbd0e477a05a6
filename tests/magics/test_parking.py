"""Turns that outlive their cell: what goes on, where, and how long a question stays open."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest

from nbtool import Chat, tool
from nbtool.chain.hooks import TurnContext
from nbtool.chat.chat import wait_for_turn
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal
from nbtool.chat.subchat import subchat
from nbtool.errors import AlreadyDecided, BadUsage
from nbtool.events import TurnParked
from nbtool.magics.cell.approver import PARKED_SECONDS, CellApprover
from nbtool.magics.flags.config import NbTool
from nbtool.magics.flags.flag_parser import parse
from nbtool.magics.flags.flag_table import cell_parser
from nbtool.testing import ScriptedWire, call
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import background_loop
from nbtool.tools.approval import Approved, Denied, Question, Undecided
from nbtool.turn_place import TurnPlace
from tests.magics.parking import SECONDS, ParkingChat, payment_replies, wait_end, when_asked


def test_a_cell_that_parks_ends_while_its_question_waits() -> None:
    parked_chat = ParkingChat()

    turn = parked_chat.park()

    assert (turn.status, turn.done.done(), turn.text) == ("parked", False, "")
    assert [call.status for call in turn.calls] == ["waiting"]
    parked_chat.chat.approvals.decide(parked_chat.waiting, Denied())
    wait_end(turn)


def test_an_approval_sets_a_parked_turn_going_again_until_it_ends() -> None:
    parked_chat = ParkingChat()
    turn = parked_chat.park()

    parked_chat.chat.approvals.decide(parked_chat.waiting, Approved())

    assert wait_end(turn) is turn
    assert (turn.status, turn.text, turn.calls[0].result) == ("completed", "Done.", 3)


def test_a_denial_is_sent_to_the_model_and_the_turn_goes_on() -> None:
    parked_chat = ParkingChat()
    turn = parked_chat.park()

    parked_chat.chat.approvals.decide(parked_chat.waiting, Denied("too much"))

    assert wait_end(turn).text == "Done."
    assert (turn.calls[0].status, turn.calls[0].reason, parked_chat.threads) == ("denied", "too much", [])


def test_a_parked_turn_can_be_awaited_from_another_loop() -> None:
    parked_chat = ParkingChat()
    turn = parked_chat.park()

    async def wait() -> str:
        parked_chat.chat.approvals.decide(parked_chat.waiting, Approved())
        return (await turn).status

    assert asyncio.run(wait()) == "completed"


def test_after_the_cell_synchronous_tools_run_in_a_worker_thread() -> None:
    parked_chat = ParkingChat()
    turn = parked_chat.park()
    parked_chat.chat.approvals.decide(parked_chat.waiting, Approved())
    wait_end(turn)

    assert parked_chat.threads[0] is not threading.main_thread()
    assert [event.thread for event in turn.log if event.kind == "call_started"] == ["worker"]


def test_a_cell_that_waits_again_attaches_its_own_thread() -> None:
    parked_chat = ParkingChat()
    turn = parked_chat.park()

    wait_for_turn(turn, on_start=lambda: parked_chat.chat.approvals.decide(parked_chat.waiting, Approved()))

    assert turn.status == "completed"
    assert parked_chat.threads == [threading.current_thread()]


def test_a_cell_that_waits_again_ends_when_another_question_is_left() -> None:
    parked_chat = ParkingChat(*payment_replies(1, 2))
    turn = parked_chat.chat.compose("Pay.")
    both = when_asked(turn, 2)
    parked_chat.wait(turn)
    assert both.wait(SECONDS)
    first, second = (question.digest for question in parked_chat.chat.approvals.pending())

    wait_for_turn(turn, on_start=lambda: parked_chat.chat.approvals.decide(first, Approved()))

    assert (turn.status, [call.status for call in turn.calls]) == ("parked", ["ok", "waiting"])
    parked_chat.chat.approvals.decide(second, Approved())
    assert [call.result for call in wait_end(turn).calls] == [1, 2]


def test_a_question_that_parks_late_does_not_end_the_cell_that_has_decided_another() -> None:
    parked_chat, go = ParkingChat(*payment_replies(1, 2)), Future[None]()
    turn = parked_chat.chat.compose("Pay.")

    class LateApprover:
        name, asks_person = "late", True

        async def ask(self, question: Question) -> Undecided:
            if question.arguments["amount"] == 2:
                await asyncio.wrap_future(go)
            await turn.park(question.digest, SECONDS)
            return Undecided()

    def decide() -> None:
        first = next(one for one in parked_chat.chat.approvals.pending() if one.arguments["amount"] == 1)
        go.set_result(None)
        parked_chat.chat.approvals.decide(first.digest, Approved())

    turn.approver, both = LateApprover(), when_asked(turn, 2)
    wait_for_turn(turn)
    assert both.wait(SECONDS)
    wait_for_turn(turn, on_start=decide)

    assert (turn.status, [call.status for call in turn.calls]) == ("parked", ["ok", "waiting"])
    assert parked_chat.threads == [threading.current_thread()]
    parked_chat.chat.approvals.decide(parked_chat.waiting, Approved())
    assert wait_end(turn).status == "completed"


def test_a_later_question_of_the_same_turn_parks_it_again() -> None:
    parked_chat = ParkingChat(call("pay", amount=1), call("pay", amount=2), "Done.")
    turn = parked_chat.park()
    first = parked_chat.waiting
    again = threading.Event()
    turn.add_listener(lambda event: again.set() if isinstance(event, TurnParked) and event.digest != first else None)
    parked_chat.chat.approvals.decide(first, Approved())

    assert again.wait(SECONDS)
    assert turn.status == "parked"
    parked_chat.chat.approvals.decide(parked_chat.waiting, Approved())
    assert [call.status for call in wait_end(turn).calls] == ["ok", "ok"]


def test_a_synchronous_call_beside_the_question_ends_before_the_cell_does() -> None:
    ran: list[threading.Thread] = []
    has_started, may_end = threading.Event(), threading.Event()

    @tool(run="auto")
    def look() -> str:
        "Take a look."
        has_started.set()
        may_end.wait(SECONDS)
        ran.append(threading.current_thread())
        return "seen"

    @tool
    async def pay() -> str:
        "Pay."
        return "paid"

    chat = Chat(wire=ScriptedWire([[call("look"), call("pay")], "Done."]), tools=[look, pay])
    turn = chat.compose("Look and pay.")
    turn.approver = CellApprover(turn, chat.approvals, "park", can_park=True)
    asked = threading.Event()
    turn.add_listener(lambda event: asked.set() if event.kind == "call_asked" else None)
    threading.Thread(target=lambda: has_started.wait(SECONDS) and asked.wait(SECONDS) and may_end.set()).start()
    wait_for_turn(turn)

    assert (turn.status, ran) == ("parked", [threading.current_thread()])
    chat.approvals.decide(chat.approvals.pending()[0].digest, Approved())
    assert [call.status for call in wait_end(turn).calls] == ["ok", "ok"]


@pytest.mark.promise("parked")
def test_a_question_that_nobody_answers_in_time_is_refused() -> None:
    turn = wait_end(ParkingChat().park(timeout=0.01))

    assert (turn.status, turn.text) == ("completed", "Done.")
    assert (turn.calls[0].status, turn.calls[0].reason) == ("denied", "Nobody answered in time.")
    assert turn.calls[0].decisions[0].by == "expired"


def test_a_deadline_holds_in_a_running_cell_too() -> None:
    place = TurnPlace()
    place.report("page", "hello")

    turn = ParkingChat().park(mode="ask", place=place, timeout=0.01)

    assert (turn.status, turn.calls[0].reason) == ("completed", "Nobody answered in time.")
    assert not turn.state.outlives_cell


def test_a_setting_of_a_cell_says_how_long_a_question_stays_open() -> None:
    assert NbTool().for_cell([("answer_within", "90")]).fill(parse(cell_parser(), "")).answer_within == 90


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_deadline_is_a_number_of_seconds(seconds: str) -> None:
    with pytest.raises(BadUsage, match="answer_within cannot be"):
        NbTool().for_cell([("answer_within", seconds)])


def test_a_parked_question_stays_open_for_a_day_unless_set_otherwise() -> None:
    parked_chat = ParkingChat()

    turn = parked_chat.park()

    (parked,) = (event for event in turn.log if isinstance(event, TurnParked))
    (started,) = (event.started for event in turn.log if event.kind == "turn_started")
    assert PARKED_SECONDS == 24 * 60 * 60
    assert started + PARKED_SECONDS <= parked.expires <= started + PARKED_SECONDS + SECONDS
    assert parked.digest == parked_chat.waiting
    turn.abort()


@pytest.mark.promise("written-first")
def test_that_a_turn_was_parked_is_in_the_journal_before_its_cell_ends() -> None:
    turn = ParkingChat().park()

    kinds = [entry["kind"] for entry in journal().events(turn.turn_id)]

    assert kinds[-2:] == ["call_asked", "turn_parked"]
    turn.abort()


@pytest.mark.promise("parked")
def test_after_the_end_of_the_kernel_a_parked_turn_is_reported_as_interrupted() -> None:
    parked = ParkingChat().park()

    recalled = restore.restore_turn(list(parked.log))

    assert isinstance(recalled.error, restore.Interrupted)
    assert (recalled.done.done(), recalled.status) == (True, "error")
    assert [call.status for call in recalled.calls] == ["not_run"]
    parked.abort()


def test_a_question_of_a_sub_chat_parks_the_turn_that_asked_it() -> None:
    parked_chat = ParkingChat()
    inner = Chat(wire=ScriptedWire(payment_replies(3)))
    outer = Chat(wire=ScriptedWire([call("ask", question="Pay."), "All done."]))
    outer.tools.add(subchat(inner, tools=[parked_chat.pay], name="ask"))
    parked_chat.chat = outer

    turn = parked_chat.park()
    outer.approvals.decide(parked_chat.waiting, Approved())

    assert (wait_end(turn).status, turn.text) == ("completed", "All done.")
    assert len(parked_chat.threads) == 1


def test_hooks_of_the_end_and_clean_ups_come_at_the_real_end() -> None:
    seen: list[str] = []

    class Watcher:
        def on_turn_start(self, _: TurnContext) -> object:
            return lambda: seen.append("cleaned")

        def on_turn_end(self, turn: TurnContext) -> None:
            seen.append(turn.status)

    parked_chat = ParkingChat(plugins=(Watcher(),))
    turn = parked_chat.park()
    before = list(seen)
    parked_chat.chat.approvals.decide(parked_chat.waiting, Approved())
    wait_end(turn)

    assert (before, seen) == ([], ["completed", "cleaned"])


def test_a_chat_with_a_parked_turn_refuses_another_and_says_how_to_go_on() -> None:
    parked_chat = ParkingChat()
    turn = parked_chat.park()

    with pytest.raises(BadUsage, match=f"%chat approve {parked_chat.waiting[:12]}.*%chat deny.*%chat stop") as refused:
        parked_chat.chat.send("And now?")

    assert "\n" not in str(refused.value)
    turn.abort()
    assert wait_end(turn).status == "cancelled"


def test_other_chats_go_on_beside_a_parked_turn() -> None:
    turn = ParkingChat().park()

    with ScriptedWire(["Hello."]) as wire:
        assert Chat(wire=wire).send("Hi").text == "Hello."
    assert turn.status == "parked"
    turn.abort()


def test_a_parked_turn_that_was_stopped_frees_its_chat() -> None:
    parked_chat = ParkingChat(call("pay", amount=1), "Hello again.")
    turn = parked_chat.park()
    turn.abort()
    wait_end(turn)

    assert (turn.status, turn.calls[0].status) == ("cancelled", "cancelled")
    assert parked_chat.chat.approvals.pending() == ()
    assert parked_chat.chat.send("And now?").text == "Hello again."


def test_nothing_is_parked_where_nobody_could_ever_answer() -> None:
    turn = ParkingChat().park(can_park=False)

    assert turn.status == "completed"
    assert "Nobody can be asked here" in turn.calls[0].reason


def test_the_ladder_ends_with_parking_where_no_page_answered_and_no_line_can_be_read() -> None:
    turn = ParkingChat().park(mode="ask")

    assert turn.status == "parked"
    turn.abort()


def test_input_alone_never_parks_a_cell_that_waits() -> None:
    turn = ParkingChat().park(mode="input")

    assert (turn.status, turn.calls[0].status) == ("completed", "denied")


def test_work_that_was_promised_the_thread_is_done_there_before_it_is_let_go() -> None:
    attached, rest, done = CallerThread(), Future[None](), list[threading.Thread]()

    async def promise() -> None:
        work = asyncio.ensure_future(attached.run(lambda: done.append(threading.current_thread())))
        await asyncio.sleep(0)
        assert not work.done()

    def go() -> None:
        background_loop().submit(promise()).result(SECONDS)
        rest.set_result(None)

    attached.run_until(rest, on_start=go)

    assert done == [threading.current_thread()]


def test_a_thread_that_could_not_set_the_turn_going_is_no_longer_attached() -> None:
    attached = CallerThread()

    def go() -> None:
        raise AlreadyDecided("Somebody was first.")

    with pytest.raises(AlreadyDecided):
        attached.run_until(Future[None](), on_start=go)
    assert not attached.is_attached
