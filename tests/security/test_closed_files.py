"""What was exposed by reference alone is in no file that a chat writes, also where a path took it out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.chat.export import document
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.journal import journal
from nbtool.chat.turn import Turn
from nbtool.plugins.event_log import EventLog
from nbtool.testing import ScriptedWire, call
from nbtool.tools.calls.disclosure import CLOSED_PROGRESS
from nbtool.tools.script.tool import script_tools
from nbtool.tools.tool import Progress
from tests.chat.export.writing import export

WORDS = ("SENTINEL", "90210")


@tool(run="auto")
def same(it: Any) -> Any:
    """Hand it back."""
    return it


@tool(run="auto")
def say(text: str) -> str:
    """Say a text."""
    return f"{text}!"


@tool(run="auto")
def walk(it: Any) -> Iterator[Any]:
    """Tell what it is at, then count."""
    yield Progress(f"at {it}", 0.5)
    yield f"{it}\n"
    yield "done"


STEPS = [
    call("walk", it="$VAR_REF{{rec['text']}}"),
    call("walk", it="$VAR_REF{{rec}}"),
    call("same", it="$VAR_REF{{rec['text']}}"),
    call("same", it="$VAR_REF{{rec['n']}}"),
    call("same", it="$VAR_REF{{same_1_result}}"),
    call("same", it={"a": ["$VAR_REF{{rec['n']}}"]}),
    call("say", text="$VAR_REF{{words:0:9}}"),
    call("say", text="Got $VAR_REF{{rec['text']}}, and $VAR_REF{{same_2_result}}."),
    call("RunScript", script="found = same('$VAR_REF{{rec}}')\nsame(found['n'])\nprint(say(found['text']))"),
    call("RunScript", script="len(say('$VAR_REF{{words}}'))"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Let a chat hand closed values on in every way, and give every file that comes of it."""
    folder = tmp_path_factory.mktemp("closed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NBTOOL_HOME", str(folder / "home"))
        journal.cache_clear()  # the process's journal may be another test's, with words of its own
        notebook = {"rec": {"text": "SENTINEL-1", "n": 90210}, "words": "SENTINEL-2 and so on"}
        with ScriptedWire([*STEPS, "Done.", "Done again."]) as wire:
            chat = Chat(wire=wire, tools=[same, say, walk, script_tools()], notebook=notebook, approver=_approve,
                        plugins=[EventLog(folder / "log.jsonl")], history="results", max_rounds=20)  # fmt: skip
            for name in notebook:
                chat.variables.expose(name)
            chat.record(folder / "turns.json")
            turn = chat.send("Go.")
            chat.send("And now?")
        assert turn.status == "completed", turn.error
        texts = {
            "requests": repr(wire.prompts),
            "recording": (folder / "turns.json").read_text(),
            "event log": (folder / "log.jsonl").read_text(),
            "journal": "".join(
                path.read_bytes().decode("latin-1") for path in journal().path.parent.rglob("*") if path.is_file()
            ),
            **{name: write(chat, turn, notebook) for name, write in WRITERS.items()},
        }
        journal().close()
        journal.cache_clear()
        return texts


def _approve(question: Any) -> Any:
    return Approved() if question.gate == "run" else question.refusal("no")


WRITERS: dict[str, Callable[[Chat, Turn, dict[str, Any]], str]] = {
    "export json": lambda chat, *_: document.dump_conversation(chat.tree),
    "export md": lambda _, turn, __: as_markdown([turn]),
    "export code": lambda chat, turn, notebook: "\n".join(
        cell.source for cell in export(chat, turn, notebook=notebook).cells
    ),
    "saved turn": lambda _, turn, __: repr(turn._repr_mimebundle_()),
    "content": lambda _, turn, __: turn.content,
}


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("name", ["requests", "recording", "event log", "journal", *WRITERS])
def test_no_file_holds_what_is_closed(files: dict[str, str], name: str) -> None:
    assert len(files[name]) > 100
    assert [word for word in WORDS if word in files[name]] == []


def test_progress_that_is_left_out_is_reported_in_its_place(tmp_path: Path) -> None:
    @tool(run="auto")
    def count(it: Any) -> Iterator[Any]:
        """Tell what it is at."""
        yield Progress("begins", 0.1)
        yield Progress(f"at {it}", 0.5)

    with ScriptedWire([call("count", it="$VAR_REF{{rec}}"), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[count], plugins=[EventLog(tmp_path / "log.jsonl")])
        chat.expose(rec={"text": "SENTINEL-1"})
        chat.send("Go.")
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    actual = "".join(event["text"] for event in events if event["kind"] == "call_progress")

    assert CLOSED_PROGRESS in actual
    assert "SENTINEL" not in actual
