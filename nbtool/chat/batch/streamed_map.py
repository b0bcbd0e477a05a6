"""Send any number of prompts in constant memory: a chunk at a time, each answer to a sink as it arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from nbtool.chat.batch.answer_sink import AnswerSink
from nbtool.chat.batch.batch import Answer, Batch
from nbtool.chat.batch.progress import ProgressLine
from nbtool.chat.batch.prompts import PromptItem
from nbtool.messages import Usage
from nbtool.text import count_of, format_number

CHUNK = 1_000
"""Prompts in memory at a time; the next ones are read when all of them are answered."""

MakeBatch = Callable[[Sequence[PromptItem]], Batch]


@dataclass(slots=True)
class MapTotals:
    """What came of a streamed map.

    `answered_before` had an answer in the sink already; the usage of those is not counted.
    """

    answered: int = 0
    failed: int = 0
    answered_before: int = 0
    usage: Usage = field(default_factory=Usage)

    def __str__(self) -> str:
        done = self.answered + self.failed + self.answered_before
        parts = [count_of(done, "prompt")]
        parts += [f"{format_number(self.failed)} failed"] if self.failed else []
        parts += [f"{format_number(self.answered_before)} answered before"] if self.answered_before else []
        parts += [f"{format_number(self.usage.total_tokens)} tokens"] if self.usage.total_tokens else []
        return ", ".join(parts)


def run_streamed_map(
    items: Iterable[PromptItem], sink: AnswerSink, make_batch: MakeBatch, *, progress: bool = True
) -> MapTotals:
    """Send prompts, and write each answer to the sink as soon as it has arrived.

    An interrupt cancels the running prompts and is raised again when their answers are written.

    Raises:
        nbtool.errors.LimitReached: a limit of all prompts together was reached; the other answers are written.
    """
    totals, line = MapTotals(), ProgressLine(is_shown=progress)
    for chunk in _chunks(items):
        left = sink.unanswered(chunk)
        totals.answered_before += len(chunk) - len(left)
        if left:
            _send_chunk(make_batch(left), sink, totals, line)
    line.show(f"nbtool: {totals}", is_last=True)
    return totals


def _send_chunk(batch: Batch, sink: AnswerSink, totals: MapTotals, line: ProgressLine) -> None:
    written: set[int] = set()

    def write(answers: Sequence[Answer]) -> None:
        """Write the answers of prompts that were sent; the others have none."""
        sent = [one for one in answers if one.error is None or one.error is not batch.stop_reason]
        if sent:
            sink.write(sent)
        written.update(one.index for one in sent)
        failed = sum(one.error is not None for one in sent)
        totals.failed += failed
        totals.answered += len(sent) - failed
        line.show(f"nbtool: {totals}")

    try:
        for answers in batch.arrivals():
            write(answers)
    except KeyboardInterrupt:
        batch.cancel()
        write([one for one in batch.wait().answers if one.index not in written])
        raise
    except BaseException:
        batch.cancel()
        raise
    finally:
        totals.usage += batch.usage
    if batch.stop_reason:
        raise batch.stop_reason


def _chunks(items: Iterable[PromptItem]) -> Iterator[list[PromptItem]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk
