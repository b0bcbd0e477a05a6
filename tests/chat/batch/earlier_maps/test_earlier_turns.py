"""What a map does with prompts that an earlier one did not answer: what ran is not run again by itself."""

from __future__ import annotations

import re
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from nbtool import Approved, Chat, Released, tool
from nbtool.chain.limits import Limits
from nbtool.chat.batch.batch import Batch
from nbtool.chat.batch.prompts import parse_prompts
from nbtool.chat.batch.status_line import CUTS, LIMIT_FIX
from nbtool.chat.batch.streamed_map import MapTotals
from nbtool.chat.batch_maker import BatchMaker
from nbtool.chat.erasure import erase
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import LimitReached, NotRepeated, TimedOut
from nbtool.events import UsageDelta
from nbtool.messages import Usage
from nbtool.testing import ScriptedWire, call, cut
from nbtool.wire.base import Prompt
from tests.policy.in_force import policy_in_force

NAMES = ["a", "b", "c"]
RunMap = Callable[..., Batch | MapTotals]


class Shop:
    """Chats whose model calls `pay`, then `mail`, and says what came of it; `effects` counts the payments."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.broken: set[str] = set()
        self.requests = 0
        self.answer = ""
        self.on_last = lambda _: None

        @tool(run="auto")
        def pay(name: str) -> str:
            "Pay."
            self.effects[name] += 1
            return f"paid {name}"

        @tool(run="auto", result="always")
        def pay_secretly(name: str) -> str:
            "Pay, and ask before the receipt is sent."
            self.effects[name] += 1
            return f"receipt {name}"

        @tool
        def mail(name: str) -> str:
            "Send a mail."
            return f"mailed {name}"

        self.pay, self.pay_secretly, self.mail = pay, pay_secretly, mail

    def chat(self, *tools: Any, names: tuple[str, ...] = ("pay",)) -> Chat:
        """Make a chat that calls tools of these names one after another for each prompt."""

        def reply(prompt: Prompt) -> Any:
            self.requests += 1
            name = next(one for one in reversed(prompt.messages) if one.role == "user").text.splitlines()[0]
            results = [result.text for one in prompt.messages for result in one.results]
            if len(results) < len(names):
                return call(names[len(results)], name=name)
            self.on_last(name)
            return ["broken", cut()] if name in self.broken else self.answer or " and ".join(results)

        return Chat(wire=ScriptedWire([reply] * 60), tools=list(tools or (self.pay,)))


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture(params=["map", "map_into", "parquet"])
def run_map(request: pytest.FixtureRequest, tmp_path: Path) -> RunMap:
    """A map, in the journal only or into a file."""
    kind = request.param

    def run(chat: Chat, **options: Any) -> Batch | MapTotals:
        options = {"concurrency": 1, "retries": 0, **options}
        if kind == "map":
            return chat.map(NAMES, **options)
        return chat.map_into(tmp_path / ("a.sqlite" if kind == "map_into" else "a.parquet"), NAMES, **options)

    return run


def undecided_of(done: Batch | MapTotals) -> int:
    """Return how many answers have calls that were denied or withheld because nobody could be asked."""
    if isinstance(done, MapTotals):
        return done.undecided
    return sum(one.has_undecided_calls for one in done.answers)


@pytest.mark.promise("maps-once")
def test_a_turn_that_failed_after_a_call_goes_on_from_its_result(shop: Shop, run_map: RunMap) -> None:
    shop.broken = {"b"}
    first = run_map(shop.chat())
    still = run_map(shop.chat())
    shop.broken, shop.requests = set(), 0
    last = run_map(shop.chat())

    assert ("1 failed" in str(first), "1 failed" in str(still)) == (True, True)
    assert "2 answered before" in str(last)
    assert "failed" not in str(last)
    assert shop.effects == {"a": 1, "b": 1, "c": 1}
    assert shop.requests == 1
    assert run_map(shop.chat()).answered_before == 3 if isinstance(last, MapTotals) else last.values[1] == "paid b"


@pytest.mark.promise("maps-once")
def test_an_answer_that_is_no_value_of_the_type_is_asked_for_again_from_the_results_of_its_calls(
    shop: Shop, run_map: RunMap
) -> None:
    first = run_map(shop.chat(), as_=int)
    shop.requests = 0
    still = run_map(shop.chat(), as_=int)
    asked, shop.answer = shop.requests, "7"
    last = run_map(shop.chat(), as_=int)
    fourth = run_map(shop.chat(), as_=int)

    assert ("3 failed" in str(first), "3 failed" in str(still)) == (True, True)
    assert "valid int" in str(first)
    assert asked == 9  # each answer and its two retries
    assert "failed" not in str(last)
    assert "3 answered before" in str(fourth)
    assert shop.effects == {"a": 1, "b": 1, "c": 1}


@pytest.mark.promise("maps-once")
def test_an_answer_that_a_limit_cut_short_goes_on_where_the_limit_is_larger(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(rounds: int) -> Batch:
        settings = TurnSettings(limits=Limits(max_rounds=rounds))
        return shop.chat(names=("pay",) * 2).map(NAMES, settings=settings, progress=False)

    line = f"3 cut short {CUTS['rounds']}: {LIMIT_FIX}"
    assert repr(run(2)) == f"<Batch: 3 of 3 prompts, {line}>"
    assert capsys.readouterr().err == f"nbtool: {line}\n"
    assert shop.effects == {"a": 1, "b": 1, "c": 1}
    assert repr(run(2)) == f"<Batch: 3 of 3 prompts, 3 answered before, {line}>"
    whole = run(9)
    assert repr(whole) == "<Batch: 3 of 3 prompts>"
    assert whole.values[0] == " and ".join(["paid a"] * 2)
    assert shop.effects == {"a": 2, "b": 2, "c": 2}
    assert repr(run(2)) == repr(run(20)) == "<Batch: 3 of 3 prompts, 3 answered before>"


def test_an_answer_that_was_cut_short_is_kept_where_the_model_was_given_the_name_of_a_result(shop: Shop) -> None:
    @tool(run="auto")
    def pay(name: str) -> list[int]:
        "Pay, and return more than is shown."
        shop.effects[name] += 1
        return list(range(100_000))

    def run(rounds: int) -> Batch:
        settings = TurnSettings(limits=Limits(max_rounds=rounds))
        return shop.chat(pay, names=("pay",) * 3).map(NAMES, settings=settings)

    run(2)
    assert "3 answered before, 3 cut short" in repr(run(9))
    assert shop.effects == {"a": 1, "b": 1, "c": 1}


@pytest.mark.promise("maps-once")
def test_a_recorded_answer_that_fits_the_type_no_longer_is_asked_for_again_from_the_results_of_its_calls(
    shop: Shop,
) -> None:
    least = 0

    def check(number: int) -> int:
        assert number >= least
        return number

    amount, shop.answer = Annotated[int, AfterValidator(check)], "7"
    shop.chat().map(NAMES, as_=amount)
    least, shop.answer = 8, "9"
    again = shop.chat().map(NAMES, as_=amount)

    assert list(again.values) == [9, 9, 9]
    assert shop.effects == {"a": 1, "b": 1, "c": 1}


@pytest.mark.promise("maps-once")
def test_a_call_that_nobody_could_be_asked_about_is_asked_about_again_and_the_one_before_it_not_repeated(
    shop: Shop, run_map: RunMap
) -> None:
    tools, names = (shop.pay, shop.mail), ("pay", "mail")
    first = run_map(shop.chat(*tools, names=names))
    again = run_map(shop.chat(*tools, names=names), approver=lambda _: Approved())
    third = run_map(shop.chat(*tools, names=names))

    assert undecided_of(first) == 3
    assert "`repeat_calls=True`" in str(first)
    assert "denied" not in str(again)
    assert "3 answered before" in str(third)
    assert shop.effects == {"a": 1, "b": 1, "c": 1}
    if isinstance(again, Batch):
        assert again.values == [f"paid {name} and mailed {name}" for name in NAMES]


@pytest.mark.promise("maps-once")
def test_a_call_whose_result_was_withheld_because_nobody_could_be_asked_is_not_run_again_unless_calls_may_be_repeated(
    shop: Shop, run_map: RunMap
) -> None:
    chats = [shop.chat(shop.pay_secretly, names=("pay_secretly",)) for _ in range(4)]
    first, second = run_map(chats[0]), run_map(chats[1], approver=lambda _: Released())
    effects = Counter(shop.effects)
    forced = run_map(chats[2], approver=lambda _: Released(), repeat_calls=True)
    last = run_map(chats[3])

    assert (undecided_of(first), undecided_of(second)) == (3, 3)
    assert "3 answered before" in str(second)
    assert effects == {"a": 1, "b": 1, "c": 1}
    assert "denied" not in str(forced)
    assert shop.effects == {"a": 2, "b": 2, "c": 2}
    assert "3 answered before" in str(last)


@pytest.mark.promise("maps-once")
def test_an_interrupt_between_two_requests_repeats_no_call_later(
    shop: Shop, run_map: RunMap, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.on_last = lambda name: signal.raise_signal(signal.SIGINT) if name == "b" else None
    with pytest.raises(KeyboardInterrupt):
        run_map(shop.chat())
    assert re.search(r"stopped(, [12] .*)? \(.+\)\n$", capsys.readouterr().err)
    shop.on_last = lambda _: None
    totals = run_map(shop.chat())

    assert shop.effects == dict.fromkeys(NAMES, 1)
    assert "failed" not in str(totals)


@pytest.mark.promise("maps-once")
def test_of_calls_that_wait_for_the_thread_of_an_interrupted_map_none_is_refused_later(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = threading.Semaphore(0)

    def decide(_: object) -> str:
        asked.release()
        return "auto"

    @tool(run=decide)
    def pay(name: str) -> str:
        "Pay, and be interrupted the first time."
        shop.effects[name] += 1
        if len(shop.effects) == 1:
            for _ in NAMES:
                assert asked.acquire(timeout=240)
            signal.raise_signal(signal.SIGINT)
        return f"paid {name}"

    with pytest.raises(KeyboardInterrupt):
        shop.chat(pay).map(NAMES, concurrency=3)
    (interrupted,) = shop.effects
    assert "not answered (1 with" in capsys.readouterr().err
    again = shop.chat(pay).map(NAMES)

    assert shop.effects == dict.fromkeys(NAMES, 1)
    assert [NAMES[one.index] for one in again.errors] == [interrupted]
    assert isinstance(again.errors[0].error, NotRepeated)


@pytest.mark.promise("maps-once")
def test_a_budget_that_is_used_up_after_a_call_repeats_it_not(shop: Shop, tmp_path: Path) -> None:
    def reply(prompt: Prompt) -> Any:
        last = prompt.messages[-1]
        said = last.results[0].text if last.results else call("pay", name=last.text)
        return [said, UsageDelta(Usage(30, 30))]

    def chat() -> Chat:
        return Chat(wire=ScriptedWire([reply] * 20), tools=[shop.pay])

    with pytest.raises(LimitReached, match="not sent, or not finished"):
        chat().map_into(tmp_path / "a.sqlite", NAMES, tokens=100, concurrency=1)
    paid = dict(shop.effects)
    totals = chat().map_into(tmp_path / "a.sqlite", NAMES, tokens=10_000, concurrency=1)

    assert paid
    assert shop.effects == {"a": 1, "b": 1, "c": 1}
    assert totals.failed == 0


@pytest.mark.promise("maps-once")
def test_a_call_that_was_running_when_the_map_was_stopped_is_refused(shop: Shop) -> None:
    started, release = threading.Event(), threading.Event()

    @tool(run="auto", thread=True)
    def pay(name: str) -> str:
        "Pay, slowly."
        shop.effects[name] += 1
        started.set()
        release.wait(240)
        return f"paid {name}"

    chat = shop.chat(pay)
    batch = chat.start_map(NAMES, concurrency=1)
    assert started.wait(240)
    batch.cancel()
    release.set()
    batch.wait()
    again = shop.chat(pay).map(NAMES)

    assert shop.effects == {"a": 1, "b": 1, "c": 1}
    assert [one.index for one in again.errors] in ([], [0])  # its outcome may have come in time
    assert all(type(one.error) is NotRepeated for one in again.errors)


@pytest.mark.promise("maps-once")
def test_a_row_whose_turn_is_no_longer_in_the_journal_is_refused(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    shop.broken = {"b"}
    shop.chat().map_into(path, NAMES, retries=0)
    erase()
    shop.broken = set()
    totals = shop.chat().map_into(path, NAMES)
    with sqlite3.connect(path) as connection:
        [(error,)] = connection.execute("SELECT error FROM answers WHERE row = 1").fetchall()

    assert (totals.failed, totals.answered_before) == (1, 2)
    assert "`repeat_calls=True`" in totals.failures[0][0]
    assert "broke off" in error  # why the first map failed stays in the file
    assert shop.effects == {"a": 1, "b": 1, "c": 1}


def test_a_denial_because_a_policy_requires_a_person_is_no_answer(tmp_path: Path) -> None:
    shop = Shop()
    with policy_in_force(tmp_path, '[approval]\nalways_ask = ["mail"]\n'):
        batch = shop.chat(shop.mail, names=("mail",)).map(NAMES, approver=lambda _: Approved())

    assert [one.has_undecided_calls for one in batch.answers] == [True] * 3


@pytest.mark.promise("maps-once")
def test_a_call_of_a_round_after_a_denied_one_is_not_repeated_to_ask_about_that_again(
    shop: Shop, run_map: RunMap
) -> None:
    tools, names = (shop.pay, shop.mail), ("mail", "pay")
    first = run_map(shop.chat(*tools, names=names))
    second = run_map(shop.chat(*tools, names=names), approver=lambda _: Approved())

    assert (undecided_of(first), undecided_of(second)) == (3, 3)
    assert "3 answered before" in str(second)
    assert shop.effects == {"a": 1, "b": 1, "c": 1}


@pytest.mark.promise("maps-once")
def test_a_call_of_a_turn_that_went_on_is_not_repeated_by_a_third_map_either(shop: Shop, run_map: RunMap) -> None:
    tools, names = (shop.pay, shop.mail), ("mail", "pay")
    shop.broken = {"b"}
    run_map(shop.chat(*tools, names=names))
    shop.broken = set()
    for _ in range(2):
        last = run_map(shop.chat(*tools, names=names), approver=lambda _: Approved())

    assert undecided_of(last) == 3
    assert "3 answered before" in str(last)
    assert shop.effects == {"a": 1, "b": 1, "c": 1}


@pytest.mark.promise("maps-once")
def test_a_turn_whose_model_was_given_the_name_of_a_result_is_refused(shop: Shop, run_map: RunMap) -> None:
    @tool(run="auto")
    def pay(name: str) -> list[int]:
        "Pay, and return more than is shown."
        shop.effects[name] += 1
        return list(range(100_000))

    shop.broken = {"b"}
    run_map(shop.chat(pay))
    shop.broken = set()
    refused = run_map(shop.chat(pay))
    repeated = run_map(shop.chat(pay), repeat_calls=True)

    assert "1 failed" in str(refused)
    assert "failed" not in str(repeated)
    assert shop.effects == {"a": 1, "b": 2, "c": 1}


def test_repeat_calls_repeats_none_of_a_turn_that_can_go_on(shop: Shop, run_map: RunMap) -> None:
    shop.broken = {"b"}
    run_map(shop.chat())
    shop.broken = set()
    last = run_map(shop.chat(), repeat_calls=True)

    assert "failed" not in str(last)
    assert shop.effects == {"a": 1, "b": 1, "c": 1}


def test_a_reply_that_fails_after_a_call_is_asked_for_again_and_the_call_not_repeated(
    shop: Shop, run_map: RunMap
) -> None:
    def fail_once(name: str) -> None:
        if name == "b" and shop.requests == 4:
            raise TimedOut("No reply came in time.")

    shop.on_last = fail_once
    totals = run_map(shop.chat(), retries=3)

    assert "failed" not in str(totals)
    assert (shop.effects, shop.requests) == ({"a": 1, "b": 1, "c": 1}, 7)


def test_a_later_turn_in_which_nothing_ran_hides_no_earlier_one(shop: Shop) -> None:
    class Refusal:
        may_start = staticmethod(lambda _: False)

        def on_before_request(self, _: Any) -> None:
            """Fail at once, as a worker does that is refused the calls of another."""
            raise ValueError("refused")

    shop.broken = {"b"}
    shop.chat().map(NAMES, retries=0, concurrency=1)
    broken = shop.chat()
    key = BatchMaker(broken).key
    one = parse_prompts(["b"], None).items[0]
    broken.chat_id = key.chat_id
    broken.plugins = [Refusal()]
    settings = TurnSettings(cell_id=key.keys([one])[0])
    assert broken.send("b", settings=settings).status == "error"
    shop.broken = set()
    last = shop.chat().map(NAMES)

    assert last.errors == []
    assert shop.effects == {"a": 1, "b": 1, "c": 1}
