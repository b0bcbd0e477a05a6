"""The variable store: what references can point to.

Four kinds live here: notebook objects that a person exposed (looked up each time, so that a reassigned variable is the
new one), results of calls, notes that the model wrote, and rules of toolsets, which stay. Results and notes are bounded
in count and bytes, together with what the records of calls hold; the least recently used goes first, and says so.
"""

from __future__ import annotations

import difflib
import os
import re
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from nbtool.errors import BadUsage, UnknownReference
from nbtool.shorten import shorten
from nbtool.tools.values.describe import describe
from nbtool.tools.values.render import render
from nbtool.tools.values.sizes import size_of
from nbtool.tools.variables.eviction import BoundedEntries, Holder

MAX_ENTRIES = 1_000
"""Results and notes that are kept."""

MAX_BYTES = 256 * 1024 * 1024
"""Bytes, as estimated, that they may take together, unless said otherwise."""

EVICTED_REASON = (
    "it was dropped to make room (`%config NbTool.result_bytes`, or Chat(result_bytes=…), says how much is kept)"
)

MAX_TEXT_CHARS = 1_000_000
"""Characters of a text form."""

MAX_NAMED = 20
"""Names that an error about an unknown reference lists."""

MAX_INVALID = 10_000
"""Names of entries that are gone and still said to be."""

_MISSING = object()
VariableKind = Literal["exposed", "result", "note", "rule"]
NAME = re.compile(r"[\w\-/.]{1,128}")


@dataclass(slots=True)
class Variable:
    """An entry of the store. `is_readable`: the model may read the values, not only pass the object on."""

    name: str
    kind: VariableKind
    is_readable: bool
    value: Any = field(default=_MISSING, repr=False)
    text: str | None = field(default=None, repr=False)
    description: str = ""
    tags: tuple[str, ...] = ()
    is_pinned: bool = False
    is_held: bool = False
    size: int = 0
    holders: list[weakref.ref[Any]] = field(default_factory=list, repr=False)
    created: float = field(default_factory=time.time)

    @property
    def is_live(self) -> bool:
        """Whether the object is looked up in the notebook each time."""
        return self.value is _MISSING


class Variables:
    """The variables of one chat. Safe from any thread.

    `notebook` is where exposed names are looked up: a mapping, or a function that raises LookupError.
    """

    def __init__(
        self,
        notebook: Mapping[str, Any] | Callable[[str], Any] | None = None,
        *,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._look_up = notebook if callable(notebook) else (notebook if notebook is not None else {}).__getitem__
        self._lock = threading.RLock()
        self._exposed: dict[str, Variable] = {}
        self._stored: BoundedEntries[Variable] = BoundedEntries(max_entries, max_bytes)
        self._invalid: OrderedDict[str, str] = OrderedDict()
        self._counts: dict[str, int] = {}

    @property
    def max_bytes(self) -> int:
        """Bytes, as estimated, that results and notes may take together."""
        return self._stored.max_bytes

    @max_bytes.setter
    def max_bytes(self, count: int) -> None:
        if count < 1:
            raise BadUsage(f"Results cannot be kept in {count} bytes.", fix="Give a number of bytes above 0.")
        self._stored.max_bytes = count

    @property
    def evicted_count(self) -> int:
        """How many results and notes were dropped to make room."""
        return self._stored.evicted_count

    @property
    def stored_bytes(self) -> int:
        """Bytes, as estimated, of all results and notes, and of what the records of calls hold besides."""
        with self._lock:
            return self._stored.size

    @contextmanager
    def without_eviction(self) -> Iterator[None]:
        """Drop nothing of what is made or used within: a turn can go back to all that it has seen."""
        with self._lock:
            self._stored.begin_turn()
        try:
            yield
        finally:
            with self._lock:
                self._invalidate_evicted(self._stored.end_turn())

    def count(self, record: Holder, name: str = "") -> None:
        """Count the result that a call's record holds, which may be the variable `name`; dropped, it leaves both."""
        with self._lock:
            self._stored.count(record, name)

    def expose(self, name: str, value: Any = _MISSING, *, readable: bool = False) -> None:
        """Let references point to a notebook object: to what `name` means there at the time, or to `value`.

        Raises:
            BadUsage: the name is none, means nothing, is taken by a result, or the object holds secrets.
        """
        _check_name(name)
        variable = Variable(name, "exposed", readable, value)
        with self._lock:
            if existing := self._stored.get(name):
                raise BadUsage(f"{name!r} is a {existing.kind} already.", fix="Expose it under another name.")
            try:
                current = self._object(variable)
            except UnknownReference as error:
                raise BadUsage(f"{name!r} cannot be exposed: {error}", fix="Define it first.") from error
            if _is_secret(current):
                raise BadUsage(f"{name!r} holds secrets and cannot be exposed.", fix="Expose a part that holds none.")
            self._exposed[name] = variable
            self._invalid.pop(name, None)

    def checkpoint(self) -> Callable[[], None]:
        """Give what puts the exposed names back as they are now."""
        exposed = dict(self._exposed)

        def put_back() -> None:
            with self._lock:
                self._exposed = exposed

        return put_back

    def fork(self) -> Variables:
        """Give a store with the same exposed variables, and no results and notes."""
        forked = Variables(self._look_up, max_entries=self._stored.max_entries, max_bytes=self.max_bytes)
        with self._lock:
            forked._exposed = {name: replace(entry) for name, entry in self._exposed.items()}
        return forked

    def unexpose(self, name: str) -> None:
        """Take an exposed variable away; one that is not exposed stays so."""
        with self._lock:
            if self._exposed.pop(name, None):
                self._invalidate(name, "it is no longer exposed")

    def reserve_name(self, tool: str) -> str:
        """Claim the name of a tool's next result; nothing is stored yet."""
        with self._lock:
            while True:
                self._counts[tool] = self._counts.get(tool, 0) + 1
                name = f"{tool}_{self._counts[tool]}_result"
                if name not in self._stored and name not in self._exposed and name not in self._invalid:
                    return name

    def invalidate(self, names: Iterable[str], reason: str) -> None:
        """Let references to these names say why they mean nothing, until something is kept or exposed under them."""
        with self._lock:
            for name in names:
                if name not in self._stored and name not in self._exposed:
                    self._invalidate(name, reason)

    def store_result(
        self, name: str, value: Any, text: str | None = None, *, description: str = "", readable: bool = True
    ) -> str:
        """Keep a result that the model was shown; gives its name.

        Raises:
            BadUsage: the name belongs to an exposed variable.
        """
        self._store(Variable(name, "result", readable, value, text, description))
        return name

    def store_note(
        self, name: str, value: str | None = None, *, description: str | None = None, tags: Iterable[str] | None = None
    ) -> Variable:
        """Keep or change a note of the model.

        Raises:
            BadUsage: the name is none or belongs to something that is not a note, or a new note has no value.
        """
        _check_name(name)
        with self._lock:
            existing = self._stored.get(name)
            if existing and (existing.kind != "note" or existing.is_pinned):
                raise BadUsage(f"{name!r} cannot be overwritten: it is a {existing.kind}.", fix="Take another name.")
            if existing is None and value is None:
                raise BadUsage(f"The new variable {name!r} needs a value.")
            text = value if value is not None else existing.value if existing else ""
            note_description = description if description is not None else existing.description if existing else ""
            note_tags = tuple(tags) if tags is not None else existing.tags if existing else ()
            note = Variable(name, "note", True, text, text, note_description, note_tags)
            self._store(note)
            return note

    def set_rules(self, rules: Iterable[tuple[str, str, str]]) -> None:
        """Keep these rules, each as (name, text, description), and no others; the model can read and not change them.

        Raises:
            BadUsage: a name is none, or belongs to an exposed variable.
        """
        missing = {name: (text, description) for name, text, description in rules}
        with self._lock:
            for entry in list(self._stored):
                if entry.kind == "rule" and missing.get(entry.name) != (entry.text, entry.description):
                    self._stored.pop(entry.name)
                elif entry.kind == "rule":
                    del missing[entry.name]
            for name, (text, description) in missing.items():
                _check_name(name)
                self._store(Variable(name, "rule", True, text, text, description))
                self.pin(name)

    def remove(self, name: str) -> bool:
        """Drop a result or a note; says whether there was one that may be dropped."""
        with self._lock:
            entry = self._stored.get(name)
            if entry is None or entry.is_pinned:
                return False
            self._stored.pop(name)
            self._invalidate(name, "it was removed")
            return True

    def pin(self, name: str, *, pinned: bool = True) -> None:
        """Keep an entry whatever else comes; raises UnknownReference."""
        self.get(name).is_pinned = pinned

    def get(self, name: str) -> Variable:
        """Give the entry of this name and count it as used.

        Raises:
            UnknownReference: there is none; the text names near ones, or says why it is gone.
        """
        with self._lock:
            self._stored.use(name)
            return self._entry(name)

    def value(self, name: str) -> Any:
        """Give the live object of this name; raises as `get`, also where the notebook has lost it."""
        return self._object(self.get(name))

    def text(self, name: str) -> str:
        """Give the text form of this name: rendered once for results, each time for what is exposed."""
        entry = self.get(name)
        if entry.text is not None:
            return entry.text
        text = self.render(self._object(entry))
        if entry.kind != "exposed":
            entry.text = text
        return text

    def render(self, value: Any) -> str:
        """Give the text form of any object, at most `MAX_TEXT_CHARS` characters."""
        return render(value, MAX_TEXT_CHARS).text

    def list_entries(self) -> tuple[Variable, ...]:
        """Give all entries: the exposed ones, then results and notes, most recently used first."""
        with self._lock:
            return (*self._exposed.values(), *reversed(list(self._stored)))

    def unreadable_objects(self) -> list[Any]:
        """Give the objects that may be passed on and not read.

        What many names share (numbers, truth values, a single character) is never taken for a variable's own.
        """
        values = (self._value_or_none(entry) for entry in self.list_entries() if not entry.is_readable)
        return [value for value in values if not _is_shared(value)]

    def describe(self, name: str) -> str:
        """Say what a variable is without saying what is in it; it does not count as used."""
        try:
            return describe(self._object(self._entry(name)))
        except UnknownReference as error:
            return error.message

    def _entry(self, name: str) -> Variable:
        with self._lock:
            entry = self._exposed.get(name) or self._stored.get(name)
            if entry is None:
                raise self._unknown_error(name)
            return entry

    def _object(self, variable: Variable) -> Any:
        if not variable.is_live:
            return variable.value
        try:
            value = self._look_up(variable.name)
        except LookupError:
            raise UnknownReference(f"{variable.name!r} is no longer defined in the notebook.") from None
        if _is_secret(value):
            raise UnknownReference(f"{variable.name!r} holds secrets and is not given out.")
        return value

    def _value_or_none(self, entry: Variable) -> Any:
        try:
            return self._object(entry)
        except UnknownReference:
            return None

    def _store(self, entry: Variable) -> None:
        entry.size = size_of(entry.value) + len(entry.text or "")
        with self._lock:
            if entry.name in self._exposed:
                raise BadUsage(f"{entry.name!r} is an exposed variable and cannot be overwritten.")
            existing = self._stored.get(entry.name)
            entry.is_pinned = existing is not None and existing.is_pinned
            self._invalid.pop(entry.name, None)
            self._invalidate_evicted(self._stored.put(entry))

    def _invalidate_evicted(self, names: Iterable[str]) -> None:
        for name in names:
            self._invalidate(name, EVICTED_REASON)

    def _invalidate(self, name: str, reason: str) -> None:
        self._invalid[name] = reason
        while len(self._invalid) > MAX_INVALID:
            self._invalid.popitem(last=False)

    def _unknown_error(self, name: str) -> UnknownReference:
        if reason := self._invalid.get(name):
            return UnknownReference(f"The variable {name!r} is gone: {reason}.")
        names = [entry.name for entry in self.list_entries()]
        close_matches = difflib.get_close_matches(name, names, n=3)
        names_listed = [*close_matches, *(other for other in names if other not in close_matches)][:MAX_NAMED]
        more = f" and {len(names) - len(names_listed)} more" if len(names) > len(names_listed) else ""
        return UnknownReference(
            f"There is no variable {shorten(name, 64)!r}.", fix=f"Variables: {', '.join(names_listed) or 'none'}{more}."
        )


def _is_shared(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, complex) or (isinstance(value, str) and len(value) < 2)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise BadUsage(
            f"{shorten(name, 64)!r} is no name for a variable: letters, digits, '_', '-', '/' and '.' are expected."
        )


def _is_secret(value: Any) -> bool:
    return value is os.environ or type(value).__name__ in ("SecretStr", "SecretBytes", "Secret")
