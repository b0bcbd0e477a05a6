"""A new event: the page on development names every module that treats events one by one, and what suffices."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

from nbtool.events import DELTAS, Event

ROOT = Path(__file__).parents[2]
STORED_EVENTS = [event for event in get_args(Event) if event not in DELTAS]
STORED = {event.__name__ for event in STORED_EVENTS}
NAME_OF_KIND = {
    field.default: event.__name__ for event in STORED_EVENTS for field in fields(event) if field.name == "kind"
}
MANY = 4
"""A module that names as many events treats them one by one."""


def section() -> str:
    """Return what the page says of new events."""
    page = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    return page.split("\n## A new event\n")[1].split("\n## ")[0]


def events_of(expression: ast.AST) -> Iterator[str]:
    """Give the events that an expression names, by their classes or kinds."""
    for node in ast.walk(expression):
        name = getattr(node, "id", "") or getattr(node, "attr", "") or NAME_OF_KIND.get(getattr(node, "value", ""), "")
        if name in STORED:
            yield name


def distinguished(source: str) -> set[str]:
    """Return the events that code tells from others: in a `match`, a comparison, a table or a set."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.MatchClass():
                found.update(events_of(node.cls))
            case ast.Call(func=ast.Name("isinstance")):
                found.update(events_of(node.args[1]))
            case ast.Compare():
                found.update(name for part in (node.left, *node.comparators) for name in events_of(part))
            case ast.Dict():
                found.update(name for key in node.keys if key for name in events_of(key))
            case ast.Set() | ast.Tuple() | ast.List():
                plain = (item for item in node.elts if isinstance(item, ast.Name | ast.Attribute | ast.Constant))
                found.update(name for item in plain for name in events_of(item))
    return found


def test_events_are_found_in_every_form() -> None:
    forms = ["match e:\n    case Notice(): pass", "isinstance(e, events.Notice)", "type(e) is Notice",
             "{Notice: 1}", "frozenset({Notice})", "e.kind == 'notice'", "KINDS = ('notice',)"]  # fmt: skip

    assert [distinguished(form) for form in forms] == [{"Notice"}] * len(forms)
    assert distinguished("Notice('text')") == set()


def test_the_page_names_each_module_that_treats_events_one_by_one() -> None:
    package = ROOT / "nbtool"
    counts = {
        path.relative_to(package).as_posix(): len(distinguished(path.read_text(encoding="utf-8")))
        for path in package.rglob("*.py")
        if path.parent.name != "events"
    }
    named = set(re.findall(r"`(?:nbtool/)?((?:\w+/)*\w+\.py)`", section())) - {"calls.py"}
    named = {path for path in named if not path.startswith(("tests/", "events/"))}

    assert sorted({path for path, count in counts.items() if count >= MANY} - named) == []
    assert sorted(path for path in named if not counts.get(path)) == []


CLASS = '''

@dataclass(frozen=True, slots=True)
class CallMarked:
    """A call was marked."""

    call_id: str = field(metadata=OWN)
    mark: str = field(metadata=TEXT)
    note: str = ""
    kind: Literal["call_marked"] = field(default="call_marked", metadata=OWN)
'''

PROGRAM = """
import io
import nbtool.events
from nbtool import Chat, tool
from nbtool.audience import AUDIENCES
from nbtool.blocks.history.turn_steps import detail
from nbtool.blocks.render.terminal import Terminal
from nbtool.chat.journal import journal, queries
from nbtool.chat.subchat import subchat
from nbtool.event_filter import filter_events
from nbtool.event_json import dump_event, load_event
from nbtool.events import CallMarked
from nbtool.plugins import EventLog
from nbtool.testing import ScriptedWire, call
from nbtool.tools.calls.runtime import current_call

@tool(run="auto")
async def mark() -> str:
    "Mark this call."
    running = current_call()
    await running.runtime.emit(CallMarked(running.call_id, "red", "blue"))
    return "marked"

def marks(log):
    return [event.mark for event in log if isinstance(event, CallMarked)]

inner, outer = ScriptedWire([call("mark"), "Marked."]), ScriptedWire([call("ask", question="Mark it."), "Done."])
with inner, outer:
    ask = subchat(Chat(wire=inner), tools=[mark])
    chat = Chat(wire=outer, tools=[ask], plugins=[EventLog("log.jsonl")])
    turn = chat.send("Go.")
stored = journal().read(lambda connection: queries.chat_events(connection, chat.chat_id))
terminal = Terminal(io.StringIO())
for event in turn.log:
    terminal.feed(event)
detail(turn)
print(turn.status, "CallMarked" in nbtool.events.__all__)
print("turn", marks(turn.log))
print("history", "red" in str(stored))
print("json", [load_event(dump_event(event)) == event for event in turn.log if isinstance(event, CallMarked)])
shown = {audience: str(filter_events(turn.log, audience)) for audience in AUDIENCES}
print("hidden", [audience for audience in shown if "red" not in shown[audience]])
print("private", [audience for audience in shown if "blue" in shown[audience]])
print("log", "red" in open("log.jsonl").read())
"""


def test_what_the_page_says_suffices_for_an_event_of_a_call(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "nbtool", tmp_path / "nbtool", ignore=shutil.ignore_patterns("__pycache__", "static"))
    calls, union = (tmp_path / "nbtool" / "events" / name for name in ("calls.py", "__init__.py"))
    calls.write_text(calls.read_text(encoding="utf-8") + CLASS, encoding="utf-8")
    edited = union.read_text(encoding="utf-8")
    for before, after in (("CallDecided, CallFinished,", "CallDecided, CallFinished, CallMarked,"),
                          ('    "CallFinished",\n', '    "CallFinished",\n    "CallMarked",\n'),
                          ("| CallFinished |", "| CallFinished | CallMarked |")):  # fmt: skip
        assert edited.count(before) == 1
        edited = edited.replace(before, after)
    union.write_text(edited, encoding="utf-8")

    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env={"NBTOOL_HOME": str(tmp_path / "home"), "PATH": ""},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "completed True",
        "turn ['red']",
        "history True",
        "json [True]",
        "hidden []",
        "private ['person']",
        "log True",
    ]
