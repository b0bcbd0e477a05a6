"""The variable store: the objects that references can point to.

It has four kinds of entries: notebook objects that a person exposed (looked up at each use, so that a reassigned
variable is the new object), results of calls, notes that the model wrote, and rules of toolsets, which are permanent.
Results and notes are bounded in count and bytes, together with the results in the records of calls; the least recently
used one is evicted, and a later reference to it says so.
"""

from __future__ import annotations

import difflib
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from nbtool.annotation_kinds import Count
from nbtool.argument_check import check_value
from nbtool.errors import BadUsage, UnknownReference
from nbtool.policy import site_policy
from nbtool.text import shorten
from nbtool.tools.values.memory_size import size_of
from nbtool.tools.values.model_text import render
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.variables.eviction import BoundedEntries, Evicted, Holder
from nbtool.tools.variables.variable import MISSING, Variable, check_name, is_secret, is_shared

MAX_ENTRIES = 1_000
"""Maximum number of results and notes."""

MAX_BYTES = 256 * 1024 * 1024
"""Default maximum size of results and notes, in estimated bytes."""

EVICTED_REASON = "it was evicted to free memory (raise `%config NbTool.result_bytes` or Chat(result_bytes=…))"

UNREAD = "Expose it by reference: `-v NAME`, or chat.expose(NAME=…)."

MAX_TEXT_CHARS = 1_000_000
"""Maximum number of characters of a text form."""

MAX_NAMED = 20
"""Maximum number of names listed in an error about an unknown reference."""

MAX_INVALID = 10_000
"""Maximum number of removed entries whose reason is remembered."""


class _Removal(NamedTuple):
    """Why an entry no longer exists."""

    reason: str
    is_eviction: bool


class Variables:
    """The variables of one chat. Thread-safe.

    `notebook` is where exposed names are looked up: a mapping, or a function that raises LookupError.
    """

    def __init__(
        self,
        notebook: Mapping[str, Any] | Callable[[str], Any] | None = None,
        *,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
        max_invalid: int = MAX_INVALID,
    ) -> None:
        self._max_invalid = max_invalid
        self._has_notebook = notebook is not None
        self._look_up = notebook if callable(notebook) else (notebook if notebook is not None else {}).__getitem__
        self._lock = threading.RLock()
        self._exposed: dict[str, Variable] = {}
        self._stored: BoundedEntries[Variable] = BoundedEntries(max_entries, max_bytes)
        self._invalid: OrderedDict[str, _Removal] = OrderedDict()
        self._counts: dict[str, int] = {}
        self._unreported: deque[Evicted] = deque(maxlen=max_invalid)

    @property
    def max_bytes(self) -> int:
        """Maximum size of results and notes, in estimated bytes."""
        return self._stored.max_bytes

    @max_bytes.setter
    def max_bytes(self, count: int) -> None:
        self._stored.max_bytes = check_value("Variables", "max_bytes", Count, count)

    @property
    def evicted_count(self) -> int:
        """The number of evicted results and notes."""
        return self._stored.evicted_count

    @property
    def stored_bytes(self) -> int:
        """Estimated size in bytes of all results and notes, including results that are only in the records of calls."""
        with self._lock:
            return self._stored.size

    @property
    def oversized(self) -> Variable | None:
        """The newest result or note that alone exceeds the bound; it is evicted when the next turn begins."""
        with self._lock:
            return self._stored.oversized

    def begin_turn(self, needed: Iterable[str] = ()) -> None:
        """Evict what exceeds the bound, and from here on nothing that the turn creates, uses or has `needed`."""
        with self._lock:
            self._note_evicted(self._stored.begin_turn(needed))

    def end_turn(self) -> list[Evicted]:
        """Evict what exceeds the bound now; return all that was evicted since an earlier turn ended."""
        with self._lock:
            self._note_evicted(self._stored.end_turn())
            evicted = [*self._unreported]
            self._unreported.clear()
            return evicted

    def attach_notebook(self, notebook: Mapping[str, Any]) -> None:
        """Look up exposed names in a notebook from now on, if these variables have none yet."""
        if not self._has_notebook:
            self._has_notebook, self._look_up = True, notebook.__getitem__

    def count(self, record: Holder, name: str = "") -> None:
        """Count the result in a call's record, which may also be the variable `name`; eviction removes it from both."""
        with self._lock:
            self._stored.count(record, name)

    def expose(self, name: str, value: Any = MISSING, *, readable: bool = False) -> None:
        """Let references point to a notebook object: to the current object of `name`, or to `value`.

        The name of a result, bound to the very object of the result or not at all, continues to be the result.

        Raises:
            BadUsage: the name is invalid, undefined or taken by a result, or the object contains secrets.
            PolicyRefused: it would be readable, and the administrator's policy allows no values to leave.
        """
        check_name(name)
        if readable:
            site_policy().check_values(f"the value of {name!r}", fix=UNREAD)
        variable = Variable(name, "exposed", readable, value)
        with self._lock:
            if existing := self._stored.get(name):
                self._name_result(existing, variable)
                return
            try:
                current = self._object(variable)
            except UnknownReference as error:
                raise BadUsage(f"{name!r} cannot be exposed: {error}", fix="Define it first.") from error
            if is_secret(current):
                raise BadUsage(
                    f"{name!r} contains secrets and cannot be exposed.", fix="Expose a part without secrets."
                )
            self._exposed[name] = variable
            self._invalid.pop(name, None)

    def has_result(self, name: str) -> bool:
        """Return whether a stored result has this name."""
        entry = self._stored.get(name)
        return entry is not None and entry.kind == "result"

    def notebook_names(self) -> tuple[str, ...]:
        """Return the exposed names that the notebook has: of its objects, and of results that it has by their names."""
        with self._lock:
            entries = [entry for entry in self.list_entries() if entry.is_exposed]
            return tuple(entry.name for entry in entries if entry.is_live or self._notebook_has(entry))

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that restores the exposed names to their current state."""
        exposed, named = dict(self._exposed), {entry.name for entry in self._stored if entry.is_named}

        def put_back() -> None:
            with self._lock:
                self._exposed = exposed
                for entry in self._stored:
                    entry.is_named = entry.name in named

        return put_back

    def fork(self) -> Variables:
        """Return a store with the same exposed variables, and without results and notes."""
        forked = Variables(self._look_up, max_entries=self._stored.max_entries, max_bytes=self.max_bytes)
        with self._lock:
            forked._exposed = {name: replace(entry) for name, entry in self._exposed.items()}
        return forked

    def unexpose(self, name: str) -> None:
        """Remove an exposed variable; no error if it is not exposed."""
        with self._lock:
            if self._exposed.pop(name, None):
                self._invalidate(name, "it is no longer exposed")

    def reserve_name(self, tool: str) -> str:
        """Reserve the name of a tool's next result without storing anything."""
        with self._lock:
            while True:
                self._counts[tool] = self._counts.get(tool, 0) + 1
                name = f"{tool}_{self._counts[tool]}_result"
                if name not in self._stored and name not in self._exposed and name not in self._invalid:
                    return name

    def invalidate(self, names: Iterable[str], reason: str) -> None:
        """Set the reason in the errors of references to these names, until the names are used again."""
        with self._lock:
            for name in names:
                if name not in self._stored and name not in self._exposed:
                    self._invalidate(name, reason)

    def store_result(
        self, name: str, value: Any, text: str | None = None, *, description: str = "", readable: bool = True
    ) -> str:
        """Store a result that was sent to the model; return its name.

        Raises:
            BadUsage: the name belongs to an exposed variable.
        """
        may_be_read = readable and site_policy().values_may_leave
        self._store(Variable(name, "result", may_be_read, value, text, description))
        return name

    def store_note(
        self, name: str, value: str | None = None, *, description: str | None = None, tags: Iterable[str] | None = None
    ) -> Variable:
        """Create or change a note of the model.

        Raises:
            BadUsage: the name is invalid or belongs to another kind of entry, or a new note has no value.
        """
        check_name(name)
        with self._lock:
            existing = self._stored.get(name)
            if existing and (existing.kind != "note" or existing.is_pinned):
                raise BadUsage(f"{name!r} cannot be overwritten: it is a {existing.kind}.", fix="Use another name.")
            if existing is None and value is None:
                raise BadUsage(f"The new variable {name!r} needs a value.")
            text = value if value is not None else existing.value if existing else ""
            note_description = description if description is not None else existing.description if existing else ""
            note_tags = tuple(tags) if tags is not None else existing.tags if existing else ()
            note = Variable(name, "note", True, text, text, note_description, note_tags)
            self._store(note)
            return note

    def set_rules(self, rules: Iterable[tuple[str, str, str]]) -> None:
        """Replace all rules by these (name, text, description); the model can read but not change them.

        Raises:
            BadUsage: a name is invalid, or belongs to an exposed variable.
        """
        missing = {name: (text, description) for name, text, description in rules}
        with self._lock:
            for entry in list(self._stored):
                if entry.kind == "rule" and missing.get(entry.name) != (entry.text, entry.description):
                    self._stored.pop(entry.name)
                elif entry.kind == "rule":
                    del missing[entry.name]
            for name, (text, description) in missing.items():
                check_name(name)
                self._store(Variable(name, "rule", True, text, text, description))
                self.pin(name)

    def remove(self, name: str) -> bool:
        """Remove a result or a note; return whether there was a removable one."""
        with self._lock:
            entry = self._stored.get(name)
            if entry is None or entry.is_pinned:
                return False
            self._stored.pop(name)
            self._invalidate(name, "it was removed")
            return True

    def erase(self, names: Iterable[str] | None, reason: str) -> None:
        """Remove these results and notes, pinned or not; None removes all. `reason` is why references to them fail."""
        with self._lock:
            chosen = None if names is None else set(names)
            for entry in list(self._stored):
                if entry.kind != "rule" and (chosen is None or entry.name in chosen):
                    self._stored.pop(entry.name)
                    self._invalidate(entry.name, reason)

    def drop_all(self) -> None:
        """Evict all results and notes that are not pinned, also from the records of their calls."""
        with self._lock:
            self._note_evicted(self._stored.evict_all())

    def pin(self, name: str, *, pinned: bool = True) -> None:
        """Exclude an entry from eviction; raises UnknownReference."""
        self.get(name).is_pinned = pinned

    def get(self, name: str) -> Variable:
        """Return the entry of this name and count it as used.

        Raises:
            UnknownReference: it does not exist; the message lists similar names, or says why it was removed.
        """
        with self._lock:
            self._stored.use(name)
            return self._entry(name)

    def check_not_evicted(self, name: str) -> None:
        """Raise UnknownReference if a result or note of this name was evicted."""
        with self._lock:
            if (removal := self._invalid.get(name)) and removal.is_eviction:
                raise self._unknown_error(name)

    def value(self, name: str) -> Any:
        """Return the live object of this name; raises as `get`, and if the notebook no longer defines it."""
        return self._object(self.get(name))

    def text(self, name: str) -> str:
        """Return the text form of this name: rendered once for results, at each use for exposed variables."""
        entry = self.get(name)
        if entry.text is not None:
            return entry.text
        text = self.render(self._object(entry))
        if entry.kind != "exposed":
            entry.text = text
        return text

    def render(self, value: Any) -> str:
        """Return the text form of any object, at most `MAX_TEXT_CHARS` characters."""
        return render(value, MAX_TEXT_CHARS).text

    def list_entries(self) -> tuple[Variable, ...]:
        """Return all entries: the exposed ones, then results and notes, most recently used first."""
        with self._lock:
            return (*self._exposed.values(), *reversed(list(self._stored)))

    @property
    def has_unreadable(self) -> bool:
        """Whether an object may be passed on but not read."""
        return not all(entry.is_readable for entry in self.list_entries())

    def unreadable_objects(self) -> list[Any]:
        """Return the objects that may be passed on but not read.

        Values shared by many names (numbers, booleans, single characters) are never attributed to a variable.
        """
        values = (self._value_or_none(entry) for entry in self.list_entries() if not entry.is_readable)
        return [value for value in values if not is_shared(value)]

    def describe(self, name: str) -> str:
        """Return a variable's description without its contents, not counting it as used."""
        try:
            return describe(self._object(self._entry(name)))
        except UnknownReference as error:
            return error.message

    def _name_result(self, result: Variable, wanted: Variable) -> None:
        """Have the prompt list a result like an exposed variable; no turn that begins now evicts it.

        Raises:
            BadUsage: the name is that of another object, or would make values readable that were withheld.
        """
        name = result.name
        try:
            current = self._look_up(name) if wanted.is_live else wanted.value
        except LookupError:
            current = result.value
        if result.kind != "result" or current is not result.value:
            fix = f"Run `my_{name} = {name}`, and use that name." if wanted.is_live else "Expose it under another name."
            raise BadUsage(
                f"{name!r} is already a {result.kind} of this chat; the object of this name is another one.", fix=fix
            )
        if wanted.is_readable and not result.is_readable:
            fix = f"`%chat bind {name} my_{name}` gives it another name, and `--read my_{name}` its values."
            raise BadUsage(f"{name!r} is a result whose values were withheld from the model.", fix=fix)
        self._stored.use(name)
        result.is_named = result.is_held = True

    def _notebook_has(self, entry: Variable) -> bool:
        """Return whether the notebook has the very object of an entry by its name."""
        try:
            return self._look_up(entry.name) is entry.value
        except LookupError:
            return False

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
        if is_secret(value):
            raise UnknownReference(f"{variable.name!r} contains secrets and cannot be used.")
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
            if evicted := self._stored.put(entry):
                self._note_evicted(evicted)

    def _note_evicted(self, evicted: Iterable[Evicted]) -> None:
        for item in evicted:
            if item.name:
                self._invalidate(item.name, EVICTED_REASON, is_eviction=True)
            self._unreported.append(item)

    def _invalidate(self, name: str, reason: str, *, is_eviction: bool = False) -> None:
        self._invalid[name] = _Removal(reason, is_eviction)
        while len(self._invalid) > self._max_invalid:
            self._invalid.popitem(last=False)

    def _unknown_error(self, name: str) -> UnknownReference:
        if removal := self._invalid.get(name):
            return UnknownReference(f"The variable {name!r} no longer exists: {removal.reason}.")
        names = [entry.name for entry in self.list_entries()]
        close_matches = difflib.get_close_matches(name, names, n=3)
        names_listed = [*close_matches, *(other for other in names if other not in close_matches)][:MAX_NAMED]
        more = f" and {len(names) - len(names_listed)} more" if len(names) > len(names_listed) else ""
        return UnknownReference(
            f"There is no variable {shorten(name, 64)!r}.", fix=f"Variables: {', '.join(names_listed) or 'none'}{more}."
        )
