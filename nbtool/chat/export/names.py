"""The names of a notebook for exported code: how to reach an object there, and which names are unused."""

from __future__ import annotations

import builtins
import functools
import inspect
import keyword
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

_RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "get_ipython", "In", "Out"))


class NotebookNames:
    """The namespace of exported code.

    `notebook` is where the code will run. New names never collide with the notebook, with builtins or with names that
    the code uses. `imports` are the import lines, `used` the notebook names that the code needs, `constructed` the
    definitions of instances and helper functions, and `helpers` maps helper functions to their names.
    """

    def __init__(self, notebook: Mapping[str, Any], reserved: Iterable[str] = ()) -> None:
        self._notebook = notebook
        self._reserved = {*notebook, *reserved}
        self._modules: dict[str, str] = {}
        self._instances: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self.imports: list[str] = []
        self.constructed: list[str] = []
        self.helpers: dict[str, str] = {}
        self.used: dict[str, None] = {}

    def unique(self, stem: str) -> str:
        """Reserve and return an unused name: `stem`, or `stem` with the lowest unused number."""
        number, name = 0, stem
        while not is_name(name) or name in self._reserved:
            number += 1
            name = f"{stem}{number}"
        self._reserved.add(name)
        return name

    def numbered(self, stem: str) -> str:
        """Reserve and return the next unused name of a series: `r1`, `r2`, `r3`."""
        number = self._numbers.get(stem, 0) + 1
        while f"{stem}{number}" in self._reserved:
            number += 1
        self._numbers[stem] = number
        self._reserved.add(f"{stem}{number}")
        return f"{stem}{number}"

    def has(self, name: str) -> bool:
        """Whether the notebook has this name."""
        return name in self._notebook

    def has_function(self, name: str) -> bool:
        """Whether the notebook has a callable of this name."""
        return callable(self._notebook.get(name))

    def use(self, name: str) -> str:
        """Return a name of the notebook, and record it as used."""
        self._reserved.add(name)
        self.used[name] = None
        return name

    def builtin(self, name: str) -> str:
        """Return the expression for a builtin: its name, or `builtins.NAME` if the notebook has rebound it."""
        return f"{self.module('builtins')}.{name}" if name in self._notebook else name

    def module(self, name: str) -> str:
        """Return the expression for a module; imported under an unused name, unless the notebook has it."""
        if name not in self._modules:
            expression = self._by_identity(sys.modules.get(name))
            self._modules[name] = self.use(expression) if expression else self._imported(name)
        return self._modules[name]

    def find(self, thing: Any) -> str:
        """Return the expression for a function, a class or an instance; empty if it has no name."""
        if expression := self._by_identity(thing):
            return self.use(expression)
        if isinstance(thing, functools.partial) and not thing.args and not thing.keywords:
            return self.find(thing.func)  # `@tool` wraps methods and builtins in a partial
        if inspect.ismethod(thing):
            return self._method(thing)
        return self._in_class(thing) or self._in_module(thing)

    def _method(self, method: Any) -> str:
        owner, name = method.__self__, method.__name__
        if inspect.getattr_static(owner, name, None) is None:
            return ""
        of = self.find(owner) or self._instance(owner)
        return f"{of}.{name}" if of else ""

    def _instance(self, owner: Any) -> str:
        """Construct a new instance in place of one without a name, if that takes no arguments."""
        if id(owner) not in self._instances:
            made_by = "" if _is_own(type(owner)) else self.find(type(owner))
            if not made_by or not _needs_nothing(type(owner)):
                return ""
            name = self.unique(type(owner).__name__.lower())
            self._instances[id(owner)] = name
            self.constructed.append(f"{name} = {made_by}()  # the chat's instance has no name in the notebook")
        return self._instances[id(owner)]

    def _by_identity(self, thing: Any) -> str:
        """Return the notebook's name of an object: its `__name__` if bound to it, else the first name that is."""
        own = str(getattr(thing, "__name__", "")) if callable(thing) else ""
        if thing is not None and is_name(own) and self._notebook.get(own) is thing:
            return own
        return next((name for name, value in self._notebook.items() if value is thing and _is_public(name)), "")

    def _in_class(self, thing: Any) -> str:
        """Return the expression for a static method or an inner class, through a class of the notebook."""
        first, _, path = str(getattr(thing, "__qualname__", "")).partition(".")
        owner = self._notebook.get(first) if is_name(first) and path else None
        return f"{self.use(first)}.{path}" if inspect.isclass(owner) and _at(owner, path) is thing else ""

    def _in_module(self, thing: Any) -> str:
        module, path = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
        if not isinstance(module, str) or not isinstance(path, str) or module in ("__main__", "") or _is_own(thing):
            return ""
        value = _at(sys.modules.get(module), path)
        return f"{self.module(module)}.{path}" if value is getattr(thing, "__func__", thing) else ""

    def _imported(self, module: str) -> str:
        last = module.rpartition(".")[2]
        name = self.unique(last)
        self.imports.append(f"import {module}" if name == module else f"import {module} as {name}")
        return name


def _at(holder: Any, path: str) -> Any:
    """Return the attribute of a module or a class at a dotted path, without running code; None if it is missing."""
    for step in path.split("."):
        holder = inspect.getattr_static(holder, step, None) if step.isidentifier() else None
    return getattr(holder, "__func__", holder)


def is_identifier(text: str) -> bool:
    """Whether a text is an identifier in the normal form that Python uses.

    Python reads identifiers in NFKC form: https://docs.python.org/3/reference/lexical_analysis.html#identifiers
    """
    return text.isidentifier() and not keyword.iskeyword(text) and unicodedata.normalize("NFKC", text) == text


def is_name(text: str) -> bool:
    """Whether a text is an identifier that is neither a keyword nor a builtin."""
    return is_identifier(text) and text not in _RESERVED


def _is_public(name: str) -> bool:
    return is_name(name) and not name.startswith("_")


def _is_own(thing: Any) -> bool:
    """Whether an object is part of nbtool, which exported code does not import."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "nbtool"


def _needs_nothing(cls: type) -> bool:
    try:
        return all(
            parameter.default is not parameter.empty
            or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            for parameter in inspect.signature(cls).parameters.values()
        )
    except (ValueError, TypeError):
        return False
