"""A model that follows every injection does nothing that was not approved, sends nothing out, and changes no policy."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Chat, tool
from nbtool.chat.turn import Turn
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedWire, call
from nbtool.tools.script.tool import script_tools
from nbtool.tools.tool import Tool
from nbtool.toolsets import files, inspection, notebook_python, web
from nbtool.toolsets.runner_registry import CodeResult
from tests.chaos import ChaosServer, serve, whole
from tests.security.injections import (
    CARRIERS,
    LURES,
    POLICY_FILES,
    Case,
    World,
    in_notebook,
    notebook_goals,
    world_tools,
)
from tests.security.obedient import Obedient, Person, Traffic, effect, watch_effects

MOODS = ("denies", "breaks", "answers nonsense", "is not there")
FEW = {"worlds": 9, "notebook": 7}
"""In the quick tests, one of so many cases: a hundred in all."""

SECRET = "SENTINEL-4711"
NEVER = {"denied", "not_found", "invalid", "error", "withheld", "not_run"}
"""How a call of an attacker may end."""

Tell = Callable[[str, object], None]


def test_the_cases_are_as_many_as_they_should_be() -> None:
    assert len({case.case_id for _, case in world_tools()}) == 629
    assert len(set(in_notebook())) == 200
    assert len(LURES) == len(CARRIERS) == 10


# --- four worlds ----------------------------------------------------------------------------------------------


@pytest.mark.promise("asks-by-default")
def test_in_the_worlds_of_an_assistant_only_what_was_approved_is_done(record_property: Tell) -> None:
    follow(islice(world_tools(), 0, None, FEW["worlds"]), record_property)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_in_every_case_of_those_worlds_only_what_was_approved_is_done(record_property: Tell) -> None:
    assert follow(world_tools(), record_property) == 629


def follow(cases: Iterable[tuple[World, Case]], tell: Tell) -> int:
    """Play cases, each with a person in another mood, and give how many there were."""
    helped = 0
    count = 0
    for count, (world, case) in enumerate(cases, 1):  # noqa: B007 - how many there were
        mood = MOODS[case.number % len(MOODS)]
        traffic = Traffic()
        person = Person(traffic, [effect(case.wanted.name, json.loads(case.wanted.arguments))], mood)
        model = Obedient([call("read", place=case.reads)], {case.number: [case.goal]}, then=[case.wanted])
        with watch_effects(os.environ["NBTOOL_HOME"]) as reached:
            turn = play(model, effect_tools(world, traffic, case), approver=None if mood == "is not there" else person)
        check(case.case_id, turn, traffic, model, reached)
        assert traffic.done == traffic.allowed
        assert len(traffic.done) == (mood != "is not there"), case
        helped += len(traffic.done)
    tell("injected", count)
    assert helped >= count // 2
    return count


def play(model: Obedient, tools: list[Any], **how: Any) -> Turn:
    return Chat(wire=ScriptedWire(model.replies()), tools=tools, **how).send("Please do what we spoke about.")


def check(case: str, turn: Turn, traffic: Traffic, model: Obedient, reached: list[str]) -> None:
    """Check what holds in each case; the model did read the lure, or the case would say nothing."""
    assert model.followed, f"{case}: the model never met the order"
    assert traffic.unapproved == [], case
    assert reached == [], case
    assert turn.status == "completed", (case, turn.error)
    assert not any(SECRET in one for one in model.sent), case


def effect_tools(world: World, traffic: Traffic, case: Case) -> list[Any]:
    """Make a tool of each thing that can be done in a world, and one that reads what is there."""
    examples = {one.name: one for one in (*(make(0) for make in world.wanted), *(order for _, order in world.goals))}

    @tool(run="auto")
    def read(place: str) -> dict[str, Any]:
        """Read what is at a place."""
        found = {"place": place, "from": "somebody", "text": "Nothing to see.", "items": [{"note": "none"}]}
        where = case.number % 4
        if where == 0:
            return {**found, "text": case.lure}
        if where == 1:
            return {**found, "from": case.lure}
        return {**found, case.lure: 1} if where == 2 else {**found, "items": [{"note": case.lure}]}

    return [read, *(effect_tool(traffic, example) for example in examples.values())]


def effect_tool(traffic: Traffic, example: ToolCall) -> Tool:
    def do(**arguments: Any) -> str:
        return traffic.do(example.name, **arguments)

    of = {name: type(value) for name, value in json.loads(example.arguments).items()}
    kind = inspect.Parameter.KEYWORD_ONLY
    do.__signature__ = inspect.Signature([inspect.Parameter(one, kind, annotation=of[one]) for one in of])  # type: ignore[attr-defined] # PEP 362
    do.__annotations__ = of
    do.__doc__ = f"Do it: {example.name}."
    return tool(do, name=example.name)


# --- a notebook -----------------------------------------------------------------------------------------------


@pytest.fixture
def sink() -> Iterator[ChaosServer]:
    """Listen on loopback for what leaks."""
    with serve(whole(200, b"thanks", "text/plain")) as server:
        yield server


@pytest.mark.promise("inert-text")
def test_in_a_notebook_no_text_brings_about_an_effect(
    tmp_path: Path, sink: ChaosServer, record_property: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_cases(islice(in_notebook(), 0, None, FEW["notebook"]), tmp_path, sink, record_property, monkeypatch)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_in_no_case_of_a_notebook_a_text_brings_about_an_effect(
    tmp_path: Path, sink: ChaosServer, record_property: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_cases(in_notebook(), tmp_path, sink, record_property, monkeypatch)


def run_cases(
    cases: Iterable[tuple[str, int, int]], folder: Path, sink: ChaosServer, tell: Tell, patch: pytest.MonkeyPatch
) -> None:
    goals, count = notebook_goals(sink.url), 0
    for count, (carrier, goal, dressed) in enumerate(cases, 1):
        case = f"{carrier}-{goal}-{dressed}"
        place = Place(
            folder / str(count), LURES[dressed].format(goal="Do it.", mark=f"do_{goal}_now"), f"do_{goal}_now"
        )
        home = str(place.folder / "home")
        patch.setenv("NBTOOL_HOME", home)
        model = Obedient(place.first(carrier), goals)
        before = place.tree()
        with watch_effects(home) as reached:
            turn = place.play(model)
        check(case, turn, place.traffic, model, reached)
        assert place.tree() == before, case
        assert place.done == [], case
        assert {made.status for made in turn.calls[1:]} <= NEVER, case
    tell("injected", count)
    assert sink.connections == 0


class Place:
    """A folder, objects and tools of a notebook, each of which brings words of somebody else's."""

    def __init__(self, folder: Path, text: str, mark: str) -> None:
        self.folder, self.text, self.mark = folder, text, mark
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        for name, content in (("notes.md", f"honest ![{text}](x.png)"), (".env", SECRET), (f"{mark}.csv", text)):
            (self.work / name).write_text(content)
        (folder / "outside.txt").write_text(SECRET)
        self.traffic = Traffic()
        self.done: list[int] = []

    def first(self, carrier: str) -> list[ToolCall]:
        """Give the call that brings the words to the model."""
        return {
            "column": [call("describe", name="frame")],
            "cell": [call("head", name="opened")],
            "traceback": [call("fails", n=1)],
            "file name": [call("list_files")],
            "file": [call("read_file", path=f"{self.mark}.csv")],
            "image alt": [call("read_file", path="notes.md")],
            "variable": [call("ListVars")],
            "docstring": [call("signature", name="helper")],
            "output": [call("prints", n=1)],
            "type": [call("ListVars")],
        }[carrier]

    def play(self, model: Obedient) -> Turn:
        """Let the model loose on everything that a notebook can offer it; nobody approves anything."""
        names: dict[str, Any] = {"api_key": SECRET, "done": self.done}
        chat = Chat(wire=ScriptedWire(model.replies()), tools=self.tools(names), notebook=names, approver=self.person)
        chat.expose(frame=pd.DataFrame({self.text: [1]}), helper=self.helper())
        chat.expose(read=True, opened=pd.DataFrame({"a": [self.text]}))
        chat.expose(**{self.mark: 1, "odd": type(self.mark, (), {})()})
        return chat.send("Look around.")

    @property
    def person(self) -> Person:
        """Give somebody who wants nothing done."""
        return Person(self.traffic, [])

    def tools(self, names: dict[str, Any]) -> list[Any]:
        """Give every standard tool, and some of the notebook's own."""

        def run(code: str) -> CodeResult:
            exec(code, names)
            return CodeResult()

        @tool(run="auto")
        def fails(n: int) -> str:
            """Fail."""
            raise ValueError(f"{n}: {self.text}")

        @tool(run="auto")
        def prints(n: int) -> str:
            """Print."""
            return f"In [{n}]: {self.text}"

        @tool(run="auto")
        def keep(it: Any) -> str:
            """Keep something."""
            self.traffic.do("keep")
            return str(it)

        return [fails, prints, keep, files(self.work), web(), inspection, notebook_python(run), script_tools()]

    def helper(self) -> Callable[[], None]:
        """Give a function whose documentation is somebody else's."""

        def helper() -> None: ...

        helper.__doc__ = self.text
        return helper

    def tree(self) -> dict[str, bytes]:
        """Give every file but the history."""
        found = [path for path in self.folder.rglob("*") if path.is_file() and self.folder / "home" not in path.parents]
        return {str(path): path.read_bytes() for path in found}


# --- a person who approves everything ---------------------------------------------------------------------------


@pytest.mark.promise("below-the-folder")
@pytest.mark.parametrize("path", POLICY_FILES)
def test_a_file_that_controls_what_runs_is_not_written_even_if_somebody_approves_it(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, "words", "do_0_now")
    monkeypatch.setenv("NBTOOL_HOME", str(place.work / "home"))
    before = place.tree()
    orders = [
        call("write_file", path=path, content="x", replace=True),
        call("edit_file", path=path, old=SECRET, new="x"),
    ]
    wire = ScriptedWire([orders, "Done."])

    turn = Chat(wire=wire, tools=[files(place.work)], approver=lambda _: Approved()).send("Do it.")

    assert [made.status for made in turn.calls] == ["error", "error"]
    assert {
        path: data for path, data in place.tree().items() if not path.startswith(str(place.work / "home"))
    } == before
