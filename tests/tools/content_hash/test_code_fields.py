"""Whatever changes in the code of a tool changes its token: each field of a code object but where it was written."""

from __future__ import annotations

import types
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from nbtool import Approved, Chat, tool
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Question
from nbtool.tools.content_hash.change_token import tool_change_token
from nbtool.tools.content_hash.code_names import passed_names
from nbtool.tools.content_hash.source import CODE_FIELDS, code_fingerprint
from nbtool.tools.functions import source_of

pytestmark = pytest.mark.promise("shown-is-run")

WRITTEN_AT = {"co_filename": "other.py", "co_firstlineno": 77, "co_linetable": b""}
"""Fields that say where code was written."""


def compiled(source: str, **names: Any) -> Any:
    """Return the function `act` of a cell."""
    found = {"__name__": "__main__", **names}
    exec(compile(source, "<cell>", "exec"), found)
    return found["act"]


SOURCE = """
def act(source, target=1, /, more=2, *rest, only=3, **named):
    def inner(a, /, b, *, c=1): return a - b - c
    try:
        first = inner(b=source, a=target)
    except ValueError:
        first = 0
    return (first, outer, locals(), {1, 2}, 1.5, b"x", None, ...)
"""
FIELD_CHANGES: dict[str, Callable[[Any], Any]] = {
    "co_argcount": lambda value: value - 1,
    "co_cellvars": lambda value: (*value, "first"),
    "co_code": lambda value: value[:-2] + b"\x09\x00",
    "co_consts": lambda value: (*value, "one more"),
    "co_exceptiontable": lambda value: value[:-1] + b"\x01",
    "co_flags": lambda value: value ^ 0x100,
    "co_freevars": lambda value: (*value, "free"),
    "co_kwonlyargcount": lambda value: value - 1,
    "co_name": lambda _: "other",
    "co_names": lambda value: (*value[:-1], "other"),
    "co_nlocals": lambda value: value + 1,
    "co_posonlyargcount": lambda value: value - 1,
    "co_qualname": lambda _: "Other.act",
    "co_stacksize": lambda value: value + 1,
    "co_varnames": lambda value: (value[1], value[0], *value[2:]),
}


def replaced(code: CodeType, field: str) -> CodeType:
    value = FIELD_CHANGES[field](getattr(code, field))
    if field == "co_nlocals":  # the two belong together
        return code.replace(co_nlocals=value, co_varnames=(*code.co_varnames, "added"))
    if field == "co_cellvars":
        return code.replace(co_cellvars=value, co_varnames=code.co_varnames)
    return code.replace(**{field: value})


def test_every_field_of_a_code_object_has_a_change() -> None:
    assert FIELD_CHANGES.keys() == set(CODE_FIELDS)
    assert not WRITTEN_AT.keys() & set(CODE_FIELDS)


@pytest.mark.parametrize("field", FIELD_CHANGES)
@pytest.mark.parametrize("is_inner", [False, True])
def test_code_with_one_other_field_is_other_code(field: str, *, is_inner: bool) -> None:
    code = compiled(SOURCE).__code__
    place = next(index for index, part in enumerate(code.co_consts) if type(part) is CodeType)
    if is_inner:
        constants = [*code.co_consts]
        constants[place] = replaced(constants[place], field)
        other = code.replace(co_consts=tuple(constants))
    else:
        other = replaced(code, field)

    assert code_fingerprint(other) != code_fingerprint(code)
    assert code_fingerprint(code.replace()) == code_fingerprint(code)


@pytest.mark.parametrize("field", WRITTEN_AT)
def test_where_code_was_written_does_not_count(field: str) -> None:
    code = compiled(SOURCE).__code__

    assert code_fingerprint(code.replace(**{field: WRITTEN_AT[field]})) == code_fingerprint(code)


CONSTANTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)


def exact(value: Any) -> Any:
    """Return what tells a constant from one that is equal and of another type, or a zero with another sign."""
    if isinstance(value, tuple):
        return tuple, tuple(exact(part) for part in value)
    if isinstance(value, frozenset):
        return frozenset, frozenset(exact(part) for part in value)
    return type(value), repr(value)


@given(CONSTANTS, CONSTANTS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_code_with_another_constant_is_other_code(one: Any, other: Any) -> None:
    code = compiled("def act(n): return n").__code__
    fingerprints = [code_fingerprint(code.replace(co_consts=(None, value))) for value in (one, other)]

    assert (fingerprints[0] == fingerprints[1]) == (exact(one) == exact(other))


def test_a_constant_that_only_a_program_can_write_counts_by_its_identity() -> None:
    code = compiled("def act(n): return n").__code__
    one, other = (code.replace(co_consts=(None, value)) for value in (Marker(), Marker()))

    assert code_fingerprint(one) == code_fingerprint(one) != code_fingerprint(other)
    assert code_fingerprint(code.replace(co_consts=(slice(1, 2),))) != code_fingerprint(
        code.replace(co_consts=(slice(1, 3),))
    )


class Marker:
    pass


HUGE = 10**5_000
PAIRS = {
    "order of the parameters": ("def act(a, b): return a, b", "def act(b, a): return a, b"),
    "order of an inner function's parameters": (
        "def act(n):\n def inner(a, b): return a - b\n return inner(a=n, b=1)",
        "def act(n):\n def inner(b, a): return a - b\n return inner(a=n, b=1)",
    ),
    "a parameter that takes all others": ("def act(x): return x", "def act(*x): return x"),
    "a parameter that takes all named ones": ("def act(*x): return x", "def act(**x): return x"),
    "a parameter by name only": ("def act(a, b): return a", "def act(a, *, b): return a"),
    "a parameter by position only": ("def act(a, b): return a", "def act(a, b, /): return a"),
    "what try covers": (
        "def act(n):\n try:\n  a = n.x\n except KeyError:\n  return 1\n b = n.y\n return a",
        "def act(n):\n try:\n  a = n.x\n  b = n.y\n except KeyError:\n  return 1\n return a",
    ),
    "names that are read by locals()": (
        "def act(n):\n a = 1\n return locals()", "def act(n):\n b = 1\n return locals()"
    ),
    "a local name of a comprehension": (
        "def act(n): return [locals() for a in n]", "def act(n): return [locals() for b in n]"
    ),
    "a constant of an equal type": ("def act(n): return 1", "def act(n): return True"),
    "an integer that Python does not write": (f"def act(n): return {HUGE:#x}", f"def act(n): return {HUGE + 1:#x}"),
    "an async function": ("def act(n): return n", "async def act(n): return n"),
}  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_a_tool_that_was_defined_again_differently_is_another_one(pair: str) -> None:
    one, other = PAIRS[pair]

    assert tool_change_token(compiled(one)) == tool_change_token(compiled(f"\n\n{one}"))
    assert tool_change_token(compiled(one)).digest != tool_change_token(compiled(other)).digest
    assert source_of(compiled(one)) != source_of(compiled(other))


# --- one part of a tool at a time ---------------------------------------------------------------------------------

PARTS = ("default", "keyword default", "cell", "attribute", "global", "module", "method", "class attribute", "object")


class World:
    """A tool with a value in each place in which a tool may have one."""

    def __init__(self, value: Any) -> None:
        self.module = types.ModuleType("prices_of_a_test")
        self.module.value = value  # type: ignore[attr-defined]  # a module made for this
        self.names: dict[str, Any] = {"__name__": "__main__", "rate": value, "prices": self.module}
        exec(
            "class Account:\n"
            "    def pay(self): return self.to, self.fee\n"
            "account = Account()\n"
            "def make(cell):\n"
            "    def act(n, default=None, *, named=None):\n"
            "        import prices_of_a_test\n"
            "        return n, default, named, cell, rate, prices.value, act.note, account.pay()\n"
            "    return act\n",
            self.names,
        )
        self.account, self.kind = self.names["account"], self.names["Account"]
        self.account.to, self.kind.fee = value, value
        self.function: FunctionType = self.names["make"](value)
        self.function.__defaults__, self.function.__kwdefaults__ = (value,), {"named": value}
        self.function.note = value  # type: ignore[attr-defined]  # an attribute of a function

    def change(self, part: str, value: Any) -> None:
        cells = dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True))
        changes: dict[str, Callable[[], object]] = {
            "default": lambda: setattr(self.function, "__defaults__", (value,)),
            "keyword default": lambda: setattr(self.function, "__kwdefaults__", {"named": value}),
            "cell": lambda: setattr(cells["cell"], "cell_contents", value),
            "attribute": lambda: setattr(self.function, "note", value),
            "global": lambda: self.names.update(rate=value),
            "module": lambda: setattr(self.module, "value", value),
            "method": lambda: setattr(self.kind, "pay", lambda self: (value, self)),
            "class attribute": lambda: setattr(self.kind, "fee", value),
            "object": lambda: setattr(self.account, "to", value),
        }
        changes[part]()


VALUES = CONSTANTS | st.lists(st.integers(), max_size=3) | st.dictionaries(st.text(), st.integers(), max_size=3)


@given(VALUES, VALUES, st.sampled_from(PARTS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_tool_changes_with_one_part_of_it_and_only_then(one: Any, other: Any, part: str) -> None:
    assume(repr(one) != repr(other))
    world = World(one)
    before = tool_change_token(world.function)
    assert tool_change_token(world.function) == before
    world.change(part, other)

    assert not before.problem
    assert tool_change_token(world.function).digest != before.digest


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if "async" not in pair])
def test_a_tool_whose_code_changed_while_it_was_asked_about_is_asked_about_again(pair: str) -> None:
    one, other = (compiled(source).__code__ for source in PAIRS[pair])
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("def inner(n): return n\ndef act(n: int) -> str:\n 'Act.'\n return str(inner(n))", names)
    names["inner"].__code__ = one
    questions: list[Question] = []

    def approve(question: Question) -> Approved:
        questions.append(question)
        if len(questions) == 1:
            names["inner"].__code__ = other
        return Approved()

    with ScriptedWire([[call("act", n=1)], "Done."]) as wire:
        Chat(wire=wire, tools=[tool(names["act"], name="act")], approver=approve).send("Go")

    assert [question.again and question.again.reason for question in questions] == [None, "changed"]


def test_what_an_inner_function_passes_on_counts() -> None:
    def outer() -> object:
        def inner() -> int:
            return len(table)  # type: ignore[name-defined]  # noqa: F821 - never called

        return inner

    assert "table" in passed_names(outer.__code__)
