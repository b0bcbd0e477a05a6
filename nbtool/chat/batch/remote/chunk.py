"""One task of an engine: some prompts, and how many of them run at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from nbtool.chat.batch.prompts import PromptItem


@dataclass(frozen=True, slots=True)
class Chunk:
    """Prompts with their keys, of a map that began at `since`, in seconds; their turns are journalled under `chat_id`.

    With `has_claims` no call of a prompt starts unless its worker gets the prompt's claim. `per_minute` is its share of
    the requests in any minute. `continued` are the events of turns that go on, as JSON, by the keys of their prompts:
    for each its versions, the latest first.
    """

    chat_id: str
    since: float
    prompts: Sequence[tuple[PromptItem, str]] = field(repr=False)
    concurrency: int = 1
    has_claims: bool = False
    per_minute: float | None = None
    continued: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict, repr=False)

    @property
    def indexes(self) -> list[int]:
        """The indexes of the prompts."""
        return [one.index for one, _ in self.prompts]


def divide(prompts: Sequence[tuple[PromptItem, str]], size: int) -> Iterator[Sequence[tuple[PromptItem, str]]]:
    """Yield the prompts in order, at most `size` together."""
    iterator = iter(prompts)
    while part := list(islice(iterator, size)):
        yield part
