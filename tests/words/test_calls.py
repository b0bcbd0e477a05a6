"""What a model gets for a call that was denied, withheld, stopped, cut, wrong or failed, and what a person reads."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool import Approved, Chat, Denied, Released, Reviewer, Toolset, Withheld, tool
from nbtool.blocks.labels import decision_line
from nbtool.chain.limits import Limits
from nbtool.chat.chat import TurnSettings
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire, call
from nbtool.tools.script import script_tools
from nbtool.tools.variable_tools import variable_tools
from tests.policy.in_force import policy_in_force
from tests.tools import far
from tests.tools.calling import ToolHarness, ask_for, make_harness

Texts = dict[str, str]


@tool
def pay(amount: int) -> int:
    """Pay an amount."""
    return amount


@tool(run="auto", result="always")
def read_secret() -> str:
    """Read a secret."""
    return "SECRET"


def fail() -> None:
    """Fail."""
    raise ValueError("no limit for DE89")


def raise_value(_: object) -> Any:
    raise ValueError("no limit for DE89")


def both(record: Any) -> str:
    """Return what the model gets, and what the person reads if that is more."""
    reason = f"\nto the person: {record.reason}" if record.reason and record.reason not in record.shown else ""
    return f"{record.status}: {record.shown}{reason}"


def run(harness: ToolHarness, name: str, /, **arguments: Any) -> str:
    return both(harness.run(ask_for(name, **arguments)))


def test_decisions(snapshot: SnapshotAssertion) -> None:
    approvers: dict[str, Any] = {
        "nobody can be asked": None,
        "denied": lambda _: Denied(),
        "denied with a reason": lambda _: Denied("too much"),
        "the approver fails": raise_value,
        "the approver answers True": lambda _: True,
        "the approver answers for the other gate": lambda question: (
            Released() if question.gate == "run" else Approved()
        ),
    }
    texts = {
        f"a call: {title}": run(make_harness(pay, approver=one), "pay", amount=3) for title, one in approvers.items()
    }
    results = {**approvers, "withheld": lambda _: Withheld("personal data"), "edited": lambda _: Released("[redacted]")}
    for title, one in results.items():
        if not title.startswith("denied"):
            texts[f"a result: {title}"] = run(make_harness(read_secret, approver=one), "read_secret")
    withheld = tool(fail, run="auto", result="on_error")
    texts["an error: withheld"] = run(make_harness(withheld, approver=lambda _: Withheld()), "fail")
    texts["an error: the approver fails"] = run(make_harness(withheld, approver=raise_value), "fail")

    assert texts == snapshot


def test_policies_of_tools(snapshot: SnapshotAssertion) -> None:
    tools = {
        "run= fails": tool(lambda: 1, name="called", run=raise_value),
        "run= returns None": tool(lambda: 1, name="called", run=lambda _: None),  # type: ignore[arg-type,return-value]
        "result= fails": tool(lambda: 1, name="called", run="auto", result=raise_value),
        "result= returns True": tool(lambda: 1, name="called", run="auto", result=lambda _: True),  # type: ignore[arg-type,return-value]
    }

    assert {title: run(make_harness(one), "called") for title, one in tools.items()} == snapshot


def test_notices_about_wrong_answers(snapshot: SnapshotAssertion) -> None:
    class Beginning:
        def on_turn_start(self, _: object) -> Any:
            return 5

    class Guard:
        def may_start(self, _: str) -> Any:
            return "no"

    chats: dict[str, dict[str, Any]] = {
        "the approver answers 1": {"tools": [pay], "approver": lambda _: 1},
        "the approver answers for ever": {"tools": [pay], "approver": lambda _: Approved(remember="forever")},  # type: ignore[arg-type]
        "run= returns True": {"tools": [tool(pay, run=lambda _: True)]},  # type: ignore[arg-type,return-value]
        "a plugin's start returns 5": {"plugins": [Beginning()]},
        "a guard answers no": {"tools": [pay], "approver": lambda _: Approved(), "plugins": [Guard()]},
        "rules= returns 5": {"tools": [Toolset("bank", [pay], rules=lambda _: 5)]},  # type: ignore[arg-type,return-value]
    }
    texts: Texts = {}
    for title, settings in chats.items():
        turn = Chat(wire=ScriptedWire([call("pay", amount=1), "Ok."]), **settings).send("Go.")
        lines = [
            *(notice.text for notice in turn.notices),
            *(both(record) for record in turn.calls),
            str(turn.error or ""),
        ]
        texts[title] = "\n".join(filter(None, lines))

    assert texts == snapshot


def test_policy_of_the_administrator(snapshot: SnapshotAssertion, tmp_path: Path) -> None:
    texts: Texts = {}
    with policy_in_force(tmp_path, "[approval]\nalways_ask = ['dr*']"):
        drop = tool(lambda: 1, name="drop", run="auto")
        texts["always_ask, nobody can be asked"] = run(make_harness(drop), "drop")
        texts["always_ask, approved by Python"] = run(make_harness(drop, approver=lambda _: Approved()), "drop")
    with policy_in_force(tmp_path, "[approval]\nnever = ['dr*']"):
        texts["never"] = run(make_harness(drop, approver=lambda _: Approved()), "drop")
    with policy_in_force(tmp_path, "[values]\nmay_leave = false"):
        texts["may_leave, a result"] = run(make_harness(tool(lambda: "SECRET", name="get", run="auto")), "get")
        texts["may_leave, an error"] = run(make_harness(tool(fail, run="auto")), "fail")

    assert texts == snapshot


@tool(run="auto")
def double(n: int, unit: str = "") -> str:
    """Twice a number."""
    return f"{2 * n} {unit}"


def test_arguments_and_references(snapshot: SnapshotAssertion) -> None:
    notebook = {"rows": [1, 2], "name": "Ada"}
    harness = make_harness(double, notebook=notebook, expose=["rows", "name"])
    harness.runtime.tools.add(variable_tools(harness.runtime.variables))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("double", {}),
        ("double", {"n": "x"}),
        ("double", {"n": 1, "m": 2}),
        ("double", {"n": "$VAR_REF{{rows}}"}),
        ("double", {"n": "$VAR_REF{{none}}"}),
        ("double", {"n": "$VAR_REF{{rows[7]}}"}),
        ("double", {"n": "$VAR_REF{{rows"}),
        ("double", {"n": 1, "unit": "$VAR_REF{{rows}}"}),
        ("tripple", {"n": 1}),
        ("ListVars", {}),
        ("ReadVar", {"name": "nobody"}),
        ("ReadVar", {"name": "rows"}),
        ("WriteVar", {"name": "note", "value": "x", "desc": "what is left"}),
        ("WriteVar", {"name": "rows", "value": "x"}),
        ("WriteVar", {"name": "bad name", "value": ""}),
        ("ReadVar", {"name": "note", "start": 5}),
        ("RemoveVars", {"names": ["note", "rows", "none"]}),
    ]
    texts = {f"{name}({arguments})": run(harness, name, **arguments) for name, arguments in calls}

    assert texts == snapshot


def returning(value: Any) -> Any:
    return lambda: value


def test_results(snapshot: SnapshotAssertion) -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    values: dict[str, Any] = {
        "a large frame": pd.DataFrame({"n": range(50_000)}),
        "a long text": "y" * 50_000,
        "a text of 500 characters": "x" * 500,
        "an object that cannot be rendered": Broken(),
        "an iterator": iter([1, 2]),
        "None": None,
    }
    texts: Texts = {}
    for title, value in values.items():
        record = make_harness(tool(returning(value), run="auto", name="load")).run(ask_for("load"))
        texts[title] = record.shown if len(record.shown) < 500 else f"{record.shown[:60]} … {record.shown[-200:]}"

    assert texts == snapshot


def test_times_and_stops(snapshot: SnapshotAssertion) -> None:
    release = threading.Event()

    def sleep() -> None:
        release.wait(240)

    def count_on() -> Any:
        while True:
            time.sleep(0.001)
            yield 1

    async def stop() -> None:
        raise KeyboardInterrupt

    tools = {
        "a tool that takes too long and cannot be stopped": tool(sleep, name="called", run="auto", timeout=0.05),
        "a generator that takes too long": tool(count_on, name="called", run="auto", timeout=0.1),
        "a tool that interrupts": tool(stop, name="called", run="auto"),
        "a tool that fails": tool(fail, name="called", run="auto"),
    }
    texts = {title: run(make_harness(one), "called") for title, one in tools.items()}
    release.set()

    assert texts == snapshot


def test_executors(snapshot: SnapshotAssertion) -> None:
    def local(n: int = 0) -> int:
        return n

    with ProcessPoolExecutor(1) as pool:
        tools = (tool(one, run="auto", executor=pool) for one in (far.text_of, local, far.broken))
        harness = make_harness(*tools, notebook={"lock": threading.Lock()}, expose=["lock"])
        texts = {
            "an argument that cannot be sent": run(harness, "text_of", thing="$VAR_REF{{lock}}"),
            "a function that cannot be sent": run(harness, "local"),
            "a result that cannot be sent": run(harness, "broken"),
        }

    assert texts == snapshot


def test_scripts(snapshot: SnapshotAssertion) -> None:
    scripts = {
        "a denied call": "print('so far')\npay(3)",
        "an error": "print('so far')\n1 / 0",
        "other arguments": "double('a', 'b', 'c', 'd')",
        "a value that does not fit": "double('a')",
        "an import": "import os",
        "no Python": "1 +",
        "too long": "x" * 20_001,
        "an unknown name": "open('x')",
        "nothing": "x = 3",
    }

    def approve(question: Any) -> Approved | Denied:
        return Denied("too soon") if question.tool == "pay" else Approved()

    texts = {}
    for title, script in scripts.items():
        texts[title] = run(make_harness(pay, double, script_tools(), approver=approve), "RunScript", script=script)
    with ScriptedWire([call("RunScript", script="for n in range(5):\n    print(double(n))"), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[double, script_tools()], approver=approve)
        turn = chat.send("Go.", settings=TurnSettings(limits=Limits(max_calls=3)))
    texts["more calls than the limit"] = both(turn.calls[0])

    assert texts == snapshot


def test_limits_of_a_turn(snapshot: SnapshotAssertion) -> None:
    poll = call("double", n=1)
    turns: dict[str, tuple[list[Any], dict[str, Any]]] = {
        "the same calls again and again": ([poll, poll, poll, "Done."], {}),
        "more rounds than the limit": ([call("double", n=n) for n in range(2)] + ["Done."], {"max_rounds": 3}),
        "a result that is larger than the bound": (
            [call("make"), "One.", call("double", n=1), "Two."],
            {"result_bytes": 1_000_000},
        ),
    }

    def make() -> object:
        """Make an array."""
        return bytearray(2_000_000)

    texts: Texts = {}
    for title, (replies, settings) in turns.items():
        with ScriptedWire(replies) as wire:
            chat = Chat(wire=wire, tools=[double, tool(make, run="auto")], **settings)
            turn = chat.send("Go.")
            lines = [notice.text for notice in turn.notices] + [both(record) for record in turn.calls[-1:]]
            if title.startswith("a result"):
                lines += [notice.text for notice in chat.send("Again.").notices]
        texts[title] = "\n".join(lines)

    assert texts == snapshot


def test_a_reviewer(snapshot: SnapshotAssertion) -> None:
    texts: dict[str, str] = {}

    @tool
    def pay(amount: int, note: str = "") -> int:
        "Pay an amount."
        return amount + len(note)

    class Silent(ScriptedWire):
        async def stream(self, prompt: Any) -> AsyncGenerator[Any, None]:  # noqa: ARG002 - the shape of an endpoint
            await asyncio.Event().wait()
            yield

    def review(title: str, wire: ScriptedWire, note: str = "", seconds: float = 30) -> None:
        chat = Chat(wire=ScriptedWire([[call("pay", amount=3, note=note)], "Done."]), tools=[pay])
        turn = chat.send("Pay 3.", approver=Reviewer(Chat(wire=wire), rules="Pay below 5.", seconds=seconds))
        asked = [note for event in turn.log if event.kind == "call_asked" for note in event.notes]
        texts[title] = "\n".join([*asked, *(decision_line(one) for one in decisions_of(turn)), turn.calls[0].reason])

    def decisions_of(turn: Any) -> Any:
        return [one for block in turn.transcript().document()["blocks"] for one in block.get("decisions", ())]

    review("It approves", ScriptedWire(['{"decision": "approve", "reason": "3 is below 5."}']))
    review("It hands on", ScriptedWire(['{"decision": "hand_on", "reason": "The note is odd."}']))
    review("It answers anything else", ScriptedWire(["Yes."]))
    review("It fails", ScriptedWire([RuntimeError("x")]))
    review(
        "It answers two decisions",
        ScriptedWire(['{"decision": "hand_on", "decision": "approve", "reason": "3 is below 5."}']),
    )
    review("It is late", Silent([]), seconds=0.05)
    review("The call is too large", ScriptedWire([]), note="x" * 20_000)
    with pytest.raises(BadUsage) as raised:
        Reviewer("openai:gpt-5-mini", rules=" ")
    texts["Without rules"] = str(raised.value)
    assert texts == snapshot
