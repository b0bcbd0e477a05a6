"""Batches patches on their way to the page: merged where their order allows it, at a limited rate.

Jupyter Server drops messages beyond a thousand per second; a page lags long before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

from nbtool.blocks.protocol import Patch

FLUSHES_PER_SECOND = 16
FLUSH_INTERVAL = 1 / FLUSHES_PER_SECOND
"""Maximum messages per second, except urgent ones."""


class PatchQueue:
    """Collects patches between two messages.

    Patches of different blocks are independent, so each is merged into the last one of its own block.
    The pieces of an extended text are joined once, on removal.
    """

    def __init__(self) -> None:
        self._patches: list[Patch] = []
        self._last: dict[str, Patch] = {}
        self._pieces: dict[int, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._patches)

    def add(self, patches: Iterable[Patch]) -> None:
        """Add patches in order; they are not changed."""
        for patch in patches:
            last = self._last.get(_key(patch))
            if last is None or not self._merge(last, patch):
                self._append(patch)

    def pop_all(self) -> list[Patch]:
        """Remove and return all patches."""
        for patch in self._patches:
            if patch["op"] == "extend":
                patch["text"] = "".join(self._pieces[id(patch)])
        patches, self._patches, self._last, self._pieces = self._patches, [], {}, {}
        return patches

    def _merge(self, last: Patch, patch: Patch) -> bool:
        if last["op"] == "extend" and patch["op"] == "extend" and last["field"] == patch["field"]:
            self._pieces[id(last)].append(patch["text"])
            return True
        old, new = _changed_fields(last), _changed_fields(patch)
        if old is None or new is None:
            return False
        old.update(new)
        return True

    def _append(self, patch: Patch) -> None:
        changed = _changed_fields(patch)
        own = cast("Patch", {**patch} if changed is None else {**patch, "set": {**changed}})
        self._patches.append(own)
        self._last[_key(own)] = own
        if own["op"] == "extend":
            self._pieces[id(own)] = [own["text"]]


class LoopClock(Protocol):
    """The part of an asyncio loop that is used."""

    def time(self) -> float:
        """Return monotonic time in seconds."""

    def call_later(self, delay: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        """Call back after `delay` seconds."""


class Throttle:
    """Calls `flush` at most `FLUSHES_PER_SECOND` times a second; the first time immediately, never too late.

    Use it only on the loop's thread; `clock` is the running loop by default.
    """

    def __init__(self, flush: Callable[[], None], clock: LoopClock | None = None) -> None:
        self._flush = flush
        self._clock = clock
        self._last = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def request(self) -> None:
        """Request a flush as soon as the rate allows."""
        if self._timer is not None:
            return
        clock = self._clock or asyncio.get_running_loop()
        wait = self._last + FLUSH_INTERVAL - clock.time()
        if wait > 0:
            self._timer = clock.call_later(wait, self.flush)
        else:
            self.flush()

    def flush(self) -> None:
        """Flush immediately: for a question, or the end."""
        self.stop()
        self._last = (self._clock or asyncio.get_running_loop()).time()
        self._flush()

    def stop(self) -> None:
        """Cancel the requested flush."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def encode_patch(patch: Patch) -> Patch | list[str]:
    """Encode a patch for the page: the frequent ones as a short list, `[id, text]` or with the field."""
    if patch["op"] != "extend":
        return patch
    encoded = [patch["id"], patch["text"]]
    return encoded if patch["field"] == "text" else [*encoded, patch["field"]]


def _key(patch: Patch) -> str:
    match patch["op"]:
        case "open":
            return patch["block"]["id"]
        case "head":
            return ""
        case _:
            return patch["id"]


def _changed_fields(patch: Patch) -> dict[str, Any] | None:
    return patch["set"] if patch["op"] == "update" or patch["op"] == "head" else None
