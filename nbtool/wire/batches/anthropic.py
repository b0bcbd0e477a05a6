"""Anthropic's batches: one request with all lines, and their results in one file.

See https://docs.claude.com/en/api/creating-message-batches and
https://docs.claude.com/en/docs/build-with-claude/batch-processing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from nbtool.errors import WireError
from nbtool.wire.base import Request
from nbtool.wire.batches.batch_api import (
    MAX_LISTED,
    BatchLine,
    BatchStatus,
    LineResult,
    ProviderBatch,
    encode_line,
    error_of_line,
    explain_no_batches,
    get_json,
    list_of,
    merged_headers,
    number_of,
    result_lines,
    table_of,
    text_of,
    version_headers,
)
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.server_requests import ServerRequest, fetch_json

PATH = "/messages/batches"

ENDS = ("succeeded", "errored", "canceled", "expired")
"""The counts of lines that have ended."""


@dataclass(frozen=True, slots=True)
class AnthropicBatches:
    """The batches beside Messages. The provider keeps no tag: a batch is known by its time and its lines."""

    endpoint: HttpEndpoint
    max_lines: int = 50_000
    max_bytes: int = 60 * 1024 * 1024
    keeps_tags: bool = False

    def line(self, line_id: str, request: Request) -> BatchLine:
        """Encode one request."""
        return encode_line(line_id, request, {"custom_id": line_id}, "params")

    async def upload(self, lines: Sequence[BatchLine], tag: str) -> str:  # noqa: ARG002 - the lines are sent with `create`
        """Upload nothing."""
        return ""

    async def create(self, lines: Sequence[BatchLine], file_id: str, tag: str) -> ProviderBatch:  # noqa: ARG002 - as above
        """Create a batch with its lines."""
        content = b'{"requests":[%s]}' % b",".join(line.content for line in lines)
        request = ServerRequest("POST", PATH, content, merged_headers(lines))
        try:
            return _parse_batch(await fetch_json(self.endpoint, request, creates=True))
        except WireError as error:
            raise explain_no_batches(error, self.endpoint.label) from None

    async def find(self, batch_id: str) -> ProviderBatch:
        """Return the state of a batch."""
        return _parse_batch(await get_json(self.endpoint, _path(batch_id)))

    async def list_latest(self) -> list[ProviderBatch]:
        """Return the latest batches."""
        answer = await get_json(self.endpoint, PATH, {"limit": str(MAX_LISTED)})
        return [_parse_batch(one) for one in list_of(answer.get("data"))]

    async def results(self, batch: ProviderBatch) -> AsyncIterator[LineResult]:
        """Yield the results, from the address of the batch: another one that it may name gets no key."""
        async for line in result_lines(self.endpoint, f"{_path(batch.batch_id)}/results"):
            yield _parse_line(line, self.endpoint.label)

    async def cancel(self, batch_id: str) -> None:
        """Ask to run no more lines."""
        await fetch_json(
            self.endpoint, ServerRequest("POST", f"{_path(batch_id)}/cancel", headers=version_headers(self.endpoint))
        )

    async def delete(self, batch: ProviderBatch, uploaded: str) -> list[str]:  # noqa: ARG002 - there are no files
        """Delete the batch with its prompts and answers."""
        request = ServerRequest("DELETE", _path(batch.batch_id), headers=version_headers(self.endpoint))
        try:
            await fetch_json(self.endpoint, request)
        except WireError:
            return [f"the batch {batch.batch_id}, with prompts and answers"]
        return []

    async def delete_file(self, file_id: str) -> list[str]:  # noqa: ARG002 - there are no files
        """Delete nothing."""
        return []


def _path(batch_id: str) -> str:
    return f"{PATH}/{quote(batch_id, safe='')}"


def _parse_batch(answer: dict[str, Any]) -> ProviderBatch:
    counts = {name: number_of(count) for name, count in table_of(answer.get("request_counts")).items()}
    return ProviderBatch(
        text_of(answer.get("id")),
        _status(answer, counts),
        total=sum(counts.values()),
        done=sum(counts.get(name, 0) for name in ENDS),
        created=_seconds(answer.get("created_at")),
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


def _seconds(value: Any) -> float:
    try:
        return datetime.fromisoformat(text_of(value)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


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
