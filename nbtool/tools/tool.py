"""A Python function as a tool of the model.

`@tool` only attaches options: the function itself is unchanged. A `Tool` is created when the function is added to a
toolset, with the schema of its signature, its policy, and a digest that changes when the tool changes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar, cast, overload

from nbtool.annotation_kinds import Range, Seconds
from nbtool.argument_check import check_arguments
from nbtool.errors import BadUsage
from nbtool.json_schema.names import quoted_name
from nbtool.text import clean_text, count_of, shorten, with_article
from nbtool.tools.approval import Policy, ResultPolicy, RunPolicy, make_digest
from nbtool.tools.functions import (
    captured_objects,
    is_made_of_fields,
    name_of,
    public_methods,
    source_of,
    unwrap_function,
)
from nbtool.tools.schema.declared_schema import declare_parameters
from nbtool.tools.schema.parameters import Offer, Parameters
from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.tool_names import NAME, wire_name

F = TypeVar("F", bound=Callable[..., Any])

TOOL_ATTRIBUTE = "__nbtool_tool__"

MAX_PROBLEM = 200
"""Maximum number of characters of why a class cannot be created."""

MAX_METHODS = 50
"""Maximum number of public methods of an object used as tools; an object with more (a data frame, an array) is data."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a tool; see `tool`."""

    policy: Policy = field(default_factory=Policy)
    timeout: float | None = None
    thread: bool = False
    name: str = ""
    store_as: str = ""
    executor: Executor | None = None
    reads_outside: bool = True
    schema: Mapping[str, Any] | None = None
    description: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Drop what may not be picklable: an executor, and policies that are functions, where its copy asks."""
        run = "ask_always" if callable(self.policy.run) else self.policy.run
        result = "always" if callable(self.policy.result) else self.policy.result
        policy = Policy(run, result, self.policy.sensitive)
        others = (self.timeout, self.thread, self.name, self.store_as, None, self.reads_outside)
        return Options, (policy, *others, self.schema, self.description)


@check_arguments
@dataclass(frozen=True, slots=True)
class Progress:
    """Yielded by a generator tool to report progress; not part of the result.

    `fraction` is between 0 and 1.
    """

    text: str = ""
    fraction: Annotated[float, Range(at_least=0, at_most=1)] | None = None


@check_arguments
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Tool:
    """A function that the model may call.

    Args:
        timeout: seconds.
        thread: run a synchronous function in a worker thread instead of the thread that waits for the turn.
        executor: run a synchronous function there.
        store_as: name of the variable that stores the result.
        resolves_references: False passes references to the function as plain text.
        stores_result: False does not store the result as a variable.
        identity: distinguishes two tools with the same digest; valid within one kernel.
        notice: shown to the person before a call, and never sent to the model.
        preview_effect: return what a call with these arguments would change, such as a file's diff. Shown to the
            person, and never sent to the model. It must not change anything.
        sends_to: who receives the arguments if they leave this kernel. Values exposed by reference only are never
            sent to another model, and to a server only if the person approves that call.
        in_order: run after the earlier calls of the same round.
        needs_main_thread: run a synchronous function on the main thread also where no caller waits, if it can be.
        is_async: calling the function returns a coroutine or an async generator. It runs on an event loop: that
            of the code that awaits the turn, else one of nbtool's.
        qualified_name: the name for a person where `name`, for the model, differs from it: `server.tool` for a tool
            of a server, or a function's own name in letters that not every model's server takes.
        hint: what a server says of its tool, such as that it only reads. Shown to the person, and no consent.
        is_value_free: its results contain no values of the notebook, unless its policy asks before they are sent.
        reads_outside: its results may hold texts of others, such as a page, a mail or a file.
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
    needs_main_thread: bool = False
    qualified_name: str = ""
    hint: str = ""
    is_value_free: bool = False
    reads_outside: bool = True
    is_async: bool = field(init=False)
    is_builtin: bool = field(init=False)

    def __post_init__(self) -> None:
        function = unwrap_function(self.function)
        is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        object.__setattr__(self, "is_async", is_async)  # read several times per call
        object.__setattr__(self, "is_builtin", str(getattr(function, "__module__", "")).startswith("nbtool."))

    @property
    def display_name(self) -> str:
        """The name that a person reads and types: `server.tool` for a tool of a server."""
        return self.qualified_name or self.name

    @property
    def offer(self) -> Offer:
        """The parameters as they are offered to a model."""
        return self.parameters.offer

    @property
    def unfit_reason(self) -> str:
        """Why the tool cannot be offered to a model, whose server would refuse every request with it; else empty."""
        is_named = NAME.fullmatch(self.name) is not None
        return self.offer.problem if is_named else "its name is not of 1 to 64 letters, digits, '_' or '-'"

    @property
    def spec(self) -> dict[str, Any]:
        """The tool as sent to a model: name, description, parameters (a JSON schema)."""
        return {"name": self.name, "description": clean_text(self.description), "parameters": self.offer.schema}

    @property
    def runs_in_order(self) -> bool:
        """Whether its calls run one after another: `in_order`, or on the thread of the notebook's own code."""
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
    reads_outside: bool = ...,
    schema: Mapping[str, Any] | None = ...,
    description: str = ...,
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
    reads_outside: bool = ...,
    schema: Mapping[str, Any] | None = ...,
    description: str = ...,
) -> Callable[[F], F]: ...


@check_arguments
def tool(  # noqa: PLR0913 - the options of a tool are keyword arguments
    function: F | None = None,
    /,
    *,
    run: RunPolicy = "ask_always",
    result: ResultPolicy = "never",
    timeout: Seconds | None = None,
    thread: bool = False,
    name: str = "",
    sensitive: bool = False,
    store_as: str = "",
    executor: Executor | None = None,
    reads_outside: bool = True,
    schema: Mapping[str, Any] | None = None,
    description: str = "",
) -> F | Callable[[F], F]:
    """Mark a function, or every public method of a class, as a tool; the function itself is unchanged.

    Args:
        function: sync, async, generator or async generator; a bound method; a class. Its signature is understood as
            pydantic's `validate_call` does, `Field(…)` included. What a `functools.partial` binds is not offered.
        run: when to ask for approval before a call: `auto` (never), `ask_first`, `ask_once`, `ask_always`.
        result: when to ask for approval before the result is sent to the model: `never`, `on_error`, `always`; or
            `reference`, which sends its type and shape only. See `Policy` for functions.
        timeout: seconds that a call may take.
        thread: run in a worker thread instead of the thread of the notebook's own code.
        name: overrides the function's name. One in letters other than ASCII's gets another form for the model.
        sensitive: ask before every call, and never remember the decision.
        store_as: the variable that stores the latest result, instead of `{tool}_{n}_result`.
        executor: run a synchronous function there: a pool of `concurrent.futures`, a Dask client's
            `get_executor(pure=False)`, an ipyparallel view's `executor`. The function, its arguments and its return
            value are pickled if it runs in another process; its printed output stays there. A call whose worker at
            Dask is lost is not run again, unless the executor has `retries`.
        reads_outside: False for a function whose results hold no text of others; see `ask_after_outside_text`.
        schema: the JSON schema of the arguments, an object, instead of the annotations; the function gets them by
            keyword.
        description: what the model is told, instead of the docstring.

    Raises:
        BadUsage: an option is invalid.
    """
    policy = Policy(run, result, sensitive)
    options = Options(policy, timeout, thread, name, store_as, executor, reads_outside, schema, description)
    _check_options(options)
    return (
        functools.partial(_attach_options, options=options) if function is None else _attach_options(function, options)
    )


def as_tools(obj: Any) -> list[Tool]:
    """Return the tools of an object: one for a callable, one per public method of a class or an instance.

    Raises:
        BadUsage: it has none, or no schema can be built for it.
    """
    if isinstance(obj, Tool):
        return [obj]
    if inspect.isclass(obj) and is_made_of_fields(obj):
        raise BadUsage(
            f"The class {obj.__name__} holds fields, and has no method to call.",
            fix=f"Pass a function with a parameter of it: def use(value: {obj.__name__}).",
        )
    if inspect.isclass(obj):
        if not (tools := [_make_tool(method, options) for method, options in _marked_methods(_make_instance(obj))]):
            raise BadUsage(f"The class {obj.__name__} has no public method to call.", fix="Pass one that has.")
        return tools
    if callable(obj):
        return [_make_tool(obj, getattr(obj, TOOL_ATTRIBUTE, None) or Options())]
    is_own = type(obj).__module__ != "builtins"
    if (count := count_methods(obj)) > MAX_METHODS:
        raise BadUsage(
            f"{with_article(type(obj).__name__, capital=True)} has {count_of(count, 'method')}: "
            "that is data, not a set of tools.",
            fix="Expose it (`chat.expose`, or `-v NAME` in a cell), or pass the methods that you mean.",
        )
    tools = [_make_tool(method, options) for method, options in _marked_methods(obj)] if is_own else []
    if not tools:
        raise BadUsage(f"{with_article(type(obj).__name__, capital=True)} is not a tool.", fix=_fix_of_no_tool(obj))
    return tools


def _fix_of_no_tool(obj: object) -> str:
    """Return what to pass in place of an object that is no tool, for instance its name."""
    if isinstance(obj, str) and obj.isidentifier() and NAME.fullmatch(obj):
        return f"Pass the function itself, without quotes: tools=[{obj}]."
    if isinstance(obj, str) and obj.startswith("nbtool:"):
        name = shorten(obj.removeprefix("nbtool:"), 64)
        return f"In Python: `from nbtool.toolsets import standard`, then tools=[standard({name!r})]."
    return "Pass a function, a method, a class or a toolset."


def as_named_tool(function: Callable[..., Any], name: str) -> Tool:
    """Return the tool of a function that its owner knows by `name`, unless `tool(name=…)` has given it one.

    Raises:
        BadUsage: no schema can be built for it.
    """
    options = getattr(function, TOOL_ATTRIBUTE, None) or Options()
    return _make_tool(function, options if options.name else replace(options, name=name))


def count_methods(obj: Any) -> int:
    """Count the public methods of an object's class."""
    return len(public_methods(type(obj)))


def _attach_options(function: F, options: Options) -> F:
    if not callable(function):
        raise BadUsage(f"@tool takes a function or a class, not {with_article(type(function).__name__)}.")
    if not inspect.isclass(function):
        wire_name(options.name or name_of(function))
        _check_place(function, options)
    target: Any = function
    if (
        TOOL_ATTRIBUTE in getattr(function, "__dict__", {})
        or not hasattr(function, "__dict__")
        or inspect.ismethod(function)
    ):
        # options already attached, or a builtin or bound method without a `__dict__`: attach them to a partial
        target = functools.update_wrapper(functools.partial(function), function)
    setattr(target, TOOL_ATTRIBUTE, options)
    return cast(F, target)


def _make_tool(function: Callable[..., Any], options: Options) -> Tool:
    own_name = options.name or name_of(function)
    name, written = wire_name(own_name)
    if options.schema is None:
        description, parameters = parameters_of(function)
    else:
        description, parameters = inspect.getdoc(function) or "", declare_parameters(options.schema)
    description = options.description or description
    if written:
        description = f"The function {quoted_name(written)}. {description}".rstrip()
    origin = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', own_name)}"
    check = getattr(options.policy.run, "check_parameters", None)
    if check and parameters.schema.get("additionalProperties") is False:
        check(own_name, tuple(parameters.schema.get("properties", ())))
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
        reads_outside=options.reads_outside,
        digest=make_digest(name=name, description=description, schema=parameters.schema, source=source_of(function)),
        identity="@".join([origin, *captured_objects(function)]),
        origin=origin,
        qualified_name=written,
    )


def _marked_methods(obj: Any) -> Iterator[tuple[Callable[..., Any], Options]]:
    class_options: Options = getattr(type(obj), TOOL_ATTRIBUTE, None) or Options()
    for name in public_methods(type(obj)):
        method = getattr(obj, name)
        yield method, getattr(method, TOOL_ATTRIBUTE, None) or class_options


def _make_instance(cls: type) -> Any:
    try:
        return cls()
    except (TypeError, ValueError) as error:
        problem = shorten(str(error).replace("\n", " "), MAX_PROBLEM)
        raise BadUsage(
            f"{cls.__name__} cannot be created without arguments: {problem}.", fix="Pass an instance."
        ) from error


def _check_options(options: Options) -> None:
    if options.executor is not None and options.thread:
        raise BadUsage("A tool cannot run both in an executor and in a worker thread.", fix="Remove thread=True.")
    if options.name:
        wire_name(options.name)
    if options.store_as and not NAME.fullmatch(options.store_as):
        raise BadUsage(f"store_as={options.store_as!r}: expected letters, digits, '_' or '-'.")


def _check_place(function: Callable[..., Any], options: Options) -> None:
    unwrapped = unwrap_function(function)
    if options.thread and (inspect.iscoroutinefunction(unwrapped) or inspect.isasyncgenfunction(unwrapped)):
        raise BadUsage(
            f"{name_of(function)!r} cannot run in a worker thread: it is async, and runs on an event loop.",
            fix="Remove thread=True; what blocks in it runs in a thread with `await asyncio.to_thread(…)`.",
        )
    is_stepwise = inspect.isgeneratorfunction(unwrapped) or inspect.isasyncgenfunction(unwrapped)
    if options.executor is not None and (is_stepwise or inspect.iscoroutinefunction(unwrapped)):
        raise BadUsage(
            f"{name_of(function)!r} cannot run in an executor: it is async or a generator.",
            fix="Use a plain function, or remove the executor.",
        )
