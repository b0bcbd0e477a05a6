"""A tool changes with every class of the notebook that it uses, or is said to be unknown: never a stale recording."""

from __future__ import annotations

import importlib
import itertools
import linecache
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call
from nbtool.tools.content_hash import content_hash, content_hash_or_reason
from nbtool.tools.content_hash.code import global_data
from nbtool.tools.content_hash.source import code_fingerprint, source_of, verified_source

HEAD = """
import abc, enum, functools
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, Protocol, TypedDict
from pydantic import BaseModel, BeforeValidator, Field, PrivateAttr, computed_field, field_validator

def helper(): return 1
"""
TAIL = """
def tool():
    return Kind
"""
CHANGES = {
    "plain value": ("class Kind:\n    unit = {}", "'g'", "'kg'"),
    "list": ("class Kind:\n    units = [1, {}]", "2", "3"),
    "method": ("class Kind:\n    def weigh(self): return {}", "1", "2"),
    "default of a method": ("class Kind:\n    def weigh(self, n={}): return n", "1", "2"),
    "setter": ("class Kind:\n    @property\n    def a(self): pass\n    @a.setter\n    def a(self, b): {}", "1", "2"),
    "method behind a library's decorator": (
        "def library(function):\n    def call(self): return function(self)\n    call.__module__ = 'library'\n"
        "    return call\nclass Kind:\n    @library\n    def weigh(self): return {}", "1", "2"
    ),
    "cached method": ("class Kind:\n    @functools.lru_cache\n    def weigh(self): return {}", "1", "2"),
    "cached property": ("class Kind:\n    @functools.cached_property\n    def weigh(self): return {}", "1", "2"),
    "partial method": ("class Kind:\n    def w(self, n): pass\n    v = functools.partialmethod(w, {})", "1", "2"),
    "inner class": ("class Kind:\n    class Inner:\n        unit = {}", "1", "2"),
    "base": ("class Base:\n    unit = {}\nclass Kind(Base): pass", "1", "2"),
    "abstract class": ("class Kind(abc.ABC):\n    def weigh(self): return {}", "1", "2"),
    "protocol": ("class Kind(Protocol):\n    def weigh(self): return {}", "1", "2"),
    "what a method calls": ("def double(): return {}\nclass Kind:\n    def weigh(self): return double()", "1", "2"),
    "annotation": ("class Kind:\n    unit: {}", "int", "str"),
    "annotation with parameters": ("class Kind:\n    unit: list[{}] | None", "int", "str"),
    "annotation of a class": ("class Unit:\n    a = {}\nclass Kind:\n    unit: Unit = None", "1", "2"),
    "docstring": ("class Kind:\n    '{}'", "Grams.", "Stones."),
    "enum": ("class Kind(enum.Enum):\n    A = {}", "1", "2"),
    "method of an enum": ("class Kind(enum.Enum):\n    A = 1\n    def b(self): return {}", "1", "2"),
    "attribute of an enum": ("class Kind(enum.Enum):\n    A = 1\n    b = enum.nonmember({})", "1", "2"),
    "cached method of an enum": (
        "class Kind(enum.Enum):\n    A = 1\n    @functools.lru_cache\n    def b(self): return {}", "1", "2"
    ),
    "what an enum makes of an unknown value": (
        "class Kind(enum.Enum):\n    A = 1\n    @classmethod\n    def _missing_(cls, value): return {}", "1", "2"
    ),
    "how an enum numbers its members": (
        "class Kind(enum.Enum):\n    def _generate_next_value_(*of): return {} if of else 0\n    A = enum.auto()",
        "1", "2",
    ),
    "boundary of a flag": ("class Kind(enum.Flag, boundary=enum.{}):\n    A = 1", "KEEP", "STRICT"),
    "dataclass": ("@dataclass\nclass Kind:\n    a: int = {}", "1", "2"),
    "dataclass options": ("@dataclass(frozen={})\nclass Kind:\n    a: int = 1", "True", "False"),
    "dataclass field": ("@dataclass\nclass Kind:\n    a: int = field(default={}, repr=False)", "1", "2"),
    "dataclass factory": ("@dataclass\nclass Kind:\n    a: list = field(default_factory=lambda: [{}])", "1", "2"),
    "named tuple": ("class Kind(NamedTuple):\n    a: int = {}", "1", "2"),
    "typed dict": ("class Kind(TypedDict):\n    a: {}", "int", "str"),
    "model": ("class Kind(BaseModel):\n    a: int = {}", "1", "2"),
    "model field": ("class Kind(BaseModel):\n    a: int = Field(ge={})", "1", "2"),
    "model annotation": ("class Kind(BaseModel):\n    a: Annotated[int, Field(ge={})]", "1", "2"),
    "model literal": ("class Kind(BaseModel):\n    a: Literal[{}]", "1", "2"),
    "model factory": ("class Kind(BaseModel):\n    a: list = Field(default_factory=lambda: [{}])", "1", "2"),
    "model config": ("class Kind(BaseModel):\n    model_config = {{'frozen': {}}}", "True", "False"),
    "model validator": (
        "class Kind(BaseModel):\n    a: int\n    @field_validator('a')\n    @classmethod\n    def c(cls, a): return {}",
        "1", "2",
    ),
    "model validator mode": (
        "class Kind(BaseModel):\n    a: int\n    @field_validator('a', mode={})\n    def c(cls, a): return a",
        "'before'", "'after'",
    ),
    "model computed": (
        "class Kind(BaseModel):\n    @computed_field\n    @property\n    def a(self) -> int: return {}", "1", "2",
    ),
    "model private": ("class Kind(BaseModel):\n    _a: int = PrivateAttr(default={})", "1", "2"),
    "model annotated validator": (
        "def c(a): return {}\nclass Kind(BaseModel):\n    a: Annotated[int, BeforeValidator(c)]", "1", "2",
    ),
    "nested model": ("class In(BaseModel):\n    a: int = {}\nclass Kind(BaseModel):\n    b: In", "1", "2"),
}  # fmt: skip
"""What is written in a class, with a place for two values."""

COUNT = itertools.count()


def cell(source: str) -> dict[str, Any]:
    """Run a cell as a kernel does: a file of its own that only `linecache` knows, in `__main__`."""
    file = f"/tmp/ipykernel_1/{next(COUNT)}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize("change", CHANGES)
def test_a_tool_changes_with_each_part_of_a_class_that_it_uses(change: str) -> None:
    source, one, other = CHANGES[change]
    first, same, changed = (
        content_hash(cell(HEAD + source.format(value) + TAIL)["tool"]) for value in (one, one, other)
    )

    assert first == same is not None
    assert first != changed


@pytest.mark.parametrize("change", ["annotation with parameters", "model field", "attribute of an enum"])
def test_a_class_of_the_notebook_can_be_compared(change: str) -> None:
    source, value, _ = CHANGES[change]

    assert content_hash_or_reason(cell(HEAD + source.format(value) + TAIL)["tool"]).reason == ""


def test_a_class_that_holds_what_cannot_be_compared_makes_its_tool_unknown() -> None:
    found = content_hash_or_reason(
        cell("import threading\nclass Kind:\n    lock = threading.Lock()\ndef tool(): return Kind")["tool"]
    )

    assert (found.digest, found.is_unhashable_code) == (None, True)
    assert found.reason == "its class Kind holds `lock`: lock cannot be compared"


def test_a_turn_with_a_tool_that_cannot_be_compared_is_neither_recorded_nor_replayed(tmp_path: Path) -> None:
    kind = "import threading\nclass Kind:\n    lock = threading.Lock()\n"
    source = f"{kind}def price() -> int:\n    'A price.'\n    return 1 if Kind else 2"
    with ScriptedWire([call("price"), "It is 1."] * 2) as wire:
        for _ in range(2):
            chat = Chat(wire=wire, tools=[tool(run="auto")(cell(source)["price"])])
            chat.record(tmp_path / "recording.json")
            turn = chat.send("What is the price?")
            notices = [event.text for event in turn.log if event.kind == "notice"]
            assert not turn.replayed
            assert any("`price` cannot be compared (its class Kind holds `lock`" in text for text in notices)


def test_code_whose_file_was_edited_since_is_not_taken_for_the_new_text(tmp_path: Path) -> None:
    file = tmp_path / "own.py"

    def load(value: int) -> Any:
        file.write_text(f"def price():\n    return {value}\n")
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(file.read_text(), str(file), "exec"), names)
        return names["price"]

    old = load(1)
    before = content_hash(old)
    new = load(200)

    assert content_hash(old) != content_hash(new)
    assert before != content_hash(new)


def test_the_source_of_a_class_in_a_script_is_not_read_by_a_line_of_another_file(tmp_path: Path) -> None:
    """A class made in a cell has a line number, and Python looks that line up in the script of `__main__`."""
    script = tmp_path / "script.py"
    script.write_text(
        "class Other:\n    unit = 0\n\n"
        "from nbtool.tools.content_hash import content_hash\n"
        "def made(unit):\n"
        "    names = {'__name__': '__main__'}\n"
        "    exec(compile(f'class Kind:\\n    unit = {unit}\\ndef tool(): return Kind', '<cell>', 'exec'), names)\n"
        "    return names['Kind']\n"
        "print(content_hash(made(1)) == content_hash(made(1)), content_hash(made(1)) == content_hash(made(2)))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, str(script)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    assert said.split() == ["True", "False"]


@pytest.mark.parametrize(
    "source",
    [
        "from {0} import rate\ndef tool(): return rate()",
        "import {0} as own\ndef tool(): return own.rate()",
        "from {0} import Kind\ndef tool(): return Kind",
        "from {0} import rate\ndef more(): return rate()\ndef tool(): return more()",
    ],
)
def test_a_tool_changes_with_a_module_of_the_persons_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    name = f"own_module_{next(COUNT)}"
    file = tmp_path / f"{name}.py"

    def found(value: int) -> str | None:
        file.write_text(f"class Kind:\n    unit = {value}\n\ndef rate():\n    return {value}\n")
        linecache.checkcache()
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return content_hash(cell(source.format(name))["tool"])

    one, same, other = found(1), found(1), found(20)

    assert one == same is not None
    assert one != other


def test_a_tool_changes_with_the_loaded_code_of_a_module_and_not_with_its_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    name = f"own_module_{next(COUNT)}"
    (tmp_path / f"{name}.py").write_text("def rate():\n    return 1\n")
    used = cell(f"import {name} as own\ndef tool(): return own.rate()")
    before = content_hash(used["tool"])
    used["own"].rate = cell("def rate(): return 2")["rate"]

    assert before is not None
    assert content_hash(used["tool"]) not in (None, before)


def test_data_that_a_called_function_reads_belongs_to_what_a_tool_reads() -> None:
    source = "RATE = 2\nLIMIT = 3\nclass Kind:\n    def most(self): return LIMIT\ndef helper(): return RATE\n"

    assert global_data(cell(f"{source}def tool(): return helper() + Kind().most()")["tool"]) == {"LIMIT": 3, "RATE": 2}


def test_the_class_that_is_named_is_the_one_that_holds_what_cannot_be_compared() -> None:
    source = "import threading\nclass Kind:\n    class Inner:\n        lock = threading.Lock()\ndef tool(): return Kind"

    assert content_hash_or_reason(cell(source)["tool"]).reason == (
        "its class Inner holds `lock`: lock cannot be compared"
    )


def test_a_function_whose_file_is_no_longer_python_has_no_source(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def tool(): return 1\n", encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), space)
    code = space["tool"].__code__
    assert verified_source(code) == "def tool(): return 1\n"

    script.write_text("def tool(): return 1\ndef (\n", encoding="utf-8")
    linecache.checkcache(str(script))
    assert verified_source(code) == ""
    assert source_of(code) == code_fingerprint(code)
