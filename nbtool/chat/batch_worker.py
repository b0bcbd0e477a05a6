"""What runs on a worker: the prompts of one chunk, with the concurrency and the tools of a local map."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

from nbtool.chat.batch.answers import Answer
from nbtool.chat.batch.batch import Batch
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.remote import (
    Chunk,
    HomeApprover,
    HomeCheck,
    HomeLink,
    HomeMeter,
    HomeWriter,
    MeteredPrices,
    PackedError,
    Sealed,
    WorkerBackoff,
    WorkerLine,
    pack_error,
    unpack_versions,
)
from nbtool.chat.batch_maker import BatchMaker
from nbtool.chat.chat_description import ReceivedChat, receive_chat
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, Cancelled, NbtoolError

POLL_SECONDS = 0.5
"""Seconds between two looks at whether the batch was stopped."""


def answer_chunk(description: Sealed, sealed: Sealed, line: WorkerLine) -> PackedError | None:
    """Send the prompts of a chunk, and their answers home; return why none of them could be sent, if so.

    Raises nothing of nbtool's own.
    """
    link = HomeLink(line)
    try:
        chunk: Chunk = sealed.open()["chunk"]
        link.open()
    except Exception as error:  # noqa: BLE001 - the libraries of engines raise anything
        return pack_error(_explain(error))
    try:
        keys = link.begin(chunk.chunk_id)
        _ChunkRun(replace(chunk, prompts=[prompt for prompt in chunk.prompts if prompt[1] in keys]), link).run(
            description
        )
    except Cancelled:  # nobody waits
        return None
    except Exception as error:  # noqa: BLE001 - opening a description imports and runs code of the user's
        return pack_error(_explain(error))
    finally:
        link.close()
    return None


class _ChunkRun:
    """One run of a chunk, whose turns write their events home."""

    def __init__(self, chunk: Chunk, link: HomeLink) -> None:
        self._chunk, self._link = chunk, link
        self._checks = {key: HomeCheck(link) for _, key in chunk.prompts}
        self._writers: dict[str, HomeWriter] = {}
        self._keys = {prompt.index: key for prompt, key in chunk.prompts}
        self._free_tools: frozenset[str] = frozenset()
        self._metered: MeteredPrices | None = None
        self._batch: Batch | None = None

    def run(self, description: Sealed) -> None:
        """Send the prompts, and wait for their ends."""
        if not self._chunk.prompts:
            return
        received, chunk = _receive(description), self._chunk
        maker = BatchMaker(
            received.chat,
            approver=HomeApprover(self._link, received.uses_remembered) if received.is_asked else None,
            backoff=WorkerBackoff(self._link),
            concurrency=chunk.concurrency,
            resume=False,
            progress=False,
            **received.arguments,
        )
        maker.chat.make_writer = self._make_writer
        self._free_tools, self._metered = maker.free_tools, received.metered
        continued = {key: unpack_versions(versions) for key, versions in chunk.continued.items()}
        versions = [version.of(version.function) for version in received.versions]
        try:
            self._wait_for(maker.batch_of_keys(chunk.prompts, chunk.chat_id, self._plugins_of, continued, self._send))
        finally:
            for version in versions:
                version.record_run()

    def _wait_for(self, batch: Batch) -> None:
        self._batch = batch
        with _watching(batch, self._link):
            try:
                batch.wait()
            except (
                KeyboardInterrupt
            ):  # of a terminal, which sends it to every process of the pool; `wait` has cancelled
                batch.wait()

    def _plugins_of(self, prompt_item: PromptItem) -> Sequence[object]:
        key = self._keys[prompt_item.index]
        return [
            self._checks[key],
            *([HomeMeter(self._link, key, lambda: self._writers[key], self._metered)] if self._metered else []),
        ]

    def _make_writer(self, turn: Turn) -> HomeWriter:
        key = turn.cell_id
        if before := self._writers.get(key):  # of the turn that is repeated
            self._link.tell("event", key=key, turn_id=before.turn_id, events=before.take())
        self._writers[key] = HomeWriter(self._link, self._checks[key], key, turn.turn_id, self._free_tools)
        return self._writers[key]

    def _send(self, answer: Answer) -> None:
        """Send home what an answer consists of: the events that are not there yet, and the error."""
        key = self._keys[answer.index]
        writer = self._writers.pop(key, None)
        fields: dict[str, Any] = {"key": key, "turn_id": writer.turn_id if writer else ""}
        fields["error"] = pack_error(answer.error) if answer.error else None
        if answer.turn is None and answer.error and self._batch:
            fields["is_unsent"] = answer.error is self._batch.stop_reason
        try:
            self._link.tell("answer", events=writer.take() if writer else (), **fields)
        except NbtoolError as error:  # they are too large
            self._link.tell("answer", **{**fields, "error": pack_error(error)})


@lru_cache(maxsize=1)
def _receive(description: Sealed) -> ReceivedChat:
    """Build the chat of a map once in each worker, which keeps it until the next map."""
    return receive_chat(description)


@contextmanager
def _watching(batch: Batch, link: HomeLink) -> Iterator[None]:
    """Cancel the batch when the one at home is stopped."""
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(POLL_SECONDS):
            if link.is_stopped():
                batch.cancel()
                return

    threading.Thread(target=watch, name="nbtool-watch", daemon=True).start()
    try:
        yield
    finally:
        finished.set()


def _explain(error: Exception) -> Exception:
    """Return the error of a chat that cannot be built here, with what to do about it."""
    if isinstance(error, NbtoolError):
        return error
    return BadUsage(
        f"The chat cannot be built on the worker ({type(error).__name__}: {error}).",
        fix="Install what its tools import there, or define them in the notebook.",
    )
