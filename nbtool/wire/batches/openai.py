"""OpenAI's batches: a file of lines, a batch of it, and two files of results: of what succeeded, and of the rest.

See https://platform.openai.com/docs/api-reference/batch and https://platform.openai.com/docs/guides/batch.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nbtool.errors import ProviderError, WireError
from nbtool.text import list_names
from nbtool.wire.base import Request, Upload
from nbtool.wire.batches.batch_api import (
    JSON_HEADERS,
    BatchApi,
    BatchLine,
    BatchStatus,
    LineResult,
    ProviderBatch,
    encode_line,
    error_of_line,
    list_of,
    number_of,
    result_lines,
    table_of,
    text_of,
)
from nbtool.wire.transport.request.multipart import encode_multipart
from nbtool.wire.transport.server_requests import ServerRequest, fetch_json

STATUSES: dict[str, BatchStatus] = {
    "validating": "queued",
    "in_progress": "running",
    "finalizing": "running",
    "cancelling": "cancelling",
    "completed": "completed",
    "failed": "failed",
    "expired": "expired",
    "cancelled": "cancelled",
}

TAG = "nbtool"
"""The name of the tag in the metadata of a batch."""

UNRUN = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
"""The codes of lines that were not run."""

MAX_REASONS = 3
"""Errors of a batch that failed as a whole that are named."""


@dataclass(frozen=True, slots=True)
class OpenAiBatches(BatchApi):
    """The batches beside Chat Completions and Responses."""

    def line(self, line_id: str, request: Request) -> BatchLine:
        """Encode one request; the path of a line begins with /v1 whatever the address of the server."""
        return encode_line(
            line_id, request, {"custom_id": line_id, "method": "POST", "url": f"/v1{request.path}"}, "body"
        )

    async def upload(self, lines: Sequence[BatchLine], tag: str) -> str:
        """Upload the lines as a file and return its id."""
        data = b"".join(line.content + b"\n" for line in lines)
        file = Upload("file", f"{TAG}-{tag}.jsonl", "application/jsonl", data)
        content, content_type = encode_multipart(Request("/files", {"purpose": "batch"}, stream=False, uploads=(file,)))
        answer = await self.post(ServerRequest("POST", "/files", content, {"content-type": content_type}))
        return text_of(answer.get("id"))

    async def create(self, lines: Sequence[BatchLine], file_id: str, tag: str) -> ProviderBatch:
        """Create the batch of an uploaded file."""
        path = json.loads(lines[0].content)["url"]
        body = {"input_file_id": file_id, "endpoint": path, "completion_window": "24h", "metadata": {TAG: tag}}
        request = ServerRequest("POST", self.path, json.dumps(body).encode(), JSON_HEADERS)
        return _parse_batch(await self.post(request))

    async def results(self, batch: ProviderBatch) -> AsyncIterator[LineResult]:
        """Yield the results of both files."""
        for file_id in batch.result_files:
            async for line in result_lines(self.endpoint, f"/files/{quote(file_id, safe='')}/content"):
                yield _parse_line(line, self.endpoint.label)

    async def delete(self, batch: ProviderBatch, uploaded: str) -> list[str]:
        """Delete the files; the batch itself, without prompts and answers, cannot be deleted."""
        left = [f"the entry of the batch {batch.batch_id}, without prompts and answers"]
        for file_id in dict.fromkeys(filter(None, (uploaded, *batch.files))):
            left += await self.delete_file(file_id)
        return left

    async def delete_file(self, file_id: str) -> list[str]:
        """Delete a file."""
        try:
            await fetch_json(self.endpoint, ServerRequest("DELETE", f"/files/{quote(file_id, safe='')}"))
        except WireError as error:
            is_gone = isinstance(error, ProviderError) and error.status == 404
            return [] if is_gone else [f"the file {file_id}"]
        return []

    def parse_batch(self, answer: dict[str, Any]) -> ProviderBatch:
        """Return the state of a batch."""
        return _parse_batch(answer)


def _parse_batch(answer: dict[str, Any]) -> ProviderBatch:
    counts = table_of(answer.get("request_counts"))
    results = tuple(filter(None, (text_of(answer.get(name)) for name in ("output_file_id", "error_file_id"))))
    reasons = [text_of(record.get("message")) for record in list_of(table_of(answer.get("errors")).get("data"))]
    named = list_names(list(filter(None, reasons)), MAX_REASONS)
    return ProviderBatch(
        text_of(answer.get("id")),
        STATUSES.get(text_of(answer.get("status")), "running"),
        total=number_of(counts.get("total")),
        done=number_of(counts.get("completed")) + number_of(counts.get("failed")),
        reason=named,
        tag=text_of(table_of(answer.get("metadata")).get(TAG)),
        created=float(number_of(answer.get("created_at"))),
        result_files=results,
        files=tuple(filter(None, (text_of(answer.get("input_file_id")), *results))),
    )


def _parse_line(line: dict[str, Any], label: str) -> LineResult:
    line_id, error, response = (
        text_of(line.get("custom_id")),
        table_of(line.get("error")),
        table_of(line.get("response")),
    )
    match UNRUN.get(text_of(error.get("code"))):
        case "expired":
            return LineResult(line_id, unrun="expired")
        case "cancelled":
            return LineResult(line_id, unrun="cancelled")
    status, body = number_of(response.get("status_code")), table_of(response.get("body"))
    if error or not body or status >= 400:
        return LineResult(line_id, error=error_of_line(error or body, label, status or None))
    return LineResult(line_id, body)
