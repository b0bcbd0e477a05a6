"""What runs on a worker: the prompts of one chunk, with the concurrency and the tools of a local map."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache

from nbtool.chat.batch.answers import Answer
from nbtool.chat.batch.batch import Batch
from nbtool.chat.batch.earlier_maps.lost_turns import find_completed
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.remote import (
    CallClaim,
    Chunk,
    HomeApprover,
    HomeCheck,
    PackedAnswer,
    Sealed,
    WorkerLink,
    pack_answer,
    pack_error,
    unpack_versions,
)
from nbtool.chat.batch.remote.call_claim import lost_after_calls
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.batch_maker import BatchMaker
from nbtool.chat.chat_description import ReceivedChat, receive_chat
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, JournalError, NbtoolError

POLL_SECONDS = 0.5
"""Seconds between two looks at whether the batch was stopped."""


@dataclass(frozen=True, slots=True)
class _WorkerChat:
    """A chat of this worker, which the chunks of its map share, with the delays of a busy provider."""

    chat: ReceivedChat
    backoff: SharedBackoff = field(default_factory=SharedBackoff)


def answer_chunk(description: Sealed, sealed: Sealed, link: WorkerLink) -> list[PackedAnswer]:
    """Send the prompts of a chunk and return their answers; raises nothing of nbtool's own."""
    chunk: Chunk = sealed.open()["chunk"]
    try:
        link.connect()
        worker_chat = _receive(description)
        chat = worker_chat.chat
        maker = BatchMaker(
            chat.chat,
            approver=HomeApprover(link, chat.uses_remembered) if chat.is_asked else None,
            backoff=worker_chat.backoff.for_chunk(chunk.per_minute),
            concurrency=chunk.concurrency,
            resume=False,
            progress=False,
            **chat.arguments,
        )
    except Exception as error:  # noqa: BLE001 - opening a description imports and runs code of the user's
        packed = pack_error(_explain(error))
        return [PackedAnswer(index, error=packed) for index in chunk.indexes]
    versions = [version.of(version.function) for version in chat.versions]
    try:
        return _answer(maker, chunk, link)
    finally:
        for version in versions:
            version.record_run()


def _answer(maker: BatchMaker, chunk: Chunk, link: WorkerLink) -> list[PackedAnswer]:
    claims = {index: CallClaim(_claim_of(link, index), maker.free_tools) for index in chunk.indexes if chunk.has_claims}

    def plugins_of(one: PromptItem) -> list[object]:
        return [HomeCheck(link.has_home), *([claims[one.index]] if one.index in claims else [])]

    continued = {key: unpack_versions(versions) for key, versions in chunk.continued.items()}
    batch = maker.batch_of_keys(chunk.prompts, chunk.chat_id, plugins_of, continued)
    with _watching(batch, link):
        try:
            batch.wait()
        except KeyboardInterrupt:  # of a terminal, which sends it to every process of the pool; `wait` has cancelled
            batch.wait()
    refused = {key: one.index for one, key in chunk.prompts if one.index in claims and claims[one.index].is_refused}
    completed = _find_completed(maker, chunk, refused) if refused else {}
    lost = {index: completed.get(key) for key, index in refused.items()}
    return [
        _pack_refused(answer, lost[answer.index]) if answer.index in lost else _pack(answer, batch)
        for answer in batch.answers
    ]


def _find_completed(maker: BatchMaker, chunk: Chunk, keys: Collection[str]) -> dict[str, Turn]:
    """Return the turns that a lost worker of this machine completed, by key; by the clocks of both machines."""
    try:
        return find_completed(maker.key, keys, chat_id=chunk.chat_id, since=chunk.since)
    except JournalError:
        return {}


def _pack_refused(answer: Answer, turn: Turn | None) -> PackedAnswer:
    """Return what the worker had completed that started the calls of this prompt, or that it is lost."""
    if turn:
        return pack_answer(replace(answer, error=None, turn=turn))
    return PackedAnswer(answer.index, error=pack_error(lost_after_calls()))


def _pack(answer: Answer, batch: Batch) -> PackedAnswer:
    is_unsent = answer.turn is None and answer.error is not None and answer.error is batch.stop_reason
    return pack_answer(answer, is_unsent=is_unsent)


def _claim_of(link: WorkerLink, index: int) -> Callable[[], bool]:
    return lambda: link.claim(index)


@lru_cache(maxsize=1)
def _receive(description: Sealed) -> _WorkerChat:
    """Build the chat of a map once in each worker, which keeps it until the next map."""
    return _WorkerChat(receive_chat(description))


@contextmanager
def _watching(batch: Batch, link: WorkerLink) -> Iterator[None]:
    """Cancel the batch when the one at home is stopped."""
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(POLL_SECONDS):
            try:
                is_stopped = link.is_stopped()
            except Exception:  # noqa: BLE001 - a worker that is closing; the task ends with it
                return
            if is_stopped:
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
