"""What a turn did to the names of the notebook, and the way back: former objects are kept by reference.

A name is compared by the object that it refers to. Objects that were changed in place have no former state that could
be put back; they are named if their content was read before the first call and differs after the turn.
"""

from __future__ import annotations

import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from threading import Lock
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Literal

from nbtool.errors import BadUsage
from nbtool.magics.notebook.cell_changes import CellChange, ChangesCells, describe_cells, undo_cells
from nbtool.text import list_names
from nbtool.tools.content_hash.change_token import change_token
from nbtool.tools.values.sizes import UNKNOWN_SIZE, size_of

MAX_KEPT_BYTES = 512 * 1024 * 1024
"""Estimated bytes of the former objects of all turns; beyond it, those of the oldest turns are no longer kept."""

MAX_TURNS = 50
"""Turns whose changes are remembered."""

MAX_LISTED = 10
"""Names of each kind in a notice."""

WATCH_SECONDS = 0.2
"""Processor seconds for reading the contents of all objects before the first call of a turn, and after it."""

MAX_WATCHED_BYTES = 32 * 1024 * 1024
"""Bytes read of one object."""

_SHELL_NAMES = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})
_NOT_WATCHED = (
    *(ModuleType, type, FunctionType, BuiltinFunctionType),
    *(str, bytes, int, float, complex, bool, type(None), range, frozenset),
)
"""Types whose objects do not change in place, or whose content is code."""

Kind = Literal["added", "replaced", "deleted", "changed"]
_ABSENT, _DELETED = object(), object()
_TITLES: dict[Kind, str] = {
    "added": "added", "replaced": "replaced", "deleted": "deleted", "changed": "changed in place"
}  # fmt: skip


@dataclass(slots=True, eq=False)
class NameChange:
    """What happened to one name; `changed` is an object that was changed in place.

    `former` is the object before the turn, and `left` refers to the one after it; `size` are the estimated bytes of
    what this keeps alive.
    """

    name: str
    kind: Kind
    former: Any = field(default=None, repr=False)
    size: int = 0
    is_kept: bool = True
    left: Callable[[], Any] = field(default=lambda: _ABSENT, repr=False)
    left_token: str = ""

    def is_as_left(self, names: Mapping[str, Any]) -> bool:
        """Return whether the name still refers to what the turn left, as far as its content could be read."""
        current = names.get(self.name, _ABSENT)
        if current is not self.left():
            return False
        return not self.left_token or _token(current, WATCH_SECONDS) == self.left_token

    def release(self) -> None:
        """Keep no object alive any more; the change can no longer be undone."""
        self.former, self.left, self.size, self.is_kept = None, lambda: _ABSENT, 0, False


@dataclass(slots=True)
class TurnChanges:
    """The changes of one turn in names and cells.

    `last_deletion` is what was deleted last from its chat before it ended.
    """

    changes: list[NameChange]
    cells: list[CellChange] = field(default_factory=list)
    last_deletion: object = None

    @property
    def can_be_undone(self) -> bool:
        """Whether anything can be put back."""
        return bool(self.cells) or any(change.kind != "changed" and change.is_kept for change in self.changes)

    @property
    def kept_bytes(self) -> int:
        """The estimated size of the former objects that are kept."""
        return sum(change.size for change in self.changes)

    def release(self) -> None:
        """Keep no object alive any more."""
        for change in self.changes:
            if change.size:
                change.release()

    def describe(self) -> str:
        """Return one line: which names were added, replaced, deleted, changed in place, and how many cells."""
        names = "; ".join(
            f"{title} {_quoted(names)}"
            for kind, title in _TITLES.items()
            if (names := [change.name for change in self.changes if change.kind == kind])
        )
        cells = describe_cells(self.cells)
        return ". ".join(filter(None, [names and f"Names: {names}", cells and f"Cells: {cells}"]))

    def describe_lost(self) -> str:
        """Return a sentence about the names whose former objects are not kept; empty if all are."""
        lost = [change.name for change in self.changes if not change.is_kept]
        limit = f"{MAX_KEPT_BYTES // 1024**2:,} MB"
        return f"{_quoted(lost)} cannot be put back: what would be kept for that exceeds {limit}." if lost else ""


class NameWatch:
    """The names of the notebook when a turn starts, and the contents of their objects before its first call."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self.before = _visible(names)
        self.tokens: dict[str, str] | None = None

    def read_contents(self) -> None:
        """Read the contents of the objects, within `WATCH_SECONDS`; on the thread on which tools run."""
        if self.tokens is None:
            self.tokens = _tokens(_visible(self._names))

    def changes(self) -> list[NameChange]:
        """Return what is different now."""
        after = _visible(self._names)
        read = {name for name in self.tokens or () if after.get(name, _ABSENT) is self.before.get(name)}
        tokens = _tokens({name: after[name] for name in after if name in read or self._is_new(name, after)})
        changes = [_compare(name, self.before, after, tokens) for name in dict.fromkeys((*self.before, *after))]
        in_place = [NameChange(name, "changed") for name in read if self._is_changed(name, tokens)]
        return [*filter(None, changes), *sorted(in_place, key=lambda change: change.name)]

    def _is_new(self, name: str, after: Mapping[str, Any]) -> bool:
        return after[name] is not self.before.get(name, _ABSENT)

    def _is_changed(self, name: str, tokens: Mapping[str, str]) -> bool:
        before, after = (self.tokens or {}).get(name), tokens.get(name)
        return bool(before and after and before != after)


class NameChanges:
    """What the turns of one kernel did to its names."""

    def __init__(
        self, names: MutableMapping[str, Any], *, max_bytes: int = MAX_KEPT_BYTES, max_turns: int = MAX_TURNS
    ) -> None:
        self._names = names
        self._max_bytes, self._max_turns = max_bytes, max_turns
        self._turns: OrderedDict[str, TurnChanges] = OrderedDict()
        self._lock = Lock()

    def watch(self) -> NameWatch:
        """Return the names as they are now, for comparison when the turn has ended."""
        return NameWatch(self._names)

    def record(
        self, turn_id: str, watch: NameWatch, *, cells: Iterable[CellChange] = (), last_deletion: object = None
    ) -> TurnChanges | None:
        """Remember what a turn changed, and return it; None if it changed nothing."""
        return self._keep(turn_id, TurnChanges(watch.changes(), list(cells), last_deletion))

    def record_cells(self, turn_id: str, cells: Iterable[CellChange], last_deletion: object = None) -> None:
        """Remember which cells a turn changed that ran beside the notebook's own code; from any thread."""
        self._keep(turn_id, TurnChanges([], list(cells), last_deletion))

    def _keep(self, turn_id: str, recorded: TurnChanges) -> TurnChanges | None:
        if not recorded.changes and not recorded.cells:
            return None
        with self._lock:
            self._turns[turn_id] = recorded
            for change in sorted(
                recorded.changes, key=lambda one: -one.size
            ):  # if not all can be kept: the largest first
                if recorded.kept_bytes > self._max_bytes and change.size:
                    change.release()
            while len(self._turns) > self._max_turns:
                self._turns.popitem(last=False)
            for former in list(self._turns.values())[:-1]:
                if sum(one.kept_bytes for one in self._turns.values()) > self._max_bytes:
                    former.release()
        return recorded

    def find(self, turn_id: str) -> TurnChanges | None:
        """Return what a turn changed, as far as it was not put back."""
        return self._turns.get(turn_id)

    def latest(self, turn_ids: Iterable[str]) -> str:
        """Return which of these turns changed names last; empty if none did."""
        wanted = frozenset(turn_ids)
        with self._lock:
            return next((turn_id for turn_id in reversed(self._turns) if turn_id in wanted), "")

    def undo(
        self, turn_id: str, *, replace: bool = False, notebook: ChangesCells | None = None, command: str = ""
    ) -> str:
        """Put back what a turn changed in names and cells, and return what was done and what was not.

        A name that was changed since is left alone, unless `replace` is set; so is a cell that is not as the turn left
        it, in any case. `command` is the line that undoes this turn.

        Raises:
            BadUsage: the turn changed nothing that is remembered, or nothing of it can be put back.
        """
        recorded = self._turns.get(turn_id)
        if recorded is None:
            raise BadUsage(
                "This turn changed nothing in the notebook, or its changes are no longer remembered.",
                fix=f"The changes of the last {self._max_turns} turns of this kernel can be undone, once each.",
            )
        cells, of_cells = undo_cells(recorded.cells, notebook) if notebook else (recorded.cells, "")
        able = [change for change in recorded.changes if change.kind != "changed" and change.is_kept]
        blocked = [] if replace else [change for change in able if not change.is_as_left(self._names)]
        done = [change for change in able if change not in blocked]
        for change in done:
            self._put_back(change)
        texts = [
            *_done_texts(done),
            of_cells,
            *self._remarks(recorded),
            _blocked_text(blocked, command or f"%chat undo {turn_id}"),
        ]
        text = " ".join(filter(None, texts))
        if not done and len(cells) == len(recorded.cells):
            raise BadUsage(f"Nothing was put back. {text}".strip())
        recorded.changes, recorded.cells = blocked, cells
        if not blocked and not cells:
            del self._turns[turn_id]
        return text

    def _put_back(self, change: NameChange) -> None:
        if change.kind == "added":
            self._names.pop(change.name, None)
        else:
            self._names[change.name] = change.former

    def _remarks(self, recorded: TurnChanges) -> list[str]:
        changed = [change.name for change in recorded.changes if change.kind == "changed"]
        in_place = f"{_quoted(changed)} changed in place: no former state is kept." if changed else ""
        return [recorded.describe_lost(), in_place]


def _visible(names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of the person: without those of Python and IPython."""
    return {
        name: value for name, value in tuple(names.items()) if not name.startswith("_") and name not in _SHELL_NAMES
    }


def _compare(
    name: str, before: Mapping[str, Any], after: Mapping[str, Any], tokens: Mapping[str, str]
) -> NameChange | None:
    former, current = before.get(name, _ABSENT), after.get(name, _ABSENT)
    if former is current:
        return None
    if current is _ABSENT:
        return NameChange(name, "deleted", former, _size(former))
    reference, token = _weak_reference(current), tokens.get(name, "")
    left, size = reference or (lambda: current), 0 if reference else _size(current)
    if former is _ABSENT:
        return NameChange(name, "added", None, size, left=left, left_token=token)
    return NameChange(name, "replaced", former, size + _size(former), left=left, left_token=token)


def _tokens(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the tokens of objects that may change in place, as many as can be read in time."""
    deadline, tokens = time.thread_time() + WATCH_SECONDS, {}
    for name, value in values.items():
        if (left := deadline - time.thread_time()) <= 0:
            break
        if token := _token(value, left):
            tokens[name] = token
    return tokens


def _token(value: Any, seconds: float) -> str:
    """Return a digest of an object's content; empty if it does not change in place or cannot be read."""
    kind = type(value)  # not isinstance: a proxy may raise where it is asked for its class
    if issubclass(kind, _NOT_WATCHED) or str(kind.__module__).startswith("nbtool."):
        return ""
    token = change_token(value, seconds=seconds, max_bytes=MAX_WATCHED_BYTES)
    return "" if token.problem else token.digest


def _size(value: Any) -> int:
    """Return the estimated size of an object, at least 1; also of a proxy whose attributes cannot be read."""
    try:
        return max(1, size_of(value))
    except Exception:  # noqa: BLE001 - code of the object's type; an estimate
        return UNKNOWN_SIZE


def _weak_reference(value: Any) -> Callable[[], Any] | None:
    """Return a function that returns the object, without keeping it alive; None if its type does not allow that."""
    try:
        reference = weakref.ref(value)
    except TypeError:  # numbers, strings and lists have no weak references
        return None

    def alive() -> Any:
        current = reference()
        return _DELETED if current is None else current

    return alive


def _done_texts(done: list[NameChange]) -> list[str]:
    removed = [change.name for change in done if change.kind == "added"]
    restored = [change.name for change in done if change.kind != "added"]
    return [f"{verb} {_quoted(names)}." for verb, names in (("Put back", restored), ("Removed", removed)) if names]


def _blocked_text(blocked: list[NameChange], command: str) -> str:
    names = _quoted([change.name for change in blocked])
    return f"You have changed {names} since: `{command} --replace` overwrites that." if blocked else ""


def _quoted(names: Iterable[str]) -> str:
    return list_names([f"`{name}`" for name in names], MAX_LISTED)
