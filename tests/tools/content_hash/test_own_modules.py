"""A tool changes with the user's own modules, whatever way its code reaches them; else the card says that it may."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Question
from nbtool.tools.content_hash.change_token import tool_change_token

pytestmark = pytest.mark.promise("shown-is-run")

FILES = {
    "rates_of_a_test.py": (
        "RATE, CONFIG = 2, {'a': 1}\ndef rate(n): return n * RATE\n"
        "class Tariff:\n    fee = 1\n    def total(self): return self.fee\n"
        "tariff = Tariff()\n"
    ),
    "lazy_of_a_test.py": "def __getattr__(name): return lambda n: n\n",
    "shop_of_a_test/__init__.py": "from shop_of_a_test.prices import price as best_price\n",
    "shop_of_a_test/prices.py": (
        "from . import base\ndef price(n): return n * base.factor()\n"
        "def late(n):\n    from .base import factor\n    return n * factor()\n"
        "def later(n):\n    from . import base as b\n    return n * b.factor()\n"
        "def outside(n):\n    from ...... import nothing\n    return nothing\n"
    ),
    "shop_of_a_test/base.py": "FACTOR = 1\ndef factor(): return FACTOR\n",
    "shop_of_a_test/unloaded.py": "def price(n): return n\n",
    "shop_of_a_test/deep/__init__.py": "",
    "shop_of_a_test/deep/er.py": "def deep(): return 1\n",
    "spaces_of_a_test/inner.py": "def inner(): return 1\n",
    "unloaded_of_a_test.py": "def price(n): return n\n",
    "sub_of_a_test/__init__.py": "",
}
LOADED = [
    "rates_of_a_test", "lazy_of_a_test", "shop_of_a_test.deep.er", "spaces_of_a_test.inner", "sub_of_a_test",
]  # fmt: skip
R, S, P = "rates_of_a_test", "shop_of_a_test", "shop_of_a_test.prices"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give files of a person, and load some of them."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    for name in LOADED:
        importlib.import_module(name)
    yield
    for name in [name for name in sys.modules if "_of_a_test" in name]:
        del sys.modules[name]


def cell(source: str) -> dict[str, Any]:
    """Run a cell of a notebook; return its names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), names)
    return names


def rebind(module: str, name: str, value: object = lambda *_: "mallory") -> Callable[[], object]:
    return lambda: setattr(sys.modules[module], name, value)


ACT = "def act(n: int) -> str:\n    'Act.'\n    "
WAYS: dict[str, tuple[str, Callable[[], object]]] = {
    "import": (f"{ACT}import {R}\n    return {R}.rate(n)", rebind(R, "rate")),
    "import, data": (f"{ACT}import {R}\n    return {R}.rate(n)", rebind(R, "RATE", 5)),
    "import as": (f"{ACT}import {R} as r\n    return r.rate(n)", rebind(R, "rate")),
    "from import": (f"{ACT}from {R} import rate\n    return rate(n)", rebind(R, "rate")),
    "from import as": (
        f"{ACT}from {R} import CONFIG as c\n    return str(c)", lambda: sys.modules[R].CONFIG.update(a=2)
    ),
    "class from an import": (
        f"{ACT}import {R}\n    return {R}.Tariff().total()", lambda: setattr(sys.modules[R].Tariff, "fee", 7)
    ),
    "module that is imported and passed on": (
        f"def use(m): return m.rate(1)\n{ACT}import {R} as r\n    return use(r)", rebind(R, "rate")
    ),
    "module that is passed on": (
        f"import {R}\ndef use(m): return vars(m)['ra' + 'te'](1)\n{ACT}return use({R})", rebind(R, "rate")
    ),
    "object from an import that is passed on": (
        f"{ACT}from {R} import tariff as t\n    return str(vars(t))", lambda: setattr(sys.modules[R].tariff, "x", 1)
    ),
    "submodule of a global": (f"import {P}\n{ACT}return {P}.price(n)", rebind(P, "price")),
    "what a submodule calls": (f"import {P}\n{ACT}return {P}.price(n)", rebind(f"{S}.base", "factor")),
    "data of what a submodule calls": (f"import {P}\n{ACT}return {P}.price(n)", rebind(f"{S}.base", "FACTOR", 9)),
    "submodule in an import": (f"{ACT}import {P}\n    return {P}.price(n)", rebind(P, "price")),
    "submodule in an import as": (f"{ACT}import {P} as p\n    return p.price(n)", rebind(P, "price")),
    "submodule from a package": (f"{ACT}from {S} import prices\n    return prices.price(n)", rebind(P, "price")),
    "two levels down": (f"import {S}.deep.er\n{ACT}return {S}.deep.er.deep()", rebind(f"{S}.deep.er", "deep")),
    "package without a file": (
        f"{ACT}import spaces_of_a_test.inner as i\n    return i.inner()", rebind("spaces_of_a_test.inner", "inner")
    ),
    "name that a package takes from a submodule": (
        f"import {S}\n{ACT}return {S}.best_price(n)", rebind(f"{S}.base", "FACTOR", 9)
    ),
    "relative import": (f"from {P} import late\n{ACT}return late(n)", rebind(f"{S}.base", "factor")),
    "relative import of a module": (f"from {P} import later\n{ACT}return later(n)", rebind(f"{S}.base", "factor")),
    "function under another name": (f"from {R} import rate as r\n{ACT}return r(n)", rebind(R, "RATE", 9)),
    "module under another name": (f"import {R} as r\n{ACT}return r.rate(n)", rebind(R, "rate")),
    "module in a container": (f"import {R}\nall_of = [{R}]\n{ACT}return all_of[0].rate(n)", rebind(R, "rate")),
    "module in an object": (
        f"import types, {R}\nbox = types.SimpleNamespace(m={R})\n{ACT}return box.m.rate(n)", rebind(R, "rate")
    ),
    "computed attribute": (f"import {R}\n{ACT}return getattr({R}, 'ra' + 'te')(n)", rebind(R, "rate")),
    "evaluated text": (f"import {R}\n{ACT}return eval('{R}.rate(1)')", rebind(R, "rate")),
    "function that a module makes when it is asked for": (
        f"import lazy_of_a_test as l\n{ACT}return l.rate(n)", rebind("lazy_of_a_test", "__getattr__")
    ),
    "import in an inner function": (
        f"{ACT}def inner():\n        import {R}\n        return {R}.rate(n)\n    return inner()", rebind(R, "rate")
    ),
    "import in a method": (
        f"class Till:\n    def pay(self):\n        import {R}\n        return {R}.rate(1)\n{ACT}return Till().pay()",
        rebind(R, "rate"),
    ),
    "the notebook itself": (
        f"import __main__\n{ACT}return __main__.value_of_a_test", rebind("__main__", "value_of_a_test", 2)
    ),
    "builtin that is replaced": (
        f"{ACT}return added_of_a_test(n)", lambda: setattr(builtins, "added_of_a_test", rebind)
    ),
}  # fmt: skip
COMPUTED = {
    "import_module": f"import importlib\n{ACT}return importlib.import_module('{R}').rate(n)",
    "relative import_module": f"import importlib\n{ACT}return importlib.import_module('.base', '{S}').factor()",
    "__import__": f"{ACT}return __import__('{R}').rate(n)",
    "loaded modules": f"import sys\n{ACT}return sys.modules['{R}'].rate(n)",
    "evaluated import": f"{ACT}return eval('__import__(\"{R}\").rate(1)')",
}
"""Code that may load any module."""
UNLOADED = {
    "module": f"{ACT}import unloaded_of_a_test as u\n    return u.price(n)",
    "submodule": f"{ACT}import {S}.unloaded as u\n    return u.price(n)",
    "submodule from a package": f"{ACT}from {S} import unloaded\n    return unloaded.price(n)",
}
"""Code that loads a module of the person's own when it runs."""
NOT_OWN = {
    "installed module": f"{ACT}import wheel_that_nobody_has\n    return 1",
    "module of Python": f"{ACT}import this\n    return 1",
    "loaded module of Python": f"{ACT}import json\n    return 1",
    "submodule of what nobody has": f"{ACT}import wheel_that_nobody_has.part\n    return 1",
    "module outside its package": f"from {P} import outside\n{ACT}return outside(n)",
    "name that a package has": f"{ACT}from {S} import best_price\n    return 1",
    "nothing of a module": f"{ACT}import {R}\n    return 1",
}
"""Imports that lead to nothing of the person's own which is not loaded."""


@pytest.fixture(autouse=True)
def names_of_the_process() -> Iterator[None]:
    main: Any = sys.modules["__main__"]
    main.value_of_a_test = 1
    yield
    del main.value_of_a_test
    if hasattr(builtins, "added_of_a_test"):
        del builtins.added_of_a_test


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_changes_with_a_module_of_the_persons_own(way: str) -> None:
    source, change = WAYS[way]
    function = cell(source)["act"]
    before = tool_change_token(function)
    assert tool_change_token(function) == before
    change()

    assert not before.problem
    assert tool_change_token(function).digest != before.digest


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_is_asked_about_again_after_a_module_of_the_persons_own_changed(way: str) -> None:
    source, change = WAYS[way]
    questions: list[Question] = []

    def approve(question: Question) -> Approved:
        questions.append(question)
        if len(questions) == 1:
            change()
        return Approved()

    with ScriptedWire([[call("act", n=1)], "Done."]) as wire:
        Chat(wire=wire, tools=[tool(cell(source)["act"], name="act")], approver=approve).send("Go")

    assert [question.again and question.again.reason for question in questions] == [None, "changed"]


@pytest.mark.parametrize("way", [*COMPUTED, *UNLOADED])
def test_a_tool_that_loads_what_is_not_known_says_so(way: str) -> None:
    questions: list[Question] = []
    function = cell({**COMPUTED, **UNLOADED}[way])["act"]
    with ScriptedWire([[call("act", n=1)], "Done."]) as wire:
        Chat(
            wire=wire,
            tools=[tool(function, name="act")],
            approver=lambda question: questions.append(question) or Approved(),  # type: ignore[func-returns-value]
        ).send("Go")

    assert [question.again and question.again.reason for question in questions] == [None, "unwatched"]
    problem = "loads modules by names that it computes" if way in COMPUTED else "is not loaded yet"
    assert problem in questions[0].notes[0]
    assert not questions[0].can_remember_call


@pytest.mark.parametrize("way", [way for way in COMPUTED if "relative" not in way])
def test_a_module_whose_name_is_written_in_the_code_is_watched_all_the_same(way: str) -> None:
    function = cell(COMPUTED[way])["act"]
    before = tool_change_token(function)
    rebind(R, "rate")()
    rebind(f"{S}.base", "factor")()

    assert tool_change_token(function).digest != before.digest


@pytest.mark.parametrize("way", UNLOADED)
def test_a_module_that_is_loaded_is_watched(way: str) -> None:
    function = cell(UNLOADED[way])["act"]
    before = tool_change_token(function)
    for name in ("unloaded_of_a_test", f"{S}.unloaded"):
        importlib.import_module(name)
    loaded = tool_change_token(function)
    for name in ("unloaded_of_a_test", f"{S}.unloaded"):
        rebind(name, "price")()

    assert before.problem
    assert not loaded.problem
    assert len({before.digest, loaded.digest, tool_change_token(function).digest}) == 3


@pytest.mark.parametrize("way", NOT_OWN)
def test_an_import_of_nothing_of_the_persons_own_is_no_problem(way: str) -> None:
    function = cell(NOT_OWN[way])["act"]
    before = tool_change_token(function)
    rebind(R, "rate")()

    assert not before.problem
    assert tool_change_token(function) == before


def test_names_of_a_module_that_no_code_of_a_tool_uses_do_not_count() -> None:
    function = cell(WAYS["import"][0])["act"]
    before = tool_change_token(function)
    rebind(R, "CONFIG", {})()
    rebind(R, "added", 1)()

    assert tool_change_token(function) == before


def test_modules_that_import_each_other_are_read_once() -> None:
    one, other = ModuleType("one_of_a_test"), ModuleType("other_of_a_test")
    for module, partner in ((one, other), (other, one)):
        module.partner = partner  # type: ignore[attr-defined]  # a module made for this
        module.value = 1  # type: ignore[attr-defined]  # a module made for this
    function = cell(f"{ACT}return one.partner.partner.value")["act"]
    function.__globals__["one"] = one
    before = tool_change_token(function)
    other.value = 2  # type: ignore[attr-defined]  # a module made for this

    assert tool_change_token(function).digest != before.digest


def test_a_context_variable_counts_by_its_identity() -> None:
    names = cell("from contextvars import ContextVar\nwho = ContextVar('who')\ndef act(n): return who.get()")
    before = tool_change_token(names["act"])
    assert not before.problem
    names["who"] = ContextVar("who")

    assert tool_change_token(names["act"]) != before


def test_the_same_problem_of_two_functions_is_reported_once() -> None:
    source = "def load(n): return __import__(n)\ndef act(n): return load(n), __import__(n)"

    assert tool_change_token(cell(source)["act"]).problem == "it loads modules by names that it computes"


def test_a_package_whose_path_cannot_be_read_marks_the_tool_that_imports_from_it() -> None:
    sys.modules["broken_of_a_test"] = package = ModuleType("broken_of_a_test")
    package.__path__ = None  # type: ignore[assignment]  # what no package of Python's own has
    names = cell("def act(n: int) -> int:\n    import broken_of_a_test.part\n    return n")

    assert "cannot be read (TypeError)" in tool_change_token(names["act"]).problem
