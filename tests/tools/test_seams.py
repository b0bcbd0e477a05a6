"""What happens at the seams of tools: objects that are gone, values that cannot be read, answers that come too late."""

# ruff: noqa: ARG001 - approvers are given a question, whether they read it or not

from __future__ import annotations

import asyncio
import functools
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import Any

import docstring_parser
import numpy as np
import pandas as pd
import pytest
import xarray
from pydantic import BaseModel, field_validator

from nbtool import Chat
from nbtool.errors import InvalidArguments, ToolFailed, UnknownReference
from nbtool.loop import LentThread
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedWire, call
from nbtool.tools import Approved, Denied, deliver, gate, tool
from nbtool.tools.approval import Desk, Policy, Question, Ruling
from nbtool.tools.bound import bind
from nbtool.tools.call import RunningCall
from nbtool.tools.closed import may_quote
from nbtool.tools.describe import describe
from nbtool.tools.executors import InExecutor, _named, _unsendable
from nbtool.tools.glance import glance
from nbtool.tools.json_schema import inlined
from nbtool.tools.places import OnLent, in_worker
from nbtool.tools.private_files import why_private
from nbtool.tools.references import resolve
from nbtool.tools.render import render
from nbtool.tools.schema import parameters_of
from nbtool.tools.script import script_tools
from nbtool.tools.script_code import checked
from nbtool.tools.script_run import ScriptRun
from nbtool.tools.tool import Options, Tool, tools_of
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables import MAX_GONE, Variables
from tests.tools.calling import ask_for, desktop


@tool
def look(n: int) -> int:
    """Look."""
    return n


# --- answers --------------------------------------------------------------------------------------------------


def test_an_approver_that_answers_after_somebody_else_did_changes_nothing() -> None:
    desk = desktop(look)

    def late(question: Question) -> Approved:
        desk.bench.desk.decide(question.digest, Approved(), by="button")
        return Approved(arguments={"n": 99})

    desk.bench.approver = late
    record = desk.run(ask_for("look", n=1))

    assert (record.status, record.result) == ("ok", 1)
    assert [decided.by for decided in record.decisions] == ["button"]


# --- objects that are gone ------------------------------------------------------------------------------------


def test_an_error_after_its_object_is_gone_counts_as_one_that_may_quote_it() -> None:
    variables = Variables({"secret": "hunter2"})
    variables.expose("secret", readable=True)
    told = tool(lambda text: text, name="told", run="auto")
    bound = bind(tools_of(told)[0], {"text": "$VAR_REF{{secret}}"}, variables)
    error = ValueError("hunter2 is no number")

    assert not may_quote(error, bound, variables)
    variables.hide("secret")
    assert may_quote(error, bound, variables)
    assert not may_quote(ToolFailed("hunter2 is no number"), bound, variables)
    assert not may_quote(None, bound, variables)


def test_an_exposed_variable_that_is_gone_is_no_object_of_any_name() -> None:
    notebook = {"a": [1]}
    variables = Variables(notebook)
    variables.expose("a")
    value = notebook.pop("a")

    assert variables.describe("a") == "'a' is no longer defined in the notebook."
    assert not variables.is_closed(value)


def test_names_that_are_there_again_are_not_said_to_be_gone() -> None:
    variables = Variables({})
    name = variables.remember("kept", [1], description="")
    variables.bury([name, "lost"], "it was in another chat")

    assert variables.value(name) == [1]
    with pytest.raises(UnknownReference, match="it was in another chat"):
        variables.value("lost")


def test_only_so_many_lost_names_are_remembered() -> None:
    variables = Variables({})
    variables.bury([f"n{number}" for number in range(MAX_GONE + 1)], "it was in another chat")

    with pytest.raises(UnknownReference, match="it was in another chat"):
        variables.value("n1")
    with pytest.raises(UnknownReference) as raised:
        variables.value("n0")
    assert "another chat" not in str(raised.value)


# --- tables and descriptions ----------------------------------------------------------------------------------


def test_a_table_that_cannot_be_read_is_not_glanced_at() -> None:
    assert glance(pd.DataFrame.__new__(pd.DataFrame)) is None


def test_a_tensor_is_described_by_its_type_and_shape() -> None:
    class Tensor:
        dtype = "torch.float32"
        shape = (2, 3)

    Tensor.__module__ = "torch"

    assert describe(Tensor()) == "Tensor, float32, shape (2, 3)"


# --- schemas --------------------------------------------------------------------------------------------------


def test_a_docstring_that_cannot_be_parsed_is_the_description(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str) -> None:
        raise docstring_parser.ParseError("no")

    monkeypatch.setattr(docstring_parser, "parse", refuse)

    def odd(n: int) -> None:
        """Odd: as it is."""

    description, parameters = parameters_of(odd)
    assert description == "Odd: as it is."
    assert parameters.schema["properties"]["n"] == {"type": "integer"}


def test_types_that_refer_to_each_other_in_a_circle_stay_references() -> None:
    shared = {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}, "c": {"$ref": "#/$defs/C"}}},
        "B": {"anyOf": [{"$ref": "#/$defs/C"}, {"$ref": "#/$defs/A"}]},
        "C": {"type": "string"},
    }
    made = inlined({"properties": {"a": {"$ref": "#/$defs/A", "description": "first"}}, "$defs": shared})

    assert set(made["$defs"]) == {"A", "B"}
    assert made["properties"]["a"]["$ref"] == "#/$defs/A"
    assert made["$defs"]["A"]["properties"]["c"] == {"type": "string"}


class Forgetful(BaseModel):
    """Takes anything, and keeps nothing of it."""

    items: Any = None

    @field_validator("items", mode="after")
    @classmethod
    def nothing(cls, items: Any) -> Any:
        return {"a": ()} if isinstance(items, dict) else None


@pytest.mark.parametrize("items", ["$VAR_REF{{thing}}", ["$VAR_REF{{thing}}"], {"a": ["$VAR_REF{{thing}}"]}])
def test_an_object_that_validation_would_lose_is_not_taken(items: Any) -> None:
    def buy(order: Forgetful) -> None: ...

    variables = Variables({"thing": object()})
    variables.expose("thing")
    _, parameters = parameters_of(buy)

    with pytest.raises(InvalidArguments, match="'order': a reference cannot stand at"):
        parameters.check(resolve({"order": {"items": items}}, variables))


@pytest.mark.parametrize(
    ("value", "is_taken"), [(np.int64(3), True), (np.array(3), True), (np.array([3]), False), (3.5, False)]
)
def test_a_number_of_numpy_passes_for_a_number(value: Any, is_taken: bool) -> None:
    variables = Variables({"n": value})
    variables.expose("n")
    _, parameters = parameters_of(look)
    resolved = resolve({"n": "$VAR_REF{{n}}"}, variables)

    if is_taken:
        assert parameters.check(resolved)["n"] is value
    else:
        with pytest.raises(InvalidArguments, match="integer is expected"):
            parameters.check(resolved)


def test_the_mark_of_a_tool_stays_behind_when_its_function_is_sent_away() -> None:
    assert pickle.loads(pickle.dumps(Options(timeout=3.0))) is None


# --- files and scripts ----------------------------------------------------------------------------------------


def test_a_path_without_any_part_is_private_to_nobody() -> None:
    assert why_private(PurePosixPath()) == ""
    assert why_private(PurePosixPath("/proc")) == "it belongs to the system"
    assert why_private(PurePosixPath("/home/ada/.jupyter/notebook_cookie_secret"))


@pytest.mark.parametrize("name", ["notebook_cookie_secret", "jupyter_cookie_secret"])
def test_the_secrets_of_the_notebook_server_are_private_wherever_they_lie(name: str) -> None:
    assert why_private(PurePosixPath("/data") / name) != ""


@pytest.mark.parametrize("script", ["a = '\0'", "(" * 300 + ")" * 300, "-" * 3_000 + "1"])
def test_a_script_that_python_cannot_even_parse_is_refused_in_its_words(script: str) -> None:
    with pytest.raises(ValueError, match="Python: "):
        checked(script)


def test_a_reference_in_a_pattern_is_left_as_it_is() -> None:
    assert checked(
        "match {'$VAR_REF{{a}}': 1}:\n    case {'$VAR_REF{{a}}': 1}:\n        1\n    case '$VAR_REF{{a}}':\n        2"
    )


# --- places ---------------------------------------------------------------------------------------------------


def test_a_call_that_is_over_at_its_executor_leaves_nothing_to_stop() -> None:
    async def done() -> str:
        with ThreadPoolExecutor(1) as pool:
            place = InExecutor(pool, lambda: None)
            before = place.stop()
            place._is_closed = False
            await place.do(lambda: 1)
            return f"{before}, {place.stop()}"

    assert asyncio.run(done()) == "not sure, idle"


def test_what_cannot_be_sent_is_named_and_what_is_no_partial_is_not_looked_into() -> None:
    work = functools.partial(max, 1, key=lambda one: one)

    assert list(_unsendable(len)) == []
    assert next(_unsendable(work)).startswith("the argument 'key' (")
    assert list(_unsendable(functools.partial(max, 1))) == []
    assert str(_named(TypeError("cannot pickle 'lock'"), len, ThreadPoolExecutor(1))).endswith(
        "what the tool gives back cannot be pickled."
    )
    assert isinstance(_named(ValueError("cannot pickle"), work, ThreadPoolExecutor(1)), ValueError)


# --- small things that matter ---------------------------------------------------------------------------------


def test_edited_arguments_are_told_in_their_own_letters() -> None:
    said = tool(lambda text: text, name="say")
    desk = desktop(said, approver=lambda _: Approved(arguments={"text": "Zürich 東京"}))
    record = desk.run(ask_for("say", text="x"))

    assert record.result == "Zürich 東京"
    assert record.edited == desk.of("call_started")[0].edited == '{"text": "Zürich 東京"}'


def test_an_answer_that_comes_after_the_decision_is_no_error() -> None:
    async def asked() -> tuple[object, object]:
        desk = Desk()
        pending = desk.ask(Question("c1", "run", "d1", "look", "{}"))

        def late(question: Question) -> Denied:
            desk.decide(question.digest, Approved(), by="button")
            return Denied("too late")

        await gate._ask(pending.question, desk, late, LentThread())
        return await pending, desk.pending()

    assert asyncio.run(asked()) == (Ruling(Approved(), "button"), ())


def test_a_toolset_keeps_its_name_under_another_policy() -> None:
    assert Toolset("mine", [look]).approved(Policy("auto")).name == "mine"


def test_fresh_variables_have_the_bounds_of_the_old_ones() -> None:
    variables = Variables({}, max_entries=1, max_bytes=10_000).afresh()
    names = [variables.remember(f"n{number}", [number], description="") for number in range(2)]

    with pytest.raises(UnknownReference, match="make room"):
        variables.value(names[0])
    assert variables.value(names[1]) == [1]
    assert variables.afresh().entries() == ()


def test_a_short_text_of_its_own_can_be_closed_and_a_single_letter_cannot() -> None:
    notebook = {"pair": "".join(["a", "b"]), "letter": "a", "one": 1}
    variables = Variables(notebook)
    for name in notebook:
        variables.expose(name)

    assert [variables.is_closed(value) for value in notebook.values()] == [True, False, False]


def test_arguments_are_described_by_what_they_refer_to() -> None:
    variables = Variables({"frame": pd.DataFrame({"a": [1]})})
    variables.expose("frame")
    shown = tool(lambda data, note: (data, note), name="show")
    bound = bind(tools_of(shown)[0], {"data": "$VAR_REF{{frame}}", "note": "see é"}, variables)

    assert bound.described["note"] == '"see é"'
    assert "DataFrame" in bound.described["data"]
    assert bound.question("c1", "run", "{}").resolved == bound.described
    assert bound.question("c1", "run", "{}").arguments == {"data": "$VAR_REF{{frame}}", "note": "see é"}
    assert bound.question("c1", "run", "{}", attempt=1).digest != bound.question("c1", "run", "{}").digest


def test_a_cell_of_a_table_library_is_told_in_its_own_words() -> None:
    seen = glance([pd.Timestamp("2026-01-02"), np.float64(1.5), object()])

    assert seen == {"columns": [""], "rows": [["2026-01-02 00:00:00"], ["1.5"], ["object"]]}


def test_a_tensor_and_what_cannot_be_drawn_are_objects_beside_their_text() -> None:
    class Odd:
        def _repr_llm_(self) -> str:
            raise ValueError("no")

        def __repr__(self) -> str:
            raise ValueError("no")

    small = xarray.DataArray(np.arange(3.0), dims="x")
    assert (render(small).is_whole, render(small).is_object) == (True, True)
    assert (render(Odd()).is_whole, render(Odd()).is_object) == (False, True)


def test_a_list_that_is_cut_says_once_how_much_is_missing() -> None:
    drawn = render(list(range(10_000)), 200)

    assert not drawn.is_whole
    assert drawn.text.count("more items") == 1


def test_what_a_script_may_not_hold_is_named() -> None:
    refused = {
        "import os": "imports",
        "from os import path": "imports",
        "class A: pass": "classes",
        "async def f(): pass": "async",
        "def f():\n    yield 1": "yield",
        "def f():\n    yield from a": "yield",
        "try:\n    1\nexcept:\n    2": "a bare except",
        "a.__class__": "names that begin with _",
        "global _a": "names that begin with _",
    }

    for script, what in refused.items():
        with pytest.raises(ValueError, match=rf"^a script without {what}\b"):
            checked(script)


@tool(run="auto")
def count(items: list[Any]) -> int:
    "Count."
    return len(items)


def test_a_script_may_hand_on_what_json_cannot_say() -> None:
    desk = desktop(count, script_tools(), approver=lambda _: Approved())
    script = "a = [1]\na.append(a)\ncount(a)"

    assert desk.run(ask_for("RunScript", script=script)).result == 2


def test_a_script_may_match_keys_that_look_like_references() -> None:
    script = """
match {"a": 1}:
    case {"$VAR_REF{{a}}": 1}:
        print("a reference")
    case {"a": 1}:
        print("a key")
"""

    assert (
        desktop(script_tools(), approver=lambda _: Approved()).run(ask_for("RunScript", script=script)).shown == "a key"
    )


def test_a_call_that_a_script_makes_as_it_is_stopped_is_not_made() -> None:
    made = []
    noted = tool(lambda: made.append(1), name="noted", run="auto")

    async def stopped() -> None:
        bench = desktop(noted).bench
        run = ScriptRun(RunningCall(bench, "c1", 1), asyncio.get_running_loop(), without="RunScript")
        run.stop()
        with pytest.raises(asyncio.CancelledError):
            await run._within(bench.tools.get("noted"), {})

    asyncio.run(stopped())
    assert made == []


def test_a_tool_that_became_another_before_its_turn_is_looked_at_anew() -> None:
    offered: dict[str, Tool] = {}
    (second,) = tools_of(tool(lambda n: f"second {n}", name="swap", run="auto"))

    def first(n: int) -> str:
        offered["swap"] = second
        return f"first {n}"

    (offered["swap"],) = tools_of(tool(first, name="swap", run="auto"))

    class Swapping(Toolset):
        """Offers one tool, and another after that was called."""

        def tools(self) -> dict[str, Tool]:
            return dict(offered)

        def get(self, name: str) -> Tool:
            return offered[name]

    with ScriptedWire([[call("swap", n=1), call("swap", n=2)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[Swapping("swapping")]).send("Go.")

    assert [record.result for record in turn.calls] == ["first 1", "second 2"]


def test_work_that_was_stopped_before_its_turn_is_not_begun() -> None:
    begun: list[str] = []
    place = OnLent(LentThread(), lambda: begun.append("begun"))

    assert place.stop() == "idle"
    assert isinstance(place._guarded(lambda: begun.append("worked")).error, KeyboardInterrupt)
    assert begun == []


def test_work_in_a_thread_that_nobody_waits_for_any_more_ends_by_itself() -> None:
    async def forgotten() -> bool:
        goes_on, ended = threading.Event(), asyncio.Event()
        future = in_worker(goes_on.wait, done=ended.set)
        future.cancel()
        goes_on.set()
        await asyncio.wait_for(ended.wait(), 10)
        return future.cancelled()

    assert asyncio.run(forgotten())


class Pair(BaseModel):
    left: int
    right: int


def test_plain_values_inside_a_model_may_come_by_reference() -> None:
    def take(pair: Pair) -> None: ...

    variables = Variables({"one": 1, "two": 2})
    for name in ("one", "two"):
        variables.expose(name)
    _, parameters = parameters_of(take)
    pair = {"left": "$VAR_REF{{one}}", "right": "$VAR_REF{{two}}"}

    assert parameters.check(resolve({"pair": pair}, variables)) == {"pair": Pair(left=1, right=2)}


def test_what_a_drawing_package_made_and_nobody_can_draw_has_no_picture() -> None:
    odd = type("Odd", (), {"__module__": "matplotlib.odd"})()
    give = tool(lambda: odd, name="give", run="auto")
    record = desktop(give).run(ask_for("give"))

    assert (record.status, record.pictures, record.pictures_left_out) == ("ok", (), 0)


@pytest.mark.parametrize(
    ("arguments", "status"), [("", "not_run"), ("{}", "not_run"), ('{"n": ', "invalid"), ("[1]", "invalid")]
)
def test_a_call_that_may_not_run_is_told_apart_from_one_that_cannot_be_read(arguments: str, status: str) -> None:
    record = desktop(look).run(ToolCall("look", arguments, id="t1", call_id="c1"))

    assert (record.status, record.result) == (status, None)


def test_a_result_that_takes_too_long_to_draw_is_told_without_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliver, "RENDER_SECONDS", 0.05)
    goes_on = threading.Event()

    class Slow:
        def _repr_png_(self) -> bytes | None:
            goes_on.wait(10)
            return None

    Slow.__module__ = "matplotlib.odd"
    give = tool(lambda: Slow(), name="give", run="auto")
    record = desktop(give).run(ask_for("give"))
    goes_on.set()

    assert (record.status, record.pictures, type(record.result)) == ("ok", (), Slow)
