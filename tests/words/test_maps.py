"""What is read of a map: its line at the end, its errors, and prompts, files and workers that cannot be used."""

from __future__ import annotations

import json
import multiprocessing
import re
import signal
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool import Approved, Chat, tool
from nbtool.chain.limits import Limits
from nbtool.chat import batch_worker
from nbtool.chat.batch.prompts import parse_prompts, stream_prompts
from nbtool.chat.batch.remote.asked_question import pack_question
from nbtool.chat.batch.remote.executor_engine import ExecutorEngine
from nbtool.chat.batch.remote.home_link import NO_HOME
from nbtool.chat.batch.remote.lost_worker import lost_after_calls
from nbtool.chat.erasure import erase
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import NbtoolError
from nbtool.plugins.budget import Price
from nbtool.testing import ScriptedWire, cut
from nbtool.wire.base import Prompt
from tests.chaos import serve_by
from tests.chat.batch.earlier_maps.test_earlier_turns import NAMES, Shop
from tests.chat.batch.remote.far_tools import asked, note_and_die
from tests.chat.batch.remote.test_description import broken
from tests.chat.batch.remote.test_pool import use
from tests.chat.batch.remote.test_questions import QUESTION_1, answer_at_home
from tests.chat.batch.sinks.test_full_disk import FULL, FullSink
from tests.chat.batch.sinks.test_full_disk import Shop as LongShop
from tests.chat.batch.test_batch import reply_with_usage
from tests.chat.batch.test_map_memory import MEGABYTE, Results
from tests.chat.batch.test_map_memory import prompts as numbered_prompts
from tests.policy.in_force import policy_in_force

pytestmark = pytest.mark.usefixtures("own_journal")


def echo(prompt: Prompt) -> str:
    return prompt.messages[-1].text.upper()


def error_of(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> str:
    """Return the text of the error that a person reads."""
    with pytest.raises(NbtoolError) as raised:
        function(*arguments, **named)
    return str(raised.value)


def errors_of(batch: Any) -> str:
    """Return the line of a batch, and the errors of its prompts."""
    return "\n".join([repr(batch), *(f"row {one.index}: {one.error}" for one in batch.errors)])


def test_prompts_that_failed(snapshot: SnapshotAssertion) -> None:
    def run(*replies: Any, prompts: Sequence[str] = ("a", "b", "c"), **options: Any) -> str:
        chat = Chat(wire=ScriptedWire(list(replies)))
        return errors_of(chat.map(prompts, concurrency=1, retries=0, resume=False, **options))

    texts = {
        "a reply that breaks off": run(echo, ["half", cut()], echo),
        "an empty prompt too": run(["half", cut()], echo, prompts=("a", "", "c")),
        "answers of another type": run(*["no number"] * 3, prompts=("a",), as_=int),
        "all answered": run(echo, echo, echo),
    }

    assert texts == snapshot


def test_limits_and_budgets(snapshot: SnapshotAssertion) -> None:
    def spend(used: int, **options: Any) -> str:
        wire = ScriptedWire([reply_with_usage(used)] * 5)
        return errors_of(Chat(wire=wire).map(list("abc"), concurrency=1, resume=False, **options))

    settings = TurnSettings(limits=Limits(max_rounds=2))
    texts = {
        "a limit of rounds": repr(Shop().chat(names=("pay",) * 2).map(NAMES, settings=settings)),
        "the budget of tokens is used up": spend(60, tokens=100),
        "the last answer exceeds it": spend(60, tokens=150),
        "the budget of dollars is used up": spend(1_000_000, usd=0.5, prices={"scripted": Price(1.0, 1.0)}),
        "dollars without a price": error_of(spend, 1, usd=0.5),
    }

    assert texts == snapshot


def test_calls_that_nobody_could_be_asked_about(snapshot: SnapshotAssertion) -> None:
    def run(*names: str, approver: Any = None) -> str:
        shop = Shop()
        chat = shop.chat(shop.pay, shop.mail, shop.pay_secretly, names=names)
        batch = chat.map(NAMES, approver=approver, resume=False)
        return f"{batch!r}\nto the model: {batch.values[0]}"

    def fail(_: object) -> Any:
        raise OSError("no screen")

    texts = {
        "a call": run("mail"),
        "a call after one that ran": run("pay", "mail"),
        "a result": run("pay_secretly"),
        "the approver fails": run("mail", approver=fail),
        "the approver answers yes": run("mail", approver=lambda _: "yes"),
    }

    assert texts == snapshot


def test_a_later_map(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    shop, texts = Shop(), {}
    shop.broken = {"b"}
    texts["one fails after its call"] = str(shop.chat().map_into(tmp_path / "a.sqlite", NAMES, retries=0))
    shop.broken = set()
    texts["it goes on"] = str(shop.chat().map_into(tmp_path / "a.sqlite", NAMES))
    shop.broken = {"b"}
    shop.chat().map_into(tmp_path / "b.sqlite", NAMES, retries=0, resume=False)
    erase()
    texts["its turn was erased"] = str(shop.chat().map_into(tmp_path / "b.sqlite", NAMES))
    shop.broken = set()
    chats = [shop.chat(shop.pay, shop.mail, names=("mail", "pay")) for _ in range(2)]
    texts["a call is denied before another runs"] = repr(chats[0].map(NAMES))
    texts["it is not asked about again"] = repr(chats[1].map(NAMES, approver=lambda _: Approved()))

    assert texts == snapshot


def test_an_interrupt(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    shop, waiting = Shop(), threading.Semaphore(0)

    def decide(_: object) -> str:
        waiting.release()
        return "auto"

    @tool(run=decide)
    def pay(name: str) -> str:
        "Pay, and be interrupted the first time."
        shop.effects[name] += 1
        if len(shop.effects) == 1:
            for _ in NAMES:
                assert waiting.acquire(timeout=240)
            signal.raise_signal(signal.SIGINT)
        return f"paid {name}"

    with pytest.raises(KeyboardInterrupt):
        shop.chat(pay).map(NAMES, concurrency=3)
    texts = {"in a call, while others wait": capsys.readouterr().err}
    (failed,) = shop.chat(pay).map(NAMES).errors
    texts["the prompt of that call, in the next map"] = str(failed.error)

    assert texts == snapshot


def test_files_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    if not FULL.exists():
        pytest.skip("there is no /dev/full")
    (tmp_path / "folder").mkdir()
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE birds (name)")
    (tmp_path / "notes").write_text("no database at all, but a text of some length" * 10)
    pd.DataFrame({"customer": range(3)}).to_parquet(tmp_path / "customers.parquet")
    Chat(wire=ScriptedWire([echo, echo])).map_into(tmp_path / "a.sqlite", ["a", "b"])

    def write(sink: Any, prompts: Sequence[str] = ("a", "b"), **of_chat: Any) -> str:
        return error_of(Chat(wire=ScriptedWire([]), **of_chat).map_into, sink, prompts)

    names = ("folder", "missing/a.sqlite", "a.csv", "other.sqlite", "notes", "customers.parquet")
    texts = {name: write(tmp_path / name) for name in names}
    texts["no file at all"] = write(3)
    texts["a file with the answer to another prompt"] = write(tmp_path / "a.sqlite", ["other", "b"])
    texts["a file of another system prompt"] = write(tmp_path / "a.sqlite", system="Be brief.")
    texts["another map writes it"] = overlapping(tmp_path / "b.sqlite")
    shop = LongShop()
    texts["the disk is full"] = error_of(shop.chat().map_into, FullSink(tmp_path / "c.sqlite"), list("abcdefghijkl"))
    path, draft = tmp_path / "d.parquet", UUID(int=0)
    path.with_name(f".{path.name}.{draft.hex[:8]}").symlink_to(FULL)
    with monkeypatch.context() as patch:
        patch.setattr("nbtool.files.uuid4", lambda: draft)
        texts["the disk is full at the end"] = error_of(shop.chat().map_into, path, list("mnop"))

    assert texts == snapshot


def overlapping(path: Path) -> str:
    """Return the error of a map into a file that another one writes."""
    refused: list[str] = []

    def overlap(_: Prompt) -> str:
        refused.append(error_of(Chat(wire=ScriptedWire([])).map_into, path, ["z"]))
        return "Z"

    Chat(wire=ScriptedWire([overlap])).map_into(path, ["z"])
    return refused[0]


TEMPLATES = ("{text.__class__}", "{0}", "{}", "{text!r}", "{text", "text}", "none", "{text:.1f}", '{"a": 1} {text}')
GIVEN: dict[str, tuple[Any, Any]] = {
    "one text": ("one", None),
    "a number": (3, None),
    "a dict": ({"a": 1}, None),
    "prompts and rows": (["a"], []),
    "rows that are a number": ("{a}", 3),
    "rows that are a text": ("{a}", "b"),
}


def test_prompts_and_rows(snapshot: SnapshotAssertion) -> None:
    frame = pd.DataFrame({"text": ["a"]})
    texts = {f"the template {template}": error_of(parse_prompts, template, frame) for template in TEMPLATES}
    for title, (given, rows) in GIVEN.items():
        texts[title] = error_of(parse_prompts, given, rows)
        texts[f"{title}, streamed"] = error_of(stream_prompts, given, rows)
    rows = [{"a": 1}, {"b": 1}, 3, {"a": None}]
    for title, asking in {"row": parse_prompts("{a}", rows), "prompt": parse_prompts(["a", (3,), None])}.items():
        texts |= {f"{title} {one.index} of {title}s": str(one.problem) for one in asking.items if one.problem}

    of_python = re.compile(r"(?<=read \()[^)]+")
    assert {title: of_python.sub("…", text) for title, text in texts.items()} == snapshot


SETTINGS: tuple[dict[str, Any], ...] = (
    {"concurrency": 0},
    {"retries": 11},
    {"concurrency": "8"},
    {"per_minute": 1.5},
    {"tokens": 0},
    {"usd": float("nan")},
    {"usd": 1, "prices": {"practice:fast": 1}},
    {"executor": "dask"},
    {"keep": "all"},
    {"speed": 3},
)


def test_settings(snapshot: SnapshotAssertion) -> None:
    chat = Chat(wire=ScriptedWire([]))

    assert {str(how): error_of(chat.map, ["a"], **how) for how in SETTINGS} == snapshot


def test_a_result_that_was_dropped(snapshot: SnapshotAssertion) -> None:
    batch = Results().chat(result_bytes=3 * MEGABYTE + 100_000).map(numbered_prompts(4), concurrency=1)
    turn = batch.answers[0].turn
    assert turn

    assert {"the result of the first of four prompts": repr(turn.calls[0].result)} == snapshot


def spawned() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def test_workers(tmp_path: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"the process of the map is gone": NO_HOME, "after calls that ended": str(lost_after_calls())}
    with serve_by(use("note_and_die", path=str(tmp_path / "dying"))) as server, spawned() as on:
        chat = Chat("tiny", base_url=server.url, tools=[note_and_die])
        batch = chat.map(["p12", "p13", "p14", "p15"], on=on, concurrency=1, chunk=3)
        for number, title in ((1, "in a call"), (2, "before a call"), (3, "and the pool with it")):
            texts[f"a worker ends {title}"] = str(batch.answers[number].error)
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    chat = Chat("tiny", base_url="http://127.0.0.1:9")
    texts["a pool that is closed"] = errors_of(chat.map(["a", "b"], on=closed))
    engine = ExecutorEngine(closed)
    engine.listen(lambda *_: None)
    line = engine.line()
    engine.close()
    texts["the process of the map cannot be reached"] = error_of(line.connect, "run", lambda _: None, lambda: None)
    with ThreadPoolExecutor(1) as on:
        monkeypatch.setattr(batch_worker, "receive_chat", lambda _: broken())
        texts["the chat cannot be built there"] = errors_of(chat.map(["a"], on=on))

    assert texts == snapshot


def test_questions_of_workers(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    answers: dict[str, Any] = {"no screen": fail_to_ask, "yes": lambda _: True}
    texts = {}
    with serve_by(use("asked")) as server, ThreadPoolExecutor(1) as on:
        for title, approver in answers.items():
            chat = Chat("tiny", base_url=server.url, tools=[asked], approver=approver)
            batch = chat.map(["p1"], on=on, resume=False)
            texts[f"the approver answers {title}"] = f"{batch!r}\nto the model: {batch.values[0]}"
        batch = Chat("tiny", base_url=server.url, tools=[asked]).map(["p1"], on=on, resume=False)
        texts["there is no approver"] = f"{batch!r}\nto the model: {batch.values[0]}"
    with policy_in_force(tmp_path, "[approval]\nautomatic = false\n"):
        answer = answer_at_home(pack_question(QUESTION_1), lambda _: Approved())
        texts["a policy requires a person"] = json.loads(answer)["reason"]

    assert texts == snapshot


def fail_to_ask(_: object) -> Any:
    raise OSError("no screen")
