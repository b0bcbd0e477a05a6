"""A function of the notebook as a tool of the model.

`@tool` only marks: the function stays the function it is. A `Tool` is made of it where it is offered, with the schema
of its signature, its policy, and a digest that changes when the tool does.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Literal, TypeVar, cast, overload

from nbtool.errors import BadUsage
from nbtool.tools.approval import Policy, ResultPolicy, RunPolicy, make_digest
from nbtool.tools.schema.parameters import Parameters, parameters_of
from nbtool.tools.values.describe import object_token

F = TypeVar("F", bound=Callable[..., Any])

TOOL_ATTRIBUTE = "__nbtool_tool__"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

MAX_METHODS = 50
"""Methods of an object that become tools; one with more, such as a frame or an array, is data."""


@dataclass(frozen=True, slots=True)
class Options:
    """What an author says of a tool; see `tool`."""

    policy: Policy = field(default_factory=Policy)
    timeout: float | None = None
    thread: bool = False
    name: str = ""
    store_as: str = ""
    executor: Executor | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Stay behind when a function is sent to another process: there it is no tool, and executors cannot travel."""
        return type(None), ()


@dataclass(frozen=True, slots=True)
class Progress:
    """Yielded by a generator tool to say how far it is; not part of its result.

    `fraction` runs from 0 to 1.
    """

    text: str = ""
    fraction: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A function that the model may call.

    `timeout` counts seconds. With `thread` a synchronous function runs in a worker thread of its own, with `executor`
    there, else on the thread that waits for the turn. `store_as` names the variable its result is kept in. `identity`
    tells two tools of the same digest apart; it holds within one kernel. A tool that does not `resolves_references`
    gets references as plain text; the result of one that is not `stores_result` becomes no variable. `notice` is what
    the person, and only the person, should know before a call. `preview_effect` tells the person, and only the person,
    what a call with these arguments will change, such as a file's diff; it changes nothing itself. `sends_to` names
    who is sent the arguments, where they leave this kernel: another model never gets what was exposed by reference
    alone, a server only where the person approves that very call. `is_async`: calling the function gives a coroutine
    or an async generator, so that it belongs on a loop: on nbtool's own where it `is_builtin`. Calls of a tool that is
    `in_order` run after those before them in their round.
    """

    function: Callable[..., Any]
    name: str
    description: str
    parameters: Parameters
    policy: Policy = field(default_factory=Policy)
    timeout: float | None = None
    thread: bool = False
    executor: Executor | None = None
    store_as: str = ""
    resolves_references: bool = True
    stores_result: bool = True
    digest: str = ""
    identity: str = ""
    origin: str = ""
    notice: str = ""
    preview_effect: Callable[..., str] | None = None
    sends_to: Literal["", "model", "server"] = ""
    in_order: bool = False
    is_async: bool = field(init=False)
    is_builtin: bool = field(init=False)

    def __post_init__(self) -> None:
        function = _unwrap(self.function)
        is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        object.__setattr__(self, "is_async", is_async)  # asked several times a call
        object.__setattr__(self, "is_builtin", str(getattr(function, "__module__", "")).startswith("nbtool."))

    @property
    def spec(self) -> dict[str, Any]:
        """The tool as a model is told of it: name, description, parameters (a JSON schema)."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters.schema}

    @property
    def runs_in_order(self) -> bool:
        """Whether its calls run one after another, in order: it says so, or runs where the notebook's own code does."""
        return self.in_order or not (self.is_async or self.thread or self.executor)


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    function: F,
    /,
    *,
    run: RunPolicy = ...,
    result: ResultPolicy = ...,
    timeout: float | None = ...,
    thread: bool = ...,
    name: str = ...,
    sensitive: bool = ...,
    store_as: str = ...,
    executor: Executor | None = ...,
) -> F: ...
@overload
def tool(
    *,
    run: RunPolicy = ...,
    result: ResultPolicy = ...,
    timeout: float | None = ...,
    thread: bool = ...,
    name: str = ...,
    sensitive: bool = ...,
    store_as: str = ...,
    executor: Executor | None = ...,
) -> Callable[[F], F]: ...


def tool(  # noqa: PLR0913 - the options of a tool, each by its name
    function: F | None = None,
    /,
    *,
    run: RunPolicy = "ask_always",
    result: ResultPolicy = "never",
    timeout: float | None = None,
    thread: bool = False,
    name: str = "",
    sensitive: bool = False,
    store_as: str = "",
    executor: Executor | None = None,
) -> F | Callable[[F], F]:
    """Mark a function, or every public method of a class, as a tool; it stays what it is.

    Args:
        function: sync, async, generator or async generator; a bound method; a class.
        run: whether a person is asked before a call: `auto`, `ask_once`, `ask_always`.
        result: whether a person is asked before the result reaches the model: `never`, `on_error`, `always`.
        timeout: seconds that a call may take.
        thread: run in a worker thread, not where the notebook's own code runs.
        name: another name than the function's.
        sensitive: ask each time, and never remember the answer.
        store_as: the variable that keeps the latest result, in place of `{tool}_{n}_result`.
        executor: where a synchronous function runs instead: a pool of `concurrent.futures`, a Dask client's
            `get_executor(pure=False)`, an ipyparallel view's `executor`. The function, its arguments and what it
            returns are pickled on the way to other processes; what it prints stays there.

    Raises:
        BadUsage: an option makes no sense.
    """
    options = Options(Policy(run, result, sensitive), timeout, thread, name, store_as, executor)
    _check_options(options)
    return (
        functools.partial(_attach_options, options=options) if function is None else _attach_options(function, options)
    )


def as_tools(obj: Any) -> list[Tool]:
    """Give the tools that a thing stands for: one for a callable, one for each public method of a class or an object.

    Raises:
        BadUsage: it stands for none, or cannot be described to a model.
    """
    if isinstance(obj, Tool):
        return [obj]
    if inspect.isclass(obj):
        return [_make_tool(method, options) for method, options in _marked_methods(_make_instance(obj))]
    if callable(obj):
        return [_make_tool(obj, getattr(obj, TOOL_ATTRIBUTE, None) or Options())]
    is_own = type(obj).__module__ != "builtins"
    if (count := count_methods(obj)) > MAX_METHODS:
        raise BadUsage(
            f"A {type(obj).__name__} has {count} methods: that is data, and no set of tools.",
            fix="Expose it (`chat.expose`, or `-v NAME` in a cell), or give the methods that you mean.",
        )
    tools = [_make_tool(method, options) for method, options in _marked_methods(obj)] if is_own else []
    if not tools:
        raise BadUsage(f"A {type(obj).__name__} is not a tool.", fix="Give a function, a method, a class or a toolset.")
    return tools


def count_methods(obj: Any) -> int:
    """Count the public methods of an object, those of its class alone."""
    names = (name for name in dir(type(obj)) if not name.startswith("_"))
    return sum(inspect.isroutine(inspect.getattr_static(type(obj), name)) for name in names)


def _attach_options(function: F, options: Options) -> F:
    if not callable(function):
        raise BadUsage(f"@tool takes a function or a class, not a {type(function).__name__}.")
    if not inspect.isclass(function):
        _check_name(options.name or name_of(function))
        _check_executor(function, options)
    target: Any = function
    if (
        TOOL_ATTRIBUTE in getattr(function, "__dict__", {})
        or not hasattr(function, "__dict__")
        or inspect.ismethod(function)
    ):
        # marked otherwise already, or a builtin or bound method that carries no marks: a partial of it does
        target = functools.update_wrapper(functools.partial(function), function)
    setattr(target, TOOL_ATTRIBUTE, options)
    return cast(F, target)


def _make_tool(function: Callable[..., Any], options: Options) -> Tool:
    name = options.name or name_of(function)
    _check_name(name)
    description, parameters = parameters_of(function)
    origin = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', name)}"
    return Tool(
        function=function,
        name=name,
        description=description,
        parameters=parameters,
        policy=options.policy,
        timeout=options.timeout,
        thread=options.thread,
        executor=options.executor,
        store_as=options.store_as,
        digest=make_digest(name=name, description=description, schema=parameters.schema, source=_source(function)),
        identity="@".join([origin, *_captured_objects(function)]),
        origin=origin,
    )


def name_of(function: Callable[..., Any]) -> str:
    """Give the name a callable goes by."""
    function_with_code = _unwrap(function)
    return str(getattr(function_with_code, "__name__", type(function_with_code).__name__))


def _marked_methods(obj: Any) -> Iterator[tuple[Callable[..., Any], Options]]:
    class_options: Options = getattr(type(obj), TOOL_ATTRIBUTE, None) or Options()
    for name in dir(type(obj)):
        if not name.startswith("_") and inspect.isroutine(inspect.getattr_static(type(obj), name)):
            method = getattr(obj, name)
            yield method, getattr(method, TOOL_ATTRIBUTE, None) or class_options


def _make_instance(cls: type) -> Any:
    try:
        return cls()
    except TypeError as error:
        raise BadUsage(f"{cls.__name__} cannot be made without arguments: {error}.", fix="Give an instance.") from error


def _unwrap(function: Any) -> Any:
    """Look through partials and methods at the function that carries the code."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__func__", function)


def _source(function: Callable[..., Any]) -> str:
    unwrapped = inspect.unwrap(_unwrap(function))
    code = getattr(unwrapped, "__code__", None)
    try:
        text = inspect.getsource(unwrapped)
    except (OSError, TypeError):
        text = ""
    return text if code is None else f"{text}\n{_code_digest(code)}"


def _code_digest(code: CodeType) -> str:
    parts = [
        _code_digest(part)
        if isinstance(part, CodeType)
        else sorted(map(repr, part))
        if isinstance(part, frozenset)
        else repr(part)
        for part in code.co_consts
    ]
    return make_digest(code=code.co_code.hex(), constants=parts, names=code.co_names)


def _captured_objects(function: Any) -> list[str]:
    """Name the objects that two functions of one source may differ by: instances, partial arguments, closures."""
    if isinstance(function, functools.partial):
        values = [*function.args, *function.keywords.values()]
        return [*_captured_objects(function.func), *(object_token(value) for value in values)]
    unwrapped, owner = _unwrap(function), getattr(function, "__self__", None)
    has_no_state = (
        hasattr(unwrapped, "__code__") and not getattr(unwrapped, "__closure__", None)
    ) or inspect.isbuiltin(unwrapped)
    captured = [] if owner is None or inspect.ismodule(owner) else [owner]
    return [object_token(value) for value in (captured if has_no_state else [*captured, unwrapped])]


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise BadUsage(
            f"{name!r} is no name for a tool: 1 to 64 letters, digits, '_' or '-' are expected.",
            fix="Name it with tool(name=...).",
        )


def _check_options(options: Options) -> None:
    if options.timeout is not None and not options.timeout > 0:
        raise BadUsage(f"timeout={options.timeout!r}: seconds above 0 are expected.")
    if not isinstance(options.thread, bool):
        raise BadUsage(f"thread={options.thread!r}: True (a worker thread) or False (the notebook's own) is expected.")
    if options.executor is not None and (options.thread or not isinstance(options.executor, Executor)):
        raise BadUsage(
            f"executor={type(options.executor).__name__}: a concurrent.futures.Executor is expected, without thread.",
            fix="Give a pool, client.get_executor(pure=False) of Dask, or view.executor of ipyparallel.",
        )
    if options.name:
        _check_name(options.name)
    if options.store_as and not NAME.fullmatch(options.store_as):
        raise BadUsage(f"store_as={options.store_as!r}: letters, digits, '_' or '-' are expected.")


def _check_executor(function: Callable[..., Any], options: Options) -> None:
    unwrapped = _unwrap(function)
    is_stepwise = inspect.isgeneratorfunction(unwrapped) or inspect.isasyncgenfunction(unwrapped)
    if options.executor is not None and (is_stepwise or inspect.iscoroutinefunction(unwrapped)):
        raise BadUsage(
            f"{name_of(function)!r} cannot run at an executor: it is asynchronous or yields.",
            fix="Give a plain function, or leave the executor out.",
        )
