"""Writing objects of this very process, as they are now: to notice a change in place, not to compare across kernels.

More is read than for a fingerprint: instances of any Python class with their slots, subclasses of the builtin
containers and of arrays, functions with what they close over, call and carry. What has state that only its own code
could tell (a generator, a connection, an object of an extension) counts by its identity, and is named as a problem.
"""

from __future__ import annotations

import array
import functools
import io
import re
import sys
import time
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from nbtool.tools.content_hash import libraries
from nbtool.tools.content_hash.builtins import column, write
from nbtool.tools.content_hash.classes import is_class
from nbtool.tools.content_hash.code import names_in
from nbtool.tools.content_hash.fields import bases, class_name, namespace, of_class, short_name, state
from nbtool.tools.content_hash.hasher import Ink, OverLimit, Unknown
from nbtool.tools.content_hash.module_origin import is_ours, is_own
from nbtool.tools.content_hash.source import compiled
from nbtool.tools.values.describe import identity

MAX_PROBLEMS = 5
"""Problems that are named."""

MARK = "__nbtool_tool__"
"""What `@tool` leaves on a function; it says how the tool is offered, and changes nothing that runs."""

_POINTER = 8
"""Bytes of a slot, of a `__dict__` and of a list of weak references in an instance."""


class LiveInk(Ink):
    """Ink for objects of this process. `problems` say what could not be read; each object is written once.

    Given `names`, only these attributes of instances of the person's own classes are written, and of their methods only
    these and those that Python calls by itself. `found` are the names that occur in the code that was written.
    """

    def __init__(self, seconds: float, *, max_bytes: int, max_items: int, names: frozenset[str] | None = None) -> None:
        super().__init__(seconds, max_bytes=max_bytes, max_items=max_items)
        self.names = names
        self.found: set[str] = set()
        self.problems: list[str] = []
        self._written: dict[int, tuple[int, object]] = {}
        self._bodies: dict[int, type] = {}

    def clock(self) -> float:
        """Return the processor seconds of this thread: a busy machine makes no object unreadable."""
        return time.thread_time()

    def enter(self, container: object) -> bool:
        """Go into a container; False where it was written before, which is then named by its number."""
        if found := self._written.get(id(container)):
            self.mark(f"again {found[0]}")
            return False
        entered = super().enter(container)
        self._written[id(container)] = (len(self._written), container)  # kept alive: an id must not be used again
        return entered

    def write_other(self, value: Any) -> bool:
        """Write an object, whatever it is; what cannot be read counts by its identity."""
        try:
            self._write_live(value)
        except OverLimit:
            raise
        except Unknown as unknown:
            self.count_by_identity(value, str(unknown))
        except Exception as error:  # noqa: BLE001 - a library that fails on its own object: it cannot be read
            self.count_by_identity(value, f"a {short_name(type(value))} cannot be read ({type(error).__name__})")
        return True

    def is_first(self, kind: type) -> bool:
        """Whether the body of a class is to be written for the first time."""
        is_first = id(kind) not in self._bodies
        self._bodies[id(kind)] = kind
        return is_first

    def _write_live(self, value: Any) -> None:
        kind = type(value)
        if writer := _WRITERS.get(id(kind)):
            self.mark(kind.__name__)
            self._inside(value, writer)
        elif of_library := libraries.writer_of(kind):
            of_library(value, self, write)
        elif is_class(value):
            self._inside(value, _class)
        elif is_ours(of_class(kind, "__module__")):
            self.mark(identity(value))
        else:
            self._inside(value, _instance)

    def count_by_identity(self, value: Any, problem: str) -> None:
        """Write which object it is, and note why no more of it can be read."""
        self.mark(identity(value))
        if problem not in self.problems and len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    @contextmanager
    def without_problems(self) -> Iterator[None]:
        """Let what is written here be no problem: its identity says enough."""
        before, self.problems = self.problems, []
        try:
            yield
        finally:
            self.problems = before

    def _inside(self, value: Any, writer: Callable[[Any, LiveInk], None]) -> None:
        if self.enter(value):
            try:
                writer(value, self)
            finally:
                self.leave()


# --- instances ----------------------------------------------------------------------------------------------------


def _instance(value: Any, ink: LiveInk) -> None:
    """Write an instance of a Python class: what its builtin base holds, its `__dict__` and its slots.

    Where an extension keeps state in it that cannot be seen, that is noted.
    """
    kind = type(value)
    line = bases(kind)
    base = next(one for one in line if one is object or id(one) in _BASES or _is_array(one))
    own = line[: line.index(base)]
    slots = [(one, name, held) for one in own for name, held in namespace(one).items() if _is_slot(held)]
    if _hidden_bytes(kind, base) > _POINTER * len(slots):
        ink.count_by_identity(
            value, f"a {short_name(kind)} cannot be compared"
        )  # what can be seen is read all the same
    _class(kind, ink)
    if base is not object:
        reader = _BASES.get(id(base)) or _array
        reader(value, ink)
    wanted = ink.names if all(base is object or is_own(namespace(base).get("__module__")) for base in line) else None
    for one, name, member in slots:
        if wanted is not None and name not in wanted:
            continue
        ink.mark(f"{class_name(one)} {name}")
        try:
            held = member.__get__(value)
        except AttributeError:
            ink.mark("empty")
        else:
            write(held, ink)
    own_state = state(value)
    write(own_state if wanted is None else {name: own_state[name] for name in own_state if name in wanted}, ink)


def _is_slot(held: Any) -> bool:
    return type(held) is MemberDescriptorType


def _hidden_bytes(kind: type, base: type) -> int:
    """Count the bytes of an instance beside those of its base, its `__dict__` and its weak references."""
    size, offset = type.__dict__["__basicsize__"], type.__dict__["__dictoffset__"]
    weak = type.__dict__["__weakrefoffset__"]
    own_dict = bool(offset.__get__(kind)) and not offset.__get__(base)
    own_weak = bool(weak.__get__(kind)) and not weak.__get__(base)
    return int(size.__get__(kind)) - int(size.__get__(base)) - _POINTER * (own_dict + own_weak)


def _is_array(kind: type) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and vars(numpy).get("ndarray") is kind


def _array(value: Any, ink: LiveInk) -> None:
    numpy = sys.modules["numpy"]
    write(numpy.ndarray.view(value, numpy.ndarray), ink)


def _of_c(kind: type, name: str, value: Any) -> Any:
    """Give a member of a builtin type, past the class of the object."""
    return namespace(kind)[name].__get__(value)


def _mapping(value: Any, ink: LiveInk) -> None:
    column(list(dict.keys(value)), ink)
    column(list(dict.values(value)), ink)


def _ordered(value: Any, ink: LiveInk) -> None:
    column(list(OrderedDict.__iter__(value)), ink)
    _mapping(value, ink)


def _with_default(value: Any, ink: LiveInk) -> None:
    write(_of_c(defaultdict, "default_factory", value), ink)
    _mapping(value, ink)


def _deque(value: Any, ink: LiveInk) -> None:
    write(_of_c(deque, "maxlen", value), ink)
    column(list(deque.__iter__(value)), ink)


def _machine_array(value: Any, ink: LiveInk) -> None:
    ink.mark(_of_c(array.array, "typecode", value))
    ink.data(array.array.tobytes(value))


_BASES: dict[int, Callable[[Any, LiveInk], None]] = {
    id(list): lambda value, ink: column(list(list.__iter__(value)), ink),
    id(tuple): lambda value, ink: column(list(tuple.__iter__(value)), ink),
    id(dict): _mapping,
    id(OrderedDict): _ordered,
    id(defaultdict): _with_default,
    id(set): lambda value, ink: write(set(set.__iter__(value)), ink),
    id(frozenset): lambda value, ink: write(set(frozenset.__iter__(value)), ink),
    id(deque): _deque,
    id(str): lambda value, ink: write(str.__str__(value), ink),
    id(bytes): lambda value, ink: write(bytes(memoryview(value)), ink),
    id(bytearray): lambda value, ink: write(bytes(memoryview(value)), ink),
    id(int): lambda value, ink: write(int.__int__(value), ink),
    id(float): lambda value, ink: write(float.__float__(value), ink),
    id(array.array): _machine_array,
}
"""What the builtin part of an instance holds, read past the methods of its own class."""


# --- code ---------------------------------------------------------------------------------------------------------


def _function(function: FunctionType, ink: LiveInk) -> None:
    """Write a function: its code, its defaults, what it closes over, carries (`__wrapped__` too) and names."""
    names = names_in(function.__code__)
    ink.found |= names
    ink.mark(_code(function.__code__))
    write(function.__defaults__, ink)
    write(function.__kwdefaults__, ink)
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:
            ink.mark("empty")
        else:
            write(held, ink)
    for name, carried in function.__dict__.items():
        if name != MARK:
            ink.mark(str(name))
            write(carried, ink)
    around = function.__globals__
    if is_own(around.get("__name__")):
        for name in sorted(name for name in names if name in around):
            ink.mark(name)
            write(around[name], ink)


def _method(method: Any, ink: LiveInk) -> None:
    write(method.__func__, ink)
    write(method.__self__, ink)


def _builtin(function: Any, ink: LiveInk) -> None:
    ink.mark(function.__qualname__)
    if type(function.__self__) is not ModuleType:
        write(function.__self__, ink)


def _partial(partial: Any, ink: LiveInk) -> None:
    for held in (partial.func, partial.args, partial.keywords, state(partial)):
        write(held, ink)


def _class(kind: type, ink: LiveInk) -> None:
    """Write a class: what a person wrote by its methods and attributes, which can change, else which class it is."""
    for base in bases(kind):
        ink.mark(class_name(base))
        if not is_own(namespace(base).get("__module__")):
            ink.mark(identity(base))
        elif ink.is_first(base):
            with ink.without_problems():
                for name, held in namespace(base).items():
                    if name not in _NOT_CODE and (ink.names is None or _may_run(name, held, ink.names)):
                        ink.mark(str(name))
                        write(held, ink)


def _may_run(name: str, held: Any, names: frozenset[str]) -> bool:
    """Whether a member of a class may run, or be read, where the code names these: Python itself calls some."""
    if name in names:
        return True
    if type(held) is not FunctionType or not name.startswith("__") or name in _FOR_NEW_ONES:
        return False
    return held.__code__.co_filename != _GENERATED and is_own(held.__globals__.get("__name__"))


_GENERATED = "<string>"
"""The file of methods that `dataclasses` and the like write from the fields."""

_FOR_NEW_ONES = {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"}


def _wrapped(method: Any, ink: LiveInk) -> None:
    write(method.__func__, ink)


def _property(held: Any, ink: LiveInk) -> None:
    for function in (held.fget, held.fset, held.fdel):
        write(function, ink)


def _by_identity(value: Any, ink: LiveInk) -> None:
    """Write what never changes in place, or whose own state is no business of a tool."""
    ink.mark(identity(value))


_NOT_CODE = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__static_attributes__",
             "__firstlineno__", "__orig_bases__", "__parameters__", MARK}  # fmt: skip


def _code(code: CodeType) -> str:
    return f"{code.co_name} {code.co_flags} {compiled(code)}"


# --- the rest of the standard library ---------------------------------------------------------------------------------


def _view(view: memoryview, ink: LiveInk) -> None:
    ink.mark(f"{view.format} {view.shape} {view.strides}")
    ink.data(view.tobytes())


def _stream(stream: Any, ink: LiveInk) -> None:
    write((stream.tell(), stream.getvalue()), ink)


def _slice(value: slice, ink: LiveInk) -> None:
    write((value.start, value.stop, value.step), ink)


def _namespace(value: Any, ink: LiveInk) -> None:
    write(vars(value), ink)


_WRITERS: dict[int, Callable[[Any, LiveInk], None]] = {
    id(types.FunctionType): _function,
    id(types.MethodType): _method,
    id(types.BuiltinFunctionType): _builtin,
    id(functools.partial): _partial,
    id(type): _class,
    id(staticmethod): _wrapped,
    id(classmethod): _wrapped,
    id(property): _property,
    id(types.ModuleType): _by_identity,
    id(types.CodeType): _by_identity,
    id(re.Pattern): _by_identity,
    id(ContextVar): _by_identity,
    id(object): _by_identity,
    id(memoryview): _view,
    id(io.BytesIO): _stream,
    id(io.StringIO): _stream,
    id(slice): _slice,
    id(types.SimpleNamespace): _namespace,
    id(array.array): _machine_array,
}
"""By the identity of a type: asking a type for its hash could run a metaclass."""
