from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest

from nbtool import Chat
from nbtool.testing import ScriptedWire, call
from tests.magics.commands.saying import said


@pytest.fixture
def talked(shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a shell in which a cell has had two functions called."""
    monkeypatch.chdir(tmp_path)
    wire = ScriptedWire([call("double", n=4), call("rows", frame="$VAR_REF{{frame}}"), "Eight and three."])
    chat = shell.magics_manager.registry["ChatMagics"].workbench.chat("main")
    chat.model = Chat(wire=wire).model
    shell.run_cell("%%chat -q -t double rows -v frame --approve auto\nDouble it.")
    return shell


def test_code_puts_the_calls_into_the_next_cell(talked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(talked, "code", capsys)
    talked.user_ns.pop("r1", None)
    assert talked.run_cell(talked.rl_next_input).success

    assert "next cell (2 calls)" in text
    assert (talked.user_ns["r1"], talked.user_ns["r2"]) == (8, 3)
    assert talked.user_ns["received"][-1] is talked.user_ns["frame"]


def test_code_of_a_named_turn(talked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    chat = talked.magics_manager.registry["ChatMagics"].workbench.chat("main")
    turn_id = chat.tree.line[0].turn.turn_id

    assert "2 calls" in said(talked, f"code {turn_id}", capsys)
    assert turn_id in talked.rl_next_input
    assert "takes one turn at most" in said_wrong(talked, "code a b", capsys)


def said_wrong(shell: Any, command: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    shell.run_cell(f"%chat {command}")
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.parametrize(("kind", "ending"), [("md", "md"), ("json", "json"), ("code", "py"), ("ipynb", "ipynb")])
def test_export_writes_a_file_and_overwrites_none(
    talked: Any, capsys: pytest.CaptureFixture[str], kind: str, ending: str
) -> None:
    path = Path(f"main.{ending}")

    assert said(talked, f"export {kind}", capsys) == f"Written: {path}\n"
    first = path.read_bytes()
    assert "is not overwritten" in said_wrong(talked, f"export {kind}", capsys)
    assert path.read_bytes() == first
    assert "Written" in said(talked, f"export {kind} --overwrite", capsys)
    assert "Written" in said(talked, f"export {kind} 'other name.{ending}'", capsys)


def test_exported_files_are_what_they_say(talked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("md", "json", "code", "ipynb"):
        said(talked, f"export {kind} out.{kind}", capsys)
    names = runpy.run_path("out.code", {name: talked.user_ns[name] for name in ("double", "rows", "frame")})

    assert (names["r1"], names["r2"]) == (8, 3)
    assert "Eight and three." in Path("out.md").read_text()
    assert json.loads(Path("out.json").read_text())["format"] == "nbtool.conversation"
    nbformat.validate(nbformat.read("out.ipynb", as_version=4))


@pytest.mark.parametrize("words", ["export", "export pdf", "export md a b", "export --force"])
def test_a_wrong_export_says_what_there_is(talked: Any, capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert "export md|json|code|ipynb [FILE] [--overwrite]" in said_wrong(talked, words, capsys)


def test_before_anything_was_said_there_is_nothing_to_export(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Nothing was said yet" in said_wrong(shell, "export md", capsys)
    assert "Nothing was said yet" in said_wrong(shell, "code", capsys)


def test_an_exported_conversation_is_opened_again_without_its_approvals(
    talked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = talked.magics_manager.registry["ChatMagics"].workbench
    before = bench.chat("main")
    said(talked, "export json out.json", capsys)
    text = said(talked, "open out.json", capsys)

    chat = bench.chat("main")
    assert "1 turn imported; nothing of them ran here, and no approval came along." in text
    assert f"`%chat open {before.chat_id}`" in text
    assert (chat.tree.line[0].turn.text, chat.chat_id != before.chat_id) == ("Eight and three.", True)
    assert chat.desk is not before.desk
    assert chat.model == before.model
    assert "nobody here saw" in said(talked, "show", capsys)


def test_what_an_imported_conversation_refers_to_is_nothing_of_this_kernel(
    talked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = talked.magics_manager.registry["ChatMagics"].workbench
    (name,) = (call.reference for call in bench.chat("main").tree.line[0].turn.calls if call.name == "double")
    said(talked, "export json out.json", capsys)
    said(talked, "open out.json", capsys)
    wire = ScriptedWire([call("double", n=f"$VAR_REF{{{{{name}}}}}"), call("double", n=2), "Done."])
    bench.chat("main").model = Chat(wire=wire).model

    assert talked.run_cell("%%chat -q -o later -t double --approve auto\nGo on.").success

    dead, fresh = talked.user_ns["later"].calls
    assert dead.status == "invalid"
    assert fresh.reference not in ("", name)


def test_code_of_an_imported_turn_says_that_nobody_saw_it_run(talked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    said(talked, "export json out.json", capsys)
    whole = json.loads(Path("out.json").read_text())
    forged = (
        json.dumps(whole)
        .replace('\\"n\\": 4', '\\"code\\": \\"import os; os.abort()\\"')
        .replace("double", "run_python")
    )
    Path("forged.json").write_text(forged)
    said(talked, "open forged.json", capsys)
    said(talked, "code", capsys)

    assert "nobody here saw these calls happen" in talked.rl_next_input
    assert all(line.startswith("#") for line in talked.rl_next_input.splitlines() if "abort" in line)


def test_a_file_that_is_no_conversation_is_refused_and_changes_nothing(
    talked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = talked.magics_manager.registry["ChatMagics"].workbench.chat("main")
    tree = chat.tree
    Path("broken.json").write_text("{}")

    assert "This is no conversation that nbtool wrote" in said_wrong(talked, "open broken.json", capsys)
    assert chat.tree is tree


@pytest.mark.parametrize("way", ["journal", "file"])
def test_code_of_a_past_conversation_hands_results_on_whatever_stands_for_their_names_now(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    shell.run_cell("@tool(run='auto', store_as='made')\ndef make(n: int) -> list:\n    'Make.'\n    return [0] * n")
    shell.run_cell("@tool(run='auto')\ndef count(of: list) -> int:\n    'Count.'\n    return len(of)\nmade = count")
    chat = shell.magics_manager.registry["ChatMagics"].workbench.chat("main")
    chat.model = Chat(wire=ScriptedWire([call("make", n=3), call("count", of="$VAR_REF{{made}}"), "Three."])).model
    shell.run_cell("%%chat -q -t make count\nCount it.")
    said(shell, f"export json '{tmp_path / 'out.json'}'", capsys)

    said(shell, f"open {chat.chat_id if way == 'journal' else repr(str(tmp_path / 'out.json'))}", capsys)
    said(shell, "code", capsys)

    assert "r1 = make(n=3)" in shell.rl_next_input
    assert re.search(r"r2 = count\((of=)?r1\)", shell.rl_next_input)  # by name where the tool is not here
