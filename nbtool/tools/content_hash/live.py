"""Hash objects of this process in their current state: to detect changes in place, not to compare across kernels.

It covers more than a content hash: instances of any Python class with their slots, subclasses of the builtin containers
and of arrays, functions with their closures, calls and attributes. Objects with state that only their own code can read
(a generator, a connection, an object of an extension) count by identity, and are reported as a problem.
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
from typing import Any

from nbtool.tools.content_hash import libraries
from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.classes import is_class
from nbtool.tools.content_hash.fields import class_attribute, mro, short_name
from nbtool.tools.content_hash.live_code import (
    hash_builtin,
    hash_function,
    hash_identity,
    hash_live_class,
    hash_method,
    hash_partial,
    hash_property,
    hash_wrapped,
)
from nbtool.tools.content_hash.live_hasher import LiveHasher
from nbtool.tools.content_hash.live_instances import hash_array_module, hash_instance
from nbtool.tools.content_hash.live_modules import hash_module
from nbtool.tools.content_hash.module_origin import is_nbtool, is_user_module
from nbtool.tools.content_hash.source import code_fingerprint


class LiveObjectHasher(LiveHasher):
    """The hasher with a hash function for every kind of object."""

    def hash_object(self, value: Any) -> None:
        """Hash an object by its kind, without its own methods."""
        kind = type(value)
        if writer := _WRITERS.get(id(kind)):
            self.update_text(kind.__name__)
            self.hash_container(value, writer)
        elif of_library := libraries.hash_function_for(kind):
            of_library(value, self, hash_value)
        elif any(base is types.ModuleType for base in mro(kind)):
            self.hash_container(value, hash_module)
        elif is_class(value):
            self.hash_container(value, hash_live_class)
        elif is_nbtool(class_attribute(kind, "__module__")):
            self.update_identity(value)
        elif _is_of_the_process(kind):
            self.count_by_identity(value, f"a {short_name(kind)} cannot be compared")
        else:
            self.hash_container(value, hash_instance)


_OF_THE_PROCESS = (
    ("logging", "Handler"), ("logging", "Logger"), ("logging", "Manager"), ("asyncio", "AbstractEventLoop"),
    ("threading", "Thread"), ("concurrent.futures", "Executor"), ("weakref", "finalize"),
    ("IPython.core.interactiveshell", "InteractiveShell"),
)  # fmt: skip
"""Classes of Python and its libraries whose instances reference much of the process (loggers, tasks, all names of the
notebook), or whose state is stored in their class. The cost of reading them would grow with the process's lifetime.
"""


def _is_of_the_process(kind: type) -> bool:
    if is_user_module(class_attribute(kind, "__module__")):
        return False
    line = mro(kind)
    kinds = (vars(sys.modules[module]).get(name) for module, name in _OF_THE_PROCESS if module in sys.modules)
    return any(base is item for item in kinds for base in line)


def _hash_view(view: memoryview, hasher: LiveHasher) -> None:
    hasher.update_text(f"{view.format} {view.shape} {view.strides}")
    hasher.data(view.tobytes())


def _hash_stream(stream: Any, hasher: LiveHasher) -> None:
    hash_value((stream.tell(), stream.getvalue(), vars(stream)), hasher)


def _hash_code(code: types.CodeType, hasher: LiveHasher) -> None:
    hasher.update_text(code_fingerprint(code))


def _hash_pattern(pattern: re.Pattern[Any], hasher: LiveHasher) -> None:
    hash_value((pattern.pattern, pattern.flags), hasher)


def _hash_context_variable(variable: Any, hasher: LiveHasher) -> None:
    hasher.count_by_identity(variable, "a ContextVar cannot be compared")


def _hash_weak_reference(reference: Any, hasher: LiveHasher) -> None:
    hash_value(reference(), hasher)


def _hash_slice(value: slice, hasher: LiveHasher) -> None:
    hash_value((value.start, value.stop, value.step), hasher)


def _hash_namespace(value: Any, hasher: LiveHasher) -> None:
    hash_value(vars(value), hasher)


_WRITERS: dict[int, Callable[[Any, LiveHasher], None]] = {
    id(types.FunctionType): hash_function,
    id(types.MethodType): hash_method,
    id(types.BuiltinFunctionType): hash_builtin,
    id(functools.partial): hash_partial,
    id(type): hash_live_class,
    id(staticmethod): hash_wrapped,
    id(classmethod): hash_wrapped,
    id(property): hash_property,
    id(types.ModuleType): hash_module,
    id(weakref.ref): _hash_weak_reference,
    id(types.CodeType): _hash_code,
    id(re.Pattern): _hash_pattern,
    id(ContextVar): _hash_context_variable,
    id(object): hash_identity,
    id(memoryview): _hash_view,
    id(io.BytesIO): _hash_stream,
    id(io.StringIO): _hash_stream,
    id(slice): _hash_slice,
    id(types.SimpleNamespace): _hash_namespace,
    id(array.array): hash_array_module,
}
"""By the identity of a type: hashing a type could run a metaclass."""
