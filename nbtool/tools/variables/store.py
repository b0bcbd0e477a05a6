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

DROPPED = "it was dropped to make room (`%config NbTool.result_bytes`, or Chat(result_bytes=…), says how much is kept)"

MAX_TEXT = 1_000_000
"""Characters of a text form."""

MAX_NAMED = 20
"""Names that an error about an unknown reference lists."""

MAX_GONE = 10_000
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
        self._look = notebook if callable(notebook) else (notebook if notebook is not None else {}).__getitem__
        self._lock = threading.RLock()
        self._exposed: dict[str, Variable] = {}
        self._kept: BoundedEntries[Variable] = BoundedEntries(max_entries, max_bytes)
        self._gone: OrderedDict[str, str] = OrderedDict()
        self._counts: dict[str, int] = {}

    @property
    def max_bytes(self) -> int:
        """Bytes, as estimated, that results and notes may take together."""
        return self._kept.max_bytes

    @max_bytes.setter
    def max_bytes(self, count: int) -> None:
        if count < 1:
            raise BadUsage(f"Results cannot be kept in {count} bytes.", fix="Give a number of bytes above 0.")
        self._kept.max_bytes = count

    @property
    def dropped(self) -> int:
        """How many results and notes were dropped to make room."""
        return self._kept.dropped

    @property
    def kept_bytes(self) -> int:
        """Bytes, as estimated, of all results and notes, and of what the records of calls hold besides."""
        with self._lock:
            return self._kept.size

    @contextmanager
    def held(self) -> Iterator[None]:
        """Drop nothing of what is made or used within: a turn can go back to all that it has seen."""
        with self._lock:
            self._kept.begin_turn()
        try:
            yield
        finally:
            with self._lock:
                self._bury_dropped(self._kept.end_turn())

    def count(self, record: Holder, name: str = "") -> None:
        """Count the result that a call's record holds, which may be the variable `name`; dropped, it leaves both."""
        with self._lock:
            self._kept.count(record, name)

    def expose(self, name: str, value: Any = _MISSING, *, readable: bool = False) -> None:
        """Let references point to a notebook object: to what `name` means there at the time, or to `value`.

        Raises:
            BadUsage: the name is none, means nothing, is taken by a result, or the object holds secrets.
        """
        _check_name(name)
        variable = Variable(name, "exposed", readable, value)
        with self._lock:
            if former := self._kept.get(name):
                raise BadUsage(f"{name!r} is a {former.kind} already.", fix="Expose it under another name.")
            try:
                found = self._object(variable)
            except UnknownReference as error:
                raise BadUsage(f"{name!r} cannot be exposed: {error}", fix="Define it first.") from error
            if _is_secret(found):
                raise BadUsage(f"{name!r} holds secrets and cannot be exposed.", fix="Expose a part that holds none.")
            self._exposed[name] = variable
            self._gone.pop(name, None)

    def checkpoint(self) -> Callable[[], None]:
        """Give what puts the exposed names back as they are now."""
        exposed = dict(self._exposed)

        def put_back() -> None:
            with self._lock:
                self._exposed = exposed

        return put_back

    def afresh(self) -> Variables:
        """Give a store with the same exposed variables, and no results and notes."""
        fresh = Variables(self._look, max_entries=self._kept.max_entries, max_bytes=self.max_bytes)
        with self._lock:
            fresh._exposed = {name: replace(entry) for name, entry in self._exposed.items()}
        return fresh

    def hide(self, name: str) -> None:
        """Take an exposed variable away; one that is not exposed stays so."""
        with self._lock:
            if self._exposed.pop(name, None):
                self._bury(name, "it is no longer exposed")

    def next_name(self, tool: str) -> str:
        """Claim the name of a tool's next result; nothing is stored yet."""
        with self._lock:
            while True:
                self._counts[tool] = self._counts.get(tool, 0) + 1
                name = f"{tool}_{self._counts[tool]}_result"
                if name not in self._kept and name not in self._exposed and name not in self._gone:
                    return name

    def bury(self, names: Iterable[str], why: str) -> None:
        """Let references to these names say why they mean nothing, until something is kept or exposed under them."""
        with self._lock:
            for name in names:
                if name not in self._kept and name not in self._exposed:
                    self._bury(name, why)

    def remember(
        self, name: str, value: Any, text: str | None = None, *, description: str = "", readable: bool = True
    ) -> str:
        """Keep a result that the model was shown; gives its name.

        Raises:
            BadUsage: the name belongs to an exposed variable.
        """
        self._keep(Variable(name, "result", readable, value, text, description))
        return name

    def write(
        self, name: str, value: str | None = None, *, description: str | None = None, tags: Iterable[str] | None = None
    ) -> Variable:
        """Keep or change a note of the model.

        Raises:
            BadUsage: the name is none or belongs to something that is not a note, or a new note has no value.
        """
        _check_name(name)
        with self._lock:
            former = self._kept.get(name)
            if former and (former.kind != "note" or former.is_pinned):
                raise BadUsage(f"{name!r} cannot be overwritten: it is a {former.kind}.", fix="Take another name.")
            if former is None and value is None:
                raise BadUsage(f"The new variable {name!r} needs a value.")
            held = value if value is not None else former.value if former else ""
            said = description if description is not None else former.description if former else ""
            tagged = tuple(tags) if tags is not None else former.tags if former else ()
            note = Variable(name, "note", True, held, held, said, tagged)
            self._keep(note)
            return note

    def set_rules(self, rules: Iterable[tuple[str, str, str]]) -> None:
        """Keep these rules, each as (name, text, description), and no others; the model can read and not change them.

        Raises:
            BadUsage: a name is none, or belongs to an exposed variable.
        """
        wanted = {name: (text, description) for name, text, description in rules}
        with self._lock:
            for entry in list(self._kept):
                if entry.kind == "rule" and wanted.get(entry.name) != (entry.text, entry.description):
                    self._kept.pop(entry.name)
                elif entry.kind == "rule":
                    del wanted[entry.name]
            for name, (text, description) in wanted.items():
                _check_name(name)
                self._keep(Variable(name, "rule", True, text, text, description))
                self.pin(name)

    def remove(self, name: str) -> bool:
        """Drop a result or a note; says whether there was one that may be dropped."""
        with self._lock:
            entry = self._kept.get(name)
            if entry is None or entry.is_pinned:
                return False
            self._kept.pop(name)
            self._bury(name, "it was removed")
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
            self._kept.use(name)
            return self._entry(name)

    def value(self, name: str) -> Any:
        """Give the live object of this name; raises as `get`, also where the notebook has lost it."""
        return self._object(self.get(name))

    def text(self, name: str) -> str:
        """Give the text form of this name: rendered once for results, each time for what is exposed."""
        entry = self.get(name)
        if entry.text is not None:
            return entry.text
        text = self.text_of(self._object(entry))
        if entry.kind != "exposed":
            entry.text = text
        return text

    def text_of(self, value: Any) -> str:
        """Give the text form of any object, at most `MAX_TEXT` characters."""
        return render(value, MAX_TEXT).text

    def entries(self) -> tuple[Variable, ...]:
        """Give all entries: the exposed ones, then results and notes, most recently used first."""
        with self._lock:
            return (*self._exposed.values(), *reversed(list(self._kept)))

    def closed_objects(self) -> list[Any]:
        """Give the objects that may be passed on and not read.

        What many names share (numbers, truth values, a single character) is never taken for a variable's own.
        """
        found = (self._peek(entry) for entry in self.entries() if not entry.is_readable)
        return [value for value in found if not _is_shared(value)]

    def describe(self, name: str) -> str:
        """Say what a variable is without saying what is in it; it does not count as used."""
        try:
            return describe(self._object(self._entry(name)))
        except UnknownReference as error:
            return error.message

    def _entry(self, name: str) -> Variable:
        with self._lock:
            entry = self._exposed.get(name) or self._kept.get(name)
            if entry is None:
                raise self._unknown(name)
            return entry

    def _object(self, variable: Variable) -> Any:
        if not variable.is_live:
            return variable.value
        try:
            value = self._look(variable.name)
        except LookupError:
            raise UnknownReference(f"{variable.name!r} is no longer defined in the notebook.") from None
        if _is_secret(value):
            raise UnknownReference(f"{variable.name!r} holds secrets and is not given out.")
        return value

    def _peek(self, entry: Variable) -> Any:
        try:
            return self._object(entry)
        except UnknownReference:
            return None

    def _keep(self, entry: Variable) -> None:
        entry.size = size_of(entry.value) + len(entry.text or "")
        with self._lock:
            if entry.name in self._exposed:
                raise BadUsage(f"{entry.name!r} is an exposed variable and cannot be overwritten.")
            former = self._kept.get(entry.name)
            entry.is_pinned = former is not None and former.is_pinned
            self._gone.pop(entry.name, None)
            self._bury_dropped(self._kept.put(entry))

    def _bury_dropped(self, names: Iterable[str]) -> None:
        for name in names:
            self._bury(name, DROPPED)

    def _bury(self, name: str, why: str) -> None:
        self._gone[name] = why
        while len(self._gone) > MAX_GONE:
            self._gone.popitem(last=False)

    def _unknown(self, name: str) -> UnknownReference:
        if why := self._gone.get(name):
            return UnknownReference(f"The variable {name!r} is gone: {why}.")
        names = [entry.name for entry in self.entries()]
        near = difflib.get_close_matches(name, names, n=3)
        listed = [*near, *(other for other in names if other not in near)][:MAX_NAMED]
        more = f" and {len(names) - len(listed)} more" if len(names) > len(listed) else ""
        return UnknownReference(
            f"There is no variable {shorten(name, 64)!r}.", fix=f"Variables: {', '.join(listed) or 'none'}{more}."
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
