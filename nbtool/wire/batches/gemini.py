"""Google's batches: one request with all lines, and their results in the batch itself; no files are needed.

See https://ai.google.dev/gemini-api/docs/batch-api.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from nbtool.wire.base import Request
from nbtool.wire.batches.batch_api import (
    BatchApi,
    BatchLine,
    BatchStatus,
    LineResult,
    ProviderBatch,
    encode_line,
    error_of_line,
    get_json,
    list_of,
    merged_headers,
    number_of,
    seconds_of,
    table_of,
    text_of,
)
from nbtool.wire.transport.server_requests import ServerRequest

STATUSES: dict[str, BatchStatus] = {
    "PENDING": "queued",
    "QUEUED": "queued",
    "RUNNING": "running",
    "CANCELLING": "cancelling",
    "SUCCEEDED": "completed",
    "PARTIALLY_SUCCEEDED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "EXPIRED": "expired",
}
"""By the end of a state, after BATCH_STATE_ or JOB_STATE_."""

CANCELLED_CODE = 1
"""The code of google.rpc.Code of a line that was cancelled."""


@dataclass(frozen=True, slots=True)
class GeminiBatches(BatchApi):
    """The batches beside generateContent. Lines in the request itself may have 20 MB together."""

    cancel_path: ClassVar[str] = ":cancel"
    list_field: ClassVar[str] = "operations"
    list_size: ClassVar[str] = "pageSize"

    max_bytes: int = 18 * 1024 * 1024

    def line(self, line_id: str, request: Request) -> BatchLine:
        """Encode one request; its id is the key in its metadata."""
        return encode_line(line_id, request, {"metadata": {"key": line_id}}, "request")

    async def create(self, lines: Sequence[BatchLine], file_id: str, tag: str) -> ProviderBatch:  # noqa: ARG002 - there are no files
        """Create a batch with its lines, under the name of the tag."""
        requests = b",".join(line.content for line in lines)
        content = b'{"batch":{"displayName":%s,"inputConfig":{"requests":{"requests":[%s]}}}}' % (
            json.dumps(tag).encode(),
            requests,
        )
        model = self.endpoint.model.strip("/")
        path = f"/{quote(model if '/' in model else f'models/{model}', safe='/@')}:batchGenerateContent"
        return _parse_batch(await self.post(ServerRequest("POST", path, content, merged_headers(lines))))

    async def results(self, batch: ProviderBatch) -> AsyncIterator[LineResult]:
        """Yield the results, which stand in the batch."""
        answer = await get_json(self.endpoint, self.path_of(batch.batch_id))
        for line in list_of(table_of(_output(answer).get("inlinedResponses")).get("inlinedResponses")):
            yield _parse_line(line, self.endpoint.label)

    def parse_batch(self, answer: dict[str, Any]) -> ProviderBatch:
        """Return the state of a batch."""
        return _parse_batch(answer)

    def path_of(self, batch_id: str) -> str:
        """Return the path of a batch, whose id begins with that of all."""
        return f"{self.path}/{quote(batch_id.removeprefix('batches/'), safe='')}"


def _parse_batch(answer: dict[str, Any]) -> ProviderBatch:
    metadata = table_of(answer.get("metadata"))
    counts = table_of(metadata.get("batchStats"))
    error = table_of(answer.get("error"))
    state = text_of(metadata.get("state")).removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
    return ProviderBatch(
        text_of(answer.get("name")),
        STATUSES.get(state, "running"),
        total=number_of(counts.get("requestCount")),
        done=number_of(counts.get("successfulRequestCount")) + number_of(counts.get("failedRequestCount")),
        reason=text_of(error.get("message")),
        tag=text_of(metadata.get("displayName")),
        created=seconds_of(metadata.get("createTime")),
    )


def _output(answer: dict[str, Any]) -> dict[str, Any]:
    """Return where the results stand: in the metadata, or in the response of the operation."""
    return table_of(table_of(answer.get("metadata")).get("output")) or table_of(answer.get("response"))


def _parse_line(line: dict[str, Any], label: str) -> LineResult:
    line_id = text_of(table_of(line.get("metadata")).get("key")) or text_of(line.get("key"))
    if body := table_of(line.get("response")):
        return LineResult(line_id, body)
    error = table_of(line.get("error"))
    if error.get("code") == CANCELLED_CODE:
        return LineResult(line_id, unrun="cancelled")
    return LineResult(line_id, error=error_of_line(error, label))
