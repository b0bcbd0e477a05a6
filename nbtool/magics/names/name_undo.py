"""What a turn did to the names of the notebook, and the way back: former objects are kept by reference.

A name is compared by the object that it refers to. Objects that were changed in place have no former state that could
be put back; they are named if their content was read before the first call and differs after the turn. What a turn left
is overwritten only if its content is as the turn left it, and not where that cannot be compared.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal

from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.magics.names.object_contents import ContentDigest, content_digests, left_tokens, read_token
from nbtool.magics.notebook.cell_changes import CellChange, ChangesCells, describe_cells, undo_cells
from nbtool.text import list_names
from nbtool.tools.content_hash.change_token import ChangeToken
from nbtool.tools.values.memory_size import UNKNOWN_SIZE, size_of

MAX_KEPT_BYTES = 512 * 1024 * 1024
"""Estimated bytes of the former objects of all turns; beyond it, those of the oldest turns are no longer kept."""

MAX_TURNS = 50
"""Turns whose changes are remembered."""

MAX_LISTED = 10
"""Names of each kind in a notice."""

_SHELL_NAMES = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})
Kind = Literal["added", "replaced", "deleted", "changed"]
State = Literal["as_left", "changed", "unknown"]
_ABSENT, _DELETED = object(), object()
_TITLES: dict[Kind, str] = {
    "added": "added", "replaced": "replaced", "deleted": "deleted", "changed": "changed in place"
}  # fmt: skip


@dataclass(slots=True, eq=False)
class NameChange:
    """What happened to one name; `changed` is an object that was changed in place.

    `former` is the object before the turn, and `left` refers to the one after it; `left_token` is that of its content,
    None if it does not change in place; `size` are the estimated bytes of what this keeps alive.
    """

    name: str
    kind: Kind
    former: Any = field(default=None, repr=False)
    size: int = 0
    is_kept: bool = True
    left: Callable[[], Any] = field(default=lambda: _ABSENT, repr=False)
    left_token: ChangeToken | None = None

    def state(self, names: Mapping[str, Any]) -> State:
        """Return whether the name has what the turn left, with the same content; `unknown` if that is not seen."""
        current = names.get(self.name, _ABSENT)
        if current is not self.left():
            return "changed"
        if self.left_token is None:
            return "as_left"
        if self.left_token.problem or (token := read_token(current)).problem:
            return "unknown"
        return "as_left" if token.digest == self.left_token.digest else "changed"

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
        """Return which names cannot come back and why: a sentence each, empty if all can."""
        changed = [change.name for change in self.changes if change.kind == "changed"]
        lost = [change.name for change in self.changes if not change.is_kept]
        limit = f"{MAX_KEPT_BYTES // 1024**2:,} MB"
        texts = [
            f"{_quoted(changed)} changed in place: no former state is kept." if changed else "",
            f"{_quoted(lost)} cannot be put back: what would be kept for that exceeds {limit}." if lost else "",
        ]
        return " ".join(filter(None, texts))

    def describe_undo(self, command: str) -> str:
        """Return what a command takes back of this and what cannot come back; without the command if nothing can."""
        lost = self.describe_lost()
        if not self.can_be_undone:
            return f"Nothing of this can be taken back. {lost}"
        return f"{lost} {command} takes back the rest." if lost else f"{command} takes this back."


class NameWatch:
    """The names of the notebook when a turn starts, and the contents of their objects before its first call."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self.before = _visible(names)
        self.tokens: dict[str, ContentDigest] | None = None

    def read_contents(self) -> None:
        """Read the contents of the objects, within `WATCH_SECONDS`; on the thread on which tools run."""
        if self.tokens is None:
            self.tokens = content_digests(_visible(self._names))

    def changes(self) -> list[NameChange]:
        """Return what is different now."""
        after = _visible(self._names)
        read = {name for name in self.tokens or () if after.get(name, _ABSENT) is self.before.get(name)}
        tokens = content_digests({name: after[name] for name in after if name in read})
        left = left_tokens({name: after[name] for name in after if self._is_new(name, after)})
        changes = [_compare(name, self.before, after, left) for name in dict.fromkeys((*self.before, *after))]
        in_place = [NameChange(name, "changed") for name in read if self._is_changed(name, tokens)]
        return [*filter(None, changes), *sorted(in_place, key=lambda change: change.name)]

    def _is_new(self, name: str, after: Mapping[str, Any]) -> bool:
        return after[name] is not self.before.get(name, _ABSENT)

    def _is_changed(self, name: str, tokens: Mapping[str, ContentDigest]) -> bool:
        before, after = (self.tokens or {}).get(name), tokens.get(name)
        return bool(before and after and after.differs_from(before))


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
                recorded.changes, key=lambda item: -item.size
            ):  # if not all can be kept: the largest first
                if recorded.kept_bytes > self._max_bytes and change.size:
                    change.release()
            while len(self._turns) > self._max_turns:
                self._turns.popitem(last=False)
            for former in list(self._turns.values())[:-1]:
                if sum(turn.kept_bytes for turn in self._turns.values()) > self._max_bytes:
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
                "Nothing of this turn can be undone: it changed nothing, was undone already, or is not among the last"
                f" {self._max_turns} turns that changed something in this kernel.",
                fix="Name another turn: `%chat undo TURN`, with its number in `%chat history`.",
            )
        cells, of_cells = undo_cells(recorded.cells, notebook) if notebook else (recorded.cells, "")
        able = [change for change in recorded.changes if change.kind != "changed" and change.is_kept]
        states = {id(change): "as_left" if replace else change.state(self._names) for change in able}
        done = [change for change in able if states[id(change)] == "as_left"]
        blocked = [change for change in able if change not in done]
        for change in done:
            self._put_back(change)
        texts = [
            *_done_texts(done),
            of_cells,
            recorded.describe_lost(),
            _blocked_text(
                [change for change in blocked if states[id(change)] == "changed"],
                [change for change in blocked if states[id(change)] == "unknown"],
                command or f"%chat undo {short_id(turn_id)}",
            ),
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


def _visible(names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of the person: without those of Python and IPython."""
    return {
        name: value for name, value in tuple(names.items()) if not name.startswith("_") and name not in _SHELL_NAMES
    }


def _compare(
    name: str, before: Mapping[str, Any], after: Mapping[str, Any], tokens: Mapping[str, ChangeToken]
) -> NameChange | None:
    former, current = before.get(name, _ABSENT), after.get(name, _ABSENT)
    if former is current:
        return None
    if current is _ABSENT:
        return NameChange(name, "deleted", former, _size(former))
    reference, token = _weak_reference(current), tokens.get(name)
    left, size = reference or (lambda: current), 0 if reference else _size(current)
    if former is _ABSENT:
        return NameChange(name, "added", None, size, left=left, left_token=token)
    return NameChange(name, "replaced", former, size + _size(former), left=left, left_token=token)


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


def _blocked_text(changed: list[NameChange], unknown: list[NameChange], command: str) -> str:
    names, others = (_quoted([change.name for change in changes]) for changes in (changed, unknown))
    overwrite = f"`{command} --replace` overwrites that."
    texts = [
        f"You have changed {names} since: {overwrite}" if names else "",
        f"You may have changed {others} since, which cannot be compared: {overwrite}" if others else "",
    ]
    return " ".join(filter(None, texts))


def _quoted(names: Iterable[str]) -> str:
    return list_names([f"`{name}`" for name in names], MAX_LISTED)
