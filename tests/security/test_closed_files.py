"""What was exposed by reference alone is in no file that a chat writes, also where a path took it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.chat.export import document
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.journal import journal
from nbtool.chat.turn import Turn
from nbtool.plugins.event_log import EventLog
from nbtool.testing import ScriptedWire, call
from nbtool.tools.script.tool import script_tools
from tests.chat.export.writing import written

WORDS = ("SENTINEL", "90210")


@tool(run="auto")
def same(it: Any) -> Any:
    """Hand it back."""
    return it


@tool(run="auto")
def say(text: str) -> str:
    """Say a text."""
    return f"{text}!"


STEPS = [
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
            chat = Chat(wire=wire, tools=[same, say, script_tools()], notebook=notebook, approver=_approve,
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
    "export json": lambda chat, *_: document.as_json(chat.tree),
    "export md": lambda _, turn, __: as_markdown([turn]),
    "export code": lambda chat, turn, notebook: "\n".join(
        cell.source for cell in written(chat, turn, notebook=notebook).cells
    ),
    "saved turn": lambda _, turn, __: repr(turn._repr_mimebundle_()),
    "content": lambda _, turn, __: turn.content,
}


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("name", ["requests", "recording", "event log", "journal", *WRITERS])
def test_no_file_holds_what_is_closed(files: dict[str, str], name: str) -> None:
    assert len(files[name]) > 100
    assert [word for word in WORDS if word in files[name]] == []
