"""Written code stands alone, as its first line says: it runs in another Python, where there is no nbtool."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Progress, tool
from nbtool.chat.subchat import subchat
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.mcp import mcp_servers
from nbtool.toolsets import files
from tests.chat.export.writing import export, make_chat

FRIENDLY = Path(__file__).parents[2] / "tools" / "mcp" / "friendly_server.py"
FUNCTIONS = """
import asyncio, contextlib, functools

def plain(n: int): return n * 2
async def later(n: int): await asyncio.sleep(0); return n * 2
def steps(n: int): yield from range(n)
def letters(n: int):
    for _ in range(n): yield "x"
def returning(n: int):
    yield 1
    return [n]
def returning_pair(n: int):
    yield 1
    return {"n": n}
def nothing(n: int):
    return
    yield
def reporting(n: int):
    for at in range(n): yield Progress(f"{at}", at / n)
    return n * 3
def reporting_pieces(n: int):
    for at in range(n):
        yield Progress("still")
        yield at
def report(): yield Progress("half")
def reporting_elsewhere(n: int):
    yield from report()
    yield n
async def drops(n: int):
    for at in range(n): yield at
async def reporting_drops(n: int):
    yield Progress("begin")
    for at in range(n): yield "d"
def gives_steps(n: int): return steps(n)
def gives_later(n: int): return later(n)
def gives_drops(n: int): return drops(n)
def blocking(function):
    @functools.wraps(function)
    def run(n: int): return asyncio.run(function(n))
    return run
@blocking
async def blocked(n: int): return n + 1
def closing(k):
    def closure(n: int): return n + k
    return closure
closure = closing(4)
def closing_steps(k):
    def closed_steps(n: int):
        yield n
        return k
    return closed_steps
closed_steps = closing_steps(5)
part = functools.partial(lambda n, k: n * k, k=7)
def typed(n: int) -> list[int]: return [n]

class Kit:
    def __init__(self): self.count = 0
    def method(self, n: int): self.count += n; return self.count
    async def method_later(self, n: int): return n
    def method_steps(self, n: int):
        yield n
        return n * 9
    async def method_drops(self, n: int): yield n
    @staticmethod
    def static(n: int): return n
    @classmethod
    def of_class(cls, n: int): return cls.__name__ * n
kit = Kit()
"""
STAND_IN = """
import sys
sys.modules["nbtool"] = None
class Progress:
    def __init__(self, text="", fraction=None): self.text, self.fraction = text, fraction
"""
CALLED = [
    "plain", "later", "steps", "letters", "returning", "returning_pair", "nothing", "reporting", "reporting_pieces",
    "reporting_elsewhere", "drops", "reporting_drops", "gives_steps", "gives_later", "gives_drops", "blocked",
    "closure", "closed_steps", "typed", "kit.method", "kit.method_later", "kit.method_steps", "kit.method_drops",
    "kit.static", "kit.of_class",
]  # fmt: skip
ASYNCHRONOUS = """
import ast, asyncio, inspect
given = eval(compile(CODE, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
if inspect.iscoroutine(given): asyncio.run(given)
"""


def in_another_python(code: str, *, script: bool) -> Any:
    """Run written code after the notebook's functions, and give `r1`."""
    run = code if script else f"CODE = {code!r}\n{ASYNCHRONOUS}"
    source = f"{STAND_IN}\n{FUNCTIONS}\n{run}\nimport json\nprint(json.dumps(globals().get('r1')))"
    done = subprocess.run([sys.executable, "-I", "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{code}"
    return json.loads(done.stdout)


WAYS = [
    (name, script)
    for name in CALLED
    for script in (True, False)
    if script or name != "blocked"  # `asyncio.run` runs in no cell, since a loop runs there
]


@pytest.mark.parametrize(("name", "script"), WAYS)
def test_what_the_code_gives_is_what_the_call_gave(name: str, script: bool) -> None:
    book: dict[str, Any] = {"Progress": Progress, "__name__": "__main__"}
    exec(FUNCTIONS, book)
    owner, _, method = name.rpartition(".")
    function = getattr(book[owner], method) if owner else book[name]
    chat, turn = make_chat(book, call(method, n=2), tools=[tool(run="auto")(function)])
    code = export(chat, turn, notebook=book, script=script)

    assert (turn.calls[0].status, code.calls, dict(code.omitted)) == ("ok", 1, {})
    title, _, rest = code.text.partition("\n")
    assert "nbtool" not in rest
    assert ("nbtool only for: " in title) == name.startswith("reporting")  # that is what makes a `Progress` here
    assert in_another_python(code.text, script=script) == turn.calls[0].result


def test_the_functions_that_code_brings_with_it_take_free_names_and_builtins() -> None:
    book: dict[str, Any] = {
        "Progress": Progress,
        "collected": 1,
        "joined": 2,
        "type": 3,
        "next": 4,
        "__name__": "__main__",
    }
    exec(FUNCTIONS, book)
    chat, turn = make_chat(book, [call("reporting", n=2), call("reporting_drops", n=2)], tools=[
        tool(run="auto")(book["reporting"]), tool(run="auto")(book["reporting_drops"]),
    ])  # fmt: skip
    code = export(chat, turn, notebook=book, script=True)
    names = {**book}
    exec(code.text, names)

    assert [names["r1"], names["r2"]] == [one.result for one in turn.calls] == [6, "dd"]
    assert {name: names[name] for name in ("collected", "joined", "type", "next")} == {
        "collected": 1, "joined": 2, "type": 3, "next": 4,
    }  # fmt: skip


def test_a_tool_of_an_mcp_server_is_reported_to_run_for_a_chat_alone() -> None:
    pytest.importorskip("mcp")
    server = {"command": sys.executable, "args": [str(FRIENDLY)]}
    with mcp_servers({"mcpServers": {"friendly": server}}) as servers:
        name = next(name for name in servers.tools() if name.endswith("add"))
        book = {name: max}
        chat, turn = make_chat(book, call(name, a=1, b=2), tools=[servers], approver=ScriptedApprover([Approved()]))
        code = export(chat, turn, notebook=book)

    assert (turn.calls[0].status, code.calls, dict(code.omitted)) == ("ok", 0, {"unwritten": 1})
    assert "which the MCP server `friendly` runs for a chat." in code.text


def test_a_tool_that_is_nbtools_own_is_reported_to_be_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    kit = files(tmp_path)
    expert = subchat(Chat(wire=ScriptedWire(["Yes."])), name="expert", description="Knows.")
    chat, turn = make_chat(
        {}, [call("list_files"), call("expert", question="Is it?")], tools=[kit, expert],
        approver=ScriptedApprover([Approved(), Approved()]),
    )  # fmt: skip
    code = export(chat, turn, notebook={"kit": kit, "expert": expert})

    assert ([one.status for one in turn.calls], code.calls) == (["ok", "ok"], 0)
    assert code.text.count("which is a part of nbtool.") == 2
