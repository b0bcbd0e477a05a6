"""What an author has bound is neither offered to a model nor taken from one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.errors import BadUsage, InvalidArguments
from nbtool.testing import ScriptedWire, call
from nbtool.tools.schema.open_signature import open_signature
from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.variables.references import without_references
from tests.tools.signatures import Order, check, schema_of


def read(name: str, folder: str = "/home", mode: str = "r") -> tuple[str, str, str]:
    return name, folder, mode


def read_with(name: str, folder: str, *rest: str, mode: str = "r", **more: Any) -> Any:
    return name, folder, rest, mode, more


def with_wrapped(partial: functools.partial[Any]) -> Callable[..., Any]:
    return functools.update_wrapper(partial, partial.func)


@functools.wraps(functools.partial(read, folder="public"))
def wrapping_a_partial(*args: Any, **keywords: Any) -> Any:
    return functools.partial(read, folder="public")(*args, **keywords)


@functools.wraps(read)
def binding_itself(name: str) -> Any:
    return read(name, folder="public")


class Store:
    def read(self, name: str, folder: str, **more: Any) -> Any:
        return name, folder, more

    read_public = functools.partialmethod(read, folder="public")
    __call__ = functools.partialmethod(read, folder="public")

    @classmethod
    def open(cls, name: str, folder: str = "public") -> Any:
        return cls, name, folder

    open_public = classmethod(functools.partial(lambda cls, name, folder: (cls, name, folder), folder="public"))


def _late(store: Any, folder: str, name: str) -> Any:
    return store, folder, name


BOUND: list[tuple[Callable[..., Any], list[str], str]] = [
    (functools.partial(read, folder="public"), ["name", "mode"], "folder"),
    (with_wrapped(functools.partial(read, folder="public")), ["name", "mode"], "folder"),
    (functools.partial(functools.partial(read, folder="public"), mode="w"), ["name"], "folder"),
    (with_wrapped(functools.partial(with_wrapped(functools.partial(read, folder="p")), mode="w")), ["name"], "mode"),
    (functools.partial(read, "a"), ["folder", "mode"], "name"),
    (functools.partial(read_with, folder="public"), ["name", "mode"], "folder"),
    (functools.partial(read_with, extra="bound"), ["name", "folder", "rest", "mode"], "extra"),
    (functools.cache(functools.partial(read, folder="public")), ["name", "mode"], "folder"),
    (wrapping_a_partial, ["name", "mode"], "folder"),
    (binding_itself, ["name"], "folder"),
    (Store().read, ["name", "folder"], "self"),
    (Store().read_public, ["name"], "folder"),
    (Store(), ["name"], "folder"),
    (Store.open, ["name", "folder"], "cls"),
    (Store.open_public, ["name"], "folder"),
    (MethodType(functools.partial(_late, folder="public"), Store()), ["name"], "folder"),
]


@pytest.mark.promise("author-bound")
@pytest.mark.parametrize(("function", "offered", "bound"), BOUND, ids=lambda value: getattr(value, "__name__", None))
def test_what_the_author_bound_is_neither_offered_nor_taken(
    function: Callable[..., Any], offered: list[str], bound: str
) -> None:
    assert list(schema_of(function)["properties"]) == offered
    given = {name: "x" for name in offered if name != "rest"}
    with pytest.raises(InvalidArguments, match=f"{bound!r} is not expected"):
        check(function, **given, **{bound: "/etc"})


@pytest.mark.parametrize(("function", "offered", "bound"), BOUND, ids=lambda value: getattr(value, "__name__", None))
def test_a_function_with_bound_arguments_is_called_with_the_others(
    function: Callable[..., Any], offered: list[str], bound: str
) -> None:
    parameters = parameters_of(function)[1]
    values = parameters.check(without_references({name: "x" for name in offered if name != "rest"}))

    positional, keywords = parameters.bind(values)
    returned = function(*positional, **keywords)

    assert "x" in str(returned)
    assert bound not in keywords


def test_a_signature_that_a_function_states_itself_is_taken() -> None:
    def send(*args: Any, **keywords: Any) -> None: ...

    stated = inspect.Parameter("to", inspect.Parameter.KEYWORD_ONLY, annotation=str)
    send.__signature__ = inspect.Signature([stated])  # type: ignore[attr-defined]  # PEP 362

    assert schema_of(send)["required"] == ["to"]


def test_what_follows_a_bound_keyword_is_passed_by_keyword() -> None:
    kinds = {one.name: one.kind.name for one in open_signature(functools.partial(_late, folder="x")).parameters}

    assert kinds == {"store": "POSITIONAL_OR_KEYWORD", "name": "KEYWORD_ONLY"}


def test_a_bound_name_is_refused_also_where_it_comes_by_reference() -> None:
    from nbtool.tools.variables.references import resolve
    from nbtool.tools.variables.store import Variables

    variables = Variables({"etc": object()})
    variables.expose("etc")
    parameters = parameters_of(functools.partial(read_with, folder="public"))[1]

    with pytest.raises(InvalidArguments, match="'folder' is not expected"):
        parameters.check(resolve({"name": "a", "folder": "$VAR_REF{{etc}}"}, variables))


def test_a_chain_of_wrappers_without_an_end_has_no_signature() -> None:
    def loop(*args: Any) -> None: ...

    loop.__wrapped__ = loop  # type: ignore[attr-defined]  # as a faulty decorator may

    with pytest.raises(BadUsage, match="cannot be read"):
        parameters_of(loop)


def test_a_function_that_declares_a_signature_and_takes_keywords_only_gets_keywords() -> None:
    def post(**fields: object) -> str:
        return f"{fields['url']}: {fields['text']}"

    post.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # as libraries that build functions do
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str) for name in ("url", "text")]
    )

    with ScriptedWire([[call("post", url="a", text="b")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[tool(post, run="auto")]).send("Go")

    assert turn.calls[0].result == "a: b"


def test_a_signature_that_was_set_counts_more_than_what_is_wrapped() -> None:
    @functools.wraps(read)
    def passing_on(*args: Any, **keywords: Any) -> Any:
        return read(*args, **keywords)

    kinds = {"name": inspect.Parameter.POSITIONAL_OR_KEYWORD, "options": inspect.Parameter.VAR_KEYWORD}
    passing_on.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # as decorators set it
        [inspect.Parameter(name, kind) for name, kind in kinds.items()]
    )

    assert [one.name for one in open_signature(passing_on).parameters] == ["name", "options"]


def dispatching(function: Callable[..., Any]) -> Callable[..., Any]:
    dispatcher = functools.singledispatch(function)
    dispatcher.register(int, function)
    return dispatcher


@pytest.mark.every_case
@pytest.mark.parametrize("is_positional", [True, False], ids=["positional", "any"])
@pytest.mark.parametrize(("annotation", "schema"), [(str, {"string", "integer"}), (inspect.Parameter.empty, set())])
def test_a_dispatcher_takes_its_first_argument_by_position(
    annotation: Any, schema: set[str], is_positional: bool
) -> None:
    def show(value, unit: str = "m"):  # type: ignore[no-untyped-def]
        return value, unit

    def show_by_position(value, /, unit: str = "m"):  # type: ignore[no-untyped-def]
        return value, unit

    function = show_by_position if is_positional else show
    if annotation is not inspect.Parameter.empty:
        function.__annotations__["value"] = annotation
    dispatcher = dispatching(function)

    kinds = {one.name: one.kind.name for one in open_signature(dispatcher).parameters}
    stated = schema_of(dispatcher)["properties"]["value"]

    assert kinds == {"value": "POSITIONAL_ONLY", "unit": "POSITIONAL_OR_KEYWORD"}
    assert {one["type"] for one in stated.get("anyOf", [])} == schema
    assert check(dispatcher, value=3, unit="s") == {"value": 3, "unit": "s"}


class Sender:
    """An object that declares a signature of its own."""

    def __init__(self) -> None:
        stated = inspect.Parameter("order", inspect.Parameter.KEYWORD_ONLY, annotation="Order")
        self.__signature__ = inspect.Signature([stated])

    def __call__(self, **fields: Any) -> Any:
        return fields


class Receipt:
    """A class that is a tool: its arguments are those of its objects."""

    def __init__(self, order: Order, copies: int = 1) -> None:
        self.order, self.copies = order, copies


@pytest.mark.every_case
@pytest.mark.parametrize("function", [Sender(), Receipt], ids=["object", "class"])
def test_names_in_the_signature_of_an_object_or_a_class_are_those_of_its_module(function: Any) -> None:
    assert check(function, order={"item": "tea", "count": 2}) == {"order": Order(item="tea", count=2)}
    with pytest.raises(InvalidArguments, match=r"'order'\['item'\]"):
        check(function, order={"count": 2})
