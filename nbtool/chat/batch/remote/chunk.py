"""One task of an engine: some prompts, and how many of them run at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from nbtool.chat.batch.prompts import PromptItem


@dataclass(frozen=True, slots=True)
class Chunk:
    """Prompts with their keys, whose turns are journalled under `chat_id`.

    `continued` are the events of turns that go on, as JSON, by the keys of their prompts: for each its versions, the
    latest first.
    """

    chunk_id: str
    chat_id: str
    prompts: Sequence[tuple[PromptItem, str]] = field(repr=False)
    concurrency: int = 1
    continued: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict, repr=False)


def divide(prompts: Sequence[tuple[PromptItem, str]], size: int) -> Iterator[Sequence[tuple[PromptItem, str]]]:
    """Yield the prompts in order, at most `size` together."""
    iterator = iter(prompts)
    while part := list(islice(iterator, size)):
        yield part
