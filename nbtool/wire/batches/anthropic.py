"""Anthropic's batches: one request with all lines, and their results in one file.

See https://docs.claude.com/en/api/creating-message-batches and
https://docs.claude.com/en/docs/build-with-claude/batch-processing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nbtool.wire.base import Request
from nbtool.wire.batches.batch_api import (
    BatchApi,
    BatchLine,
    BatchStatus,
    LineResult,
    ProviderBatch,
    encode_line,
    error_of_line,
    merged_headers,
    number_of,
    result_lines,
    seconds_of,
    table_of,
    text_of,
)
from nbtool.wire.transport.server_requests import ServerRequest

ENDS = ("succeeded", "errored", "canceled", "expired")
"""The counts of lines that have ended."""


@dataclass(frozen=True, slots=True)
class AnthropicBatches(BatchApi):
    """The batches beside Messages. The provider keeps no tag: a batch is known by its time and its lines."""

    path: ClassVar[str] = "/messages/batches"

    keeps_tags: bool = False

    def line(self, line_id: str, request: Request) -> BatchLine:
        """Encode one request."""
        return encode_line(line_id, request, {"custom_id": line_id}, "params")

    async def create(self, lines: Sequence[BatchLine], file_id: str, tag: str) -> ProviderBatch:  # noqa: ARG002 - there are no files
        """Create a batch with its lines."""
        content = b'{"requests":[%s]}' % b",".join(line.content for line in lines)
        return _parse_batch(await self.post(ServerRequest("POST", self.path, content, merged_headers(lines))))

    async def results(self, batch: ProviderBatch) -> AsyncIterator[LineResult]:
        """Yield the results, from the address of the batch: another one that it may name gets no key."""
        async for line in result_lines(self.endpoint, f"{self.path_of(batch.batch_id)}/results"):
            yield _parse_line(line, self.endpoint.label)

    def parse_batch(self, answer: dict[str, Any]) -> ProviderBatch:
        """Return the state of a batch."""
        return _parse_batch(answer)


def _parse_batch(answer: dict[str, Any]) -> ProviderBatch:
    counts = {name: number_of(count) for name, count in table_of(answer.get("request_counts")).items()}
    return ProviderBatch(
        text_of(answer.get("id")),
        _status(answer, counts),
        total=sum(counts.values()),
        done=sum(counts.get(name, 0) for name in ENDS),
        created=seconds_of(answer.get("created_at")),
    )


def _status(answer: dict[str, Any], counts: dict[str, int]) -> BatchStatus:
    match answer.get("processing_status"):
        case "ended" if answer.get("cancel_initiated_at"):
            return "cancelled"
        case "ended":
            return "expired" if counts.get("expired") and not counts.get("succeeded") else "completed"
        case "canceling":
            return "cancelling"
    return "running"


def _parse_line(line: dict[str, Any], label: str) -> LineResult:
    line_id, result = text_of(line.get("custom_id")), table_of(line.get("result"))
    match result.get("type"):
        case "succeeded" if message := table_of(result.get("message")):
            return LineResult(line_id, message)
        case "expired":
            return LineResult(line_id, unrun="expired")
        case "canceled":
            return LineResult(line_id, unrun="cancelled")
    return LineResult(line_id, error=error_of_line(result.get("error"), label))
