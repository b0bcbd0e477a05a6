"""Every public argument refuses a value of a wrong type where it enters: nbtool's error, in one line, with a fix.

The cases are generated from the signatures: a new public function, method, field or attribute is covered without a
change here. What takes anything is listed, with the reason.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest

from nbtool.annotation_kinds import CHECKED_INSIDE, Range
from nbtool.argument_check import annotations_of, check_arguments
from nbtool.chain.limits import Limits
from nbtool.chat.chat import Chat
from nbtool.chat.chat_base import ChatBase
from nbtool.chat.conversation import Conversation
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, NbtoolError, ToolFailed
from nbtool.messages import user
from nbtool.plugins import Privacy
from nbtool.plugins.structured import Structured
from nbtool.testing import ScriptedApprover, ScriptedWire
from nbtool.tools import Denied, tool


class Nothing:
    """No hook, no method, no tool."""


async def awaited() -> None:
    """Return nothing."""


POOL: Mapping[str, Any] = {
    "None": None, "True": True, "2.5": 2.5, "a text": "x", "bytes": b"x", "an object": Nothing(), "[None]": [None],
    "a class": Nothing, "an async function": awaited, "nan": math.nan, "inf": math.inf, "-1": -1,
    "a dict": {"a": Nothing()}, "a set": {1},
}  # fmt: skip
"""Values of which a public argument refuses those that its annotation does not admit."""

MODULES: Mapping[str, Collection[str]] = {
    "nbtool": (),
    "nbtool.plugins": (),
    "nbtool.testing": (),
    "nbtool.toolsets": (),
    "nbtool.tools.mcp": (),
    "nbtool.chain.limits": ("HookSeconds", "Limits"),
    "nbtool.chat.batch.settings": ("MapSettings",),
    "nbtool.chat.model": ("Model",),
    "nbtool.chat.rerun.operations": ("Edit", "Insert", "Reexecute", "Rerun", "Resume"),
    "nbtool.chat.subchat": ("subchat",),
    "nbtool.chat.turn_settings": ("TurnSettings",),
    "nbtool.messages": (
        "Citation", "Link", "Media", "Message", "ProviderCall", "Refusal", "Text", "Thinking", "ToolCall", "ToolResult",
        "assistant", "results", "user",
    ),
    "nbtool.plugins.continuation": ("Continuation",),
    "nbtool.plugins.roles": ("FallbackRoles",),
    "nbtool.plugins.structured": ("Structured",),
}  # fmt: skip
"""The modules with public names, and the names; () is `__all__`."""

MADE_BY_NBTOOL = {"Answer", "Batch", "MapTotals", "Turn"}
"""Classes whose constructor is not for users."""

CALLED_BY_NBTOOL = {
    *(f"{error}.changed" for error in ("NbtoolError", "ToolFailed")),
    "Turn.connect",
    "Turn.dispatch",
    "Turn.finish",
    "Turn.follow",
    "Turn.park",
}
"""Methods that nbtool calls with what it has made, some for each event of a turn."""

PASSED_ON = "passed on to a function that checks it"
ANY_VALUE: Mapping[str, str] = {
    **dict.fromkeys((f"Chat.{name}.attach" for name in ("compose", "send", "start")), "many types of attachments"),
    **dict.fromkeys((f"Chat.{name}.as_" for name in ("compose", "send", "start")), "any type of an answer"),
    **{
        f"Chat.{name}.{argument}": "data of many libraries"
        for name in ("map", "map_into", "start_map")
        for argument in ("prompts", "rows")
    },
    "Chat.map_into.sink": "a file, a function or an object with methods",
    **{
        f"Chat.{name}.kwargs": PASSED_ON
        for name in (
            "edit",
            "insert",
            "map",
            "map_into",
            "reexecute",
            "rehearse",
            "rerun",
            "resume",
            "edit_reply",
            "start_after",
            "start_map",
        )
    },
    "Chat.expose.objects": "objects of the user's",
    "MapSettings.on": "an engine of another library, which has its own check",
    "McpServers.add.items": "functions, classes and objects of the user's",
    "Structured.type_": "any type of an answer",
    "Toolset.add.items": "functions, classes and objects of the user's",
    "call.arguments": "any JSON value",
    "serve.tools": "functions, classes and objects of the user's",
    "serve.variables": "objects of the user's",
}
"""The arguments whose annotation admits anything, or is read by type checkers only, with the reason."""

NO_ARGUMENTS = {"load_ipython_extension", "unload_ipython_extension"}
"""Functions that IPython calls."""


def is_wrong(annotation: Any, value: Any) -> bool:
    """Return whether an annotation does not admit a value of the pool, by what annotations mean in Python."""
    origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
    if isinstance(origin, TypeVar):
        return is_wrong(origin.__bound__, value) and not isinstance(value, type)
    if find := SPECIAL.get(origin):
        return find(arguments, value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return not isinstance(value, dict) or has_wrong_item(arguments[-1:], value["a"])
    is_protocol = getattr(origin, "_is_protocol", False)  # no value of the pool has methods
    return is_protocol or not isinstance(value, origin)


def has_wrong_item(arguments: tuple[Any, ...], item: Any) -> bool:
    return bool(arguments) and arguments[0] not in (Any, object) and is_wrong(arguments[0], item)


def is_wrong_note(arguments: tuple[Any, ...], value: Any) -> bool:
    bounds = next((note for note in arguments[1:] if isinstance(note, Range)), None)
    if bounds is None:
        assert CHECKED_INSIDE in arguments
        return True  # of the pool: no plugin is among them
    return is_wrong(arguments[0], value) or not bounds.has(value)


def is_wrong_function(arguments: tuple[Any, ...], value: Any) -> bool:
    awaits = (
        not arguments
        or any(one in str(arguments[-1]) for one in ("Awaitable", "Coroutine"))
        or arguments[-1] in (Any, object)
    )
    return not inspect.isfunction(value) or (value is awaited and not awaits)


def is_wrong_number(kind: type) -> Callable[[tuple[Any, ...], Any], bool]:
    return lambda _, value: isinstance(value, bool) or not isinstance(value, (kind, int)) or not math.isfinite(value)


def is_wrong_list(arguments: tuple[Any, ...], value: Any) -> bool:
    return not isinstance(value, list | set) or has_wrong_item(arguments, next(iter(value)))


SPECIAL: Mapping[Any, Callable[[tuple[Any, ...], Any], bool]] = {
    Annotated: is_wrong_note,
    Callable: is_wrong_function,
    Literal: lambda choices, value: not isinstance(value, str) or value not in choices,
    type(None): lambda _, value: value is not None,
    int: is_wrong_number(int),
    float: is_wrong_number(float),
    **dict.fromkeys((Union, UnionType), lambda kinds, value: all(is_wrong(one, value) for one in kinds)),
    **dict.fromkeys((Sequence, Iterable, Collection, list, tuple, set, frozenset), is_wrong_list),
    **dict.fromkeys((Any, object), lambda *_: False),
}  # fmt: skip


def public_functions() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Yield the name of each public function, constructor and method, how to call it, and its annotations."""
    for module, names in MODULES.items():
        home = import_module(module)
        for name in names or home.__all__:
            member = getattr(home, name)
            if not inspect.isclass(member):
                yield name, member, annotations_of(member)
                continue
            if name not in MADE_BY_NBTOOL and not issubclass(member, BaseException):
                yield name, member, annotations_of(member.__init__)
            yield from methods(name, member)


def methods(owner: str, cls: type) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Yield the public methods; each is called on an object without attributes, for it checks before it reads any."""
    for base in cls.__mro__:
        for name, member in vars(base).items():
            is_own = base.__module__.startswith("nbtool.") and not name.startswith(("_", "on_"))
            is_method = inspect.isfunction(member) and not inspect.isasyncgenfunction(member)
            if is_own and is_method and f"{owner}.{name}" not in CALLED_BY_NBTOOL:
                first = next(iter(inspect.signature(member).parameters))  # the object, whatever a function calls it
                found = {argument: one for argument, one in annotations_of(member).items() if argument != first}
                yield f"{owner}.{name}", member.__get__(cls.__new__(cls)), found


FUNCTIONS = {name: (call, found) for name, call, found in public_functions() if name not in NO_ARGUMENTS}
ARGUMENTS = [(name, argument) for name, (_, found) in FUNCTIONS.items() for argument in found]
CHECKED = [(name, argument) for name, argument in ARGUMENTS if f"{name}.{argument}" not in ANY_VALUE]


def pass_argument(call: Callable[..., Any], argument: str, value: Any) -> None:
    """Call a function with one argument, as its kind of parameter is passed."""
    parameter = inspect.signature(call).parameters[argument]
    by_position = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
    answer = call(value) if by_position else call(**{argument: value})
    if inspect.iscoroutine(answer):
        asyncio.run(answer)


def check_refusal(error: NbtoolError) -> None:
    assert "\n" not in str(error)
    assert error.message.endswith(".")
    assert error.fix


def check_refusals(annotation: Any, give: Callable[[Any], object]) -> None:
    """Check that each wrong value of the pool is refused; any other error than nbtool's fails."""
    taken = []
    for name in (name for name in POOL if is_wrong(annotation, POOL[name])):
        try:
            give(POOL[name])
        except NbtoolError as error:
            check_refusal(error)
        else:
            taken.append(name)

    assert taken == []


@pytest.mark.parametrize(("name", "argument"), CHECKED)
def test_wrong_values_of_a_public_argument_are_refused_in_one_line_with_a_fix(name: str, argument: str) -> None:
    call, annotations = FUNCTIONS[name]

    check_refusals(annotations[argument], lambda value: pass_argument(call, argument, value))


def test_the_pool_has_wrong_values_for_almost_every_argument() -> None:
    tried = [
        sum(is_wrong(FUNCTIONS[name][1][argument], value) for value in POOL.values()) for name, argument in CHECKED
    ]

    assert min(tried) > 3
    assert len(CHECKED) > 200


def test_every_argument_that_takes_anything_is_listed_with_a_reason() -> None:
    unchecked = {
        f"{name}.{argument}" for name, argument in ARGUMENTS if FUNCTIONS[name][1][argument] in (None, Any, object)
    }

    assert unchecked == set(ANY_VALUE)


ATTRIBUTES = {**get_type_hints(Conversation), **get_type_hints(ChatBase, include_extras=True)}
LAZY_TYPES = {"answer", "difference"}
"""Attributes of a turn whose types are in modules that are loaded only where they are needed."""


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_wrong_values_of_an_attribute_of_a_chat_are_refused(name: str) -> None:
    chat = Chat()

    check_refusals(ATTRIBUTES[name], lambda value: setattr(chat, name, value))


def turn_attributes() -> dict[str, Any]:
    """Return the types of the public attributes of a turn."""
    names = vars(import_module("nbtool.chat.turn.turn"))
    found = {field.name: field.type for field in fields(Turn) if not field.name.startswith("_")}
    return {name: eval(str(text), names) for name, text in found.items() if name not in LAZY_TYPES}


@pytest.mark.parametrize(("name", "annotation"), turn_attributes().items())
def test_wrong_values_of_an_attribute_of_a_turn_are_refused(name: str, annotation: Any) -> None:
    turn = Turn(user("Hello."), "m")

    check_refusals(annotation, lambda value: setattr(turn, name, value))


@pytest.mark.parametrize("name", [name for name, member in vars(Turn).items() if isinstance(member, property)])
def test_what_follows_from_a_turn_cannot_be_set(name: str) -> None:
    turn = Turn(user("Hello."), "m")

    with pytest.raises(BadUsage, match=f"{name} of a Turn cannot be set"):
        setattr(turn, name, 5)


@pytest.mark.parametrize("name", ["windwo", "max_rounds", "running_turns", "conversation"])
def test_a_chat_refuses_an_attribute_that_would_have_no_effect(name: str) -> None:
    chat = Chat()

    with pytest.raises(BadUsage, match=f"A chat has no setting '{name}'"):
        setattr(chat, name, 5)


def test_a_subclass_of_chat_may_have_attributes_of_its_own() -> None:
    class Own(Chat):
        pass

    chat = Own()
    chat.label = "x"  # type: ignore[attr-defined]  # an attribute of the user's class

    assert chat.label == "x"  # type: ignore[attr-defined]  # likewise


WRONG = {
    "attach": (True, 2.5, Nothing(), [None], Nothing, awaited, math.nan, {"a": 1}, b""),
    "as_": (5, 2.5, math.nan, awaited),
    "prompts": (None, True, 2.5, b"x", Nothing(), Nothing, awaited, math.nan, {"a": 1}),
    "rows": (True, 2.5, "x", Nothing(), Nothing, awaited, math.nan),
    "on": (True, 2.5, "x", b"x", Nothing(), [None], Nothing, awaited, math.nan),
    "sink": (None, True, 2.5, b"x", Nothing(), [None], Nothing, awaited, math.nan, {"a": 1}),
    "tool": (None, True, 2.5, "x", b"x", Nothing(), [None], Nothing, math.nan, {"a": 1}),
    "type_": (5, 2.5, math.nan, awaited),
    "unknown option": (None, 5, "x"),
}
"""Wrong values of the arguments whose annotation admits anything, because their own function tells them apart."""

GIVE: Mapping[str, Callable[[Chat, Any], object]] = {
    "attach": lambda chat, value: chat.send("Go.", attach=value),
    "as_": lambda chat, value: chat.send("Go.", as_=value),
    "prompts": lambda chat, value: chat.map(value),
    "rows": lambda chat, value: chat.map("{a}", value),
    "on": lambda chat, value: chat.map(["Go."], on=value),
    "sink": lambda chat, value: chat.map_into(value, ["Go."]),
    "tool": lambda chat, value: chat.tools.add(value),
    "type_": lambda _, value: Structured(value),
    "unknown option": lambda chat, value: chat.map(["Go."], concurency=value),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_what_takes_many_types_refuses_the_others(name: str, value: Any) -> None:
    chat = Chat(wire=ScriptedWire([]))

    with pytest.raises(NbtoolError) as raised:
        GIVE[name](chat, value)

    check_refusal(raised.value)


@pytest.mark.parametrize("name", ["edit", "insert", "map", "reexecute", "rehearse", "rerun", "resume", "start_map"])
@pytest.mark.parametrize(("argument", "value"), [("options", 5), ("approver", Nothing), ("settings", {"a": 1})])
def test_arguments_that_are_passed_on_are_refused_too(name: str, argument: str, value: Any) -> None:
    chat = Chat(wire=ScriptedWire(["Hello."]))
    turn = chat.send("Hi.")
    given: tuple[Any, ...] = {
        "edit": (turn, "Go."), "insert": (turn, "Go."), "map": (["Go."],), "start_map": (["Go."],), "rehearse": ("Go.",)
    }.get(name, ())  # fmt: skip

    with pytest.raises(BadUsage, match=f"{argument} cannot be") as raised:
        getattr(chat, name)(*given, **{argument: value})

    check_refusal(raised.value)


@pytest.mark.parametrize("error", [NbtoolError, ToolFailed])
@pytest.mark.parametrize("value", [None, 5, b"x", ["why"], Nothing, {"a": 1}])
def test_an_error_takes_a_text_or_another_error(error: type[NbtoolError], value: Any) -> None:
    with pytest.raises(BadUsage) as raised:
        error(value)
    with pytest.raises(BadUsage):
        error("why", fix=value)

    check_refusal(raised.value)
    assert str(error(ValueError("why"))) == error("why").message == "why"


RIGHT: Mapping[str, Callable[[], object]] = {
    "a tuple for a list": lambda: Chat(wire=ScriptedWire(("Hello.",)), tools=(len,)),
    "a generator of tools": lambda: Chat(tools=(one for one in (len,))),
    "nothing": lambda: Chat(tools=None, plugins=None, system=None, options=None),
    "an int for seconds": lambda: tool(len, timeout=5),
    "a number of numpy": lambda: Limits(max_rounds=np.int64(3), seconds=np.float64(2.5), cost=np.float32(1)),
    "a truth value of numpy": lambda: Chat(check_results=np.bool_(True)),
    "a text of numpy": lambda: Privacy(names=np.array(["Ada"])),
    "a column of names": lambda: Privacy(names=pd.Series(["Ada", "Grace"])),
    "names that are keys": lambda: Privacy(names={"Ada": 1}.keys()),
    "a pattern that is compiled": lambda: Privacy(patterns={"ticket": re.compile(r"TK-\d+")}),
    "an approver with ask": lambda: Chat(approver=ScriptedApprover([])),
    "an approver that is a function": lambda: Chat(approver=lambda _: Denied()),
    "a limit of numpy, as an int": lambda: json.dumps(Limits(max_rounds=np.int64(3)).max_rounds),
}


@pytest.mark.parametrize("make", RIGHT.values(), ids=RIGHT)
def test_right_values_are_taken_in_each_of_their_forms(make: Callable[[], object]) -> None:
    assert make()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Privacy(names="Ada Lovelace"), "names=['Ada Lovelace']"),
        (lambda: Chat(plugins=[Privacy]), "Pass an instance: Privacy(…)."),
        (lambda: Chat(plugins=Privacy), "Pass an instance: Privacy(…)."),
        (lambda: Chat(plugins=Privacy()), "Pass a list: plugins=[…]."),
        (lambda: Chat(plugins=["nbtool.plugins.Privacy"]), "without quotes: Privacy(…)"),
        (lambda: Chat(max_rounds="3"), "without quotes: max_rounds=3."),
        (lambda: Chat(max_rounds=2.5), "max_rounds cannot be 2.5. Pass a whole number of at least 1."),
        (lambda: Chat(max_rounds=True), "max_rounds cannot be True."),
        (lambda: Chat(tools=len), "Pass a list: tools=[…]."),
        (lambda: Chat(history="copact"), "Pass one of 'compact', 'native'"),
        (lambda: Privacy(names=["Ada", 5]), "names cannot be a list with 5 at position 1."),
        (lambda: Chat(headers={"a": 5}), "headers cannot be a dict with 5 under 'a'."),
        (lambda: Chat(headers={5: "a"}), "headers cannot be a dict with 5 as a key."),
        (lambda: Chat(options={1: 2}), "options cannot be a dict with 1 as a key."),
        (lambda: Chat(system=awaited()), "Await it first."),
        (lambda: tool(run=awaited), "run cannot be an async function."),
    ],
)
def test_the_fix_names_what_to_write_instead(make: Callable[[], object], text: str) -> None:
    with pytest.raises(BadUsage) as raised:
        make()

    assert text in str(raised.value)


@pytest.mark.parametrize("argument", ["api_key", "proxy", "base_url", "auth"])
def test_an_error_about_a_type_repeats_no_value_that_may_be_secret(argument: str) -> None:
    with pytest.raises(BadUsage) as raised:
        Chat(**{argument: b"sk-hidden"})

    assert "hidden" not in str(raised.value)


def test_a_first_chat_is_refused_and_made_as_a_later_one_is() -> None:
    code = "from nbtool import Chat\ntry: Chat(max_rounds='3')\nexcept Exception as error: print(type(error).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "BadUsage"


def test_a_cached_function_is_checked_by_the_annotations_of_the_function_inside() -> None:
    @lru_cache
    def double(number: int) -> int:
        return 2 * number

    vars(double).pop("__annotations__", None)  # which the wrapper of Python 3.14 does not have
    checked = check_arguments(double)

    assert checked(4) == 8
    with pytest.raises(BadUsage, match="number cannot be"):
        checked("4")  # type: ignore[arg-type]


ANY_CHAT: Any = Chat
"""The class, for arguments that its signature does not have."""


@pytest.mark.parametrize(
    ("make", "fix"),
    [
        (lambda: Chat(tools="price"), "Pass a list of objects, without quotes: tools=[price]."),
        (lambda: Chat(plugins="Privacy"), "Pass a list of objects, without quotes: plugins=[Privacy]."),
        (lambda: Chat(tools=["nbtool:files"]), "tools=[standard('files')]"),
        (lambda: Chat().send(None), "Pass a text or a Message."),
        (lambda: ANY_CHAT(temperature=0), "is passed as options={…}."),
        (lambda: setattr(Chat(), "max_repeats", 9), "dataclasses.replace(chat.limits, max_repeats=9)"),
        (lambda: ANY_CHAT(aprover=print), "Did you mean approver?"),
        (lambda: ANY_CHAT().send("x", atach=[]), "Did you mean attach?"),
        (lambda: ANY_CHAT().expose("df"), "Pass the others by name: expose(name=…)."),
        (lambda: ANY_CHAT("m", "price"), "Pass the others by name: Chat(name=…)."),
    ],
)
def test_the_fix_of_a_wrong_argument_works_where_it_is_named(make: Callable[[], object], fix: str) -> None:
    with pytest.raises(BadUsage) as refused:
        make()

    assert fix in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "key"), [({1: 2}, "1"), ({None: 2}, "None"), ({b"a": 2}, "a bytes"), ({("a",): 2}, "a tuple")]
)
def test_a_dict_with_a_key_that_is_no_text_names_the_key(options: dict[Any, Any], key: str) -> None:
    with pytest.raises(BadUsage) as refused:
        Chat(options=options)

    assert str(refused.value) == f"Chat: options cannot be a dict with {key} as a key. Make its keys texts."
