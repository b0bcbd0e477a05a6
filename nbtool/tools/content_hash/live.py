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
import types
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from nbtool.tools.content_hash import libraries
from nbtool.tools.content_hash.builtins import write
from nbtool.tools.content_hash.classes import is_class
from nbtool.tools.content_hash.fields import bases, of_class, short_name
from nbtool.tools.content_hash.live_code import (
    write_builtin,
    write_class,
    write_function,
    write_identity,
    write_method,
    write_partial,
    write_property,
    write_wrapped,
)
from nbtool.tools.content_hash.live_hasher import LiveHasher
from nbtool.tools.content_hash.live_instances import write_array, write_instance
from nbtool.tools.content_hash.module_origin import is_ours, is_own
from nbtool.tools.values.describe import identity


class LiveInk(LiveHasher):
    """The hasher that knows how every kind of object is written."""

    def write_object(self, value: Any) -> None:
        """Write an object, past its own methods; which kind it is says how."""
        kind = type(value)
        if writer := _WRITERS.get(id(kind)):
            self.mark(kind.__name__)
            self.write_inside(value, writer)
        elif of_library := libraries.writer_of(kind):
            of_library(value, self, write)
        elif is_class(value):
            self.write_inside(value, write_class)
        elif is_ours(of_class(kind, "__module__")):
            self.mark(identity(value))
        elif _is_of_the_process(kind):
            self.count_by_identity(value, f"a {short_name(kind)} cannot be compared")
        else:
            self.write_inside(value, write_instance)


_OF_THE_PROCESS = (
    ("logging", "Handler"), ("logging", "Logger"), ("logging", "Manager"), ("asyncio", "AbstractEventLoop"),
    ("threading", "Thread"), ("concurrent.futures", "Executor"),
    ("IPython.core.interactiveshell", "InteractiveShell"),
)  # fmt: skip
"""Classes of Python and its libraries whose instances lead to much of what the process holds: the loggers and tasks of
others, all names of the notebook. Reading them would cost the more the longer the process lives."""


def _is_of_the_process(kind: type) -> bool:
    if is_own(of_class(kind, "__module__")):
        return False
    line = bases(kind)
    kinds = (vars(sys.modules[module]).get(name) for module, name in _OF_THE_PROCESS if module in sys.modules)
    return any(base is one for one in kinds for base in line)


def _view(view: memoryview, ink: LiveHasher) -> None:
    ink.mark(f"{view.format} {view.shape} {view.strides}")
    ink.data(view.tobytes())


def _stream(stream: Any, ink: LiveHasher) -> None:
    write((stream.tell(), stream.getvalue()), ink)


def _module(module: ModuleType, ink: LiveHasher) -> None:
    ink.count_by_identity(module, "a module cannot be compared")


def _variable_of_context(variable: Any, ink: LiveHasher) -> None:
    ink.count_by_identity(variable, "a ContextVar cannot be compared")


def _weak(reference: Any, ink: LiveHasher) -> None:
    write(reference(), ink)


def _slice(value: slice, ink: LiveHasher) -> None:
    write((value.start, value.stop, value.step), ink)


def _namespace(value: Any, ink: LiveHasher) -> None:
    write(vars(value), ink)


_WRITERS: dict[int, Callable[[Any, LiveHasher], None]] = {
    id(types.FunctionType): write_function,
    id(types.MethodType): write_method,
    id(types.BuiltinFunctionType): write_builtin,
    id(functools.partial): write_partial,
    id(type): write_class,
    id(staticmethod): write_wrapped,
    id(classmethod): write_wrapped,
    id(property): write_property,
    id(types.ModuleType): _module,
    id(weakref.ref): _weak,
    id(types.CodeType): write_identity,
    id(re.Pattern): write_identity,
    id(ContextVar): _variable_of_context,
    id(object): write_identity,
    id(memoryview): _view,
    id(io.BytesIO): _stream,
    id(io.StringIO): _stream,
    id(slice): _slice,
    id(types.SimpleNamespace): _namespace,
    id(array.array): write_array,
}
"""By the identity of a type: asking a type for its hash could run a metaclass."""
