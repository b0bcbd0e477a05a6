"""What the batch endpoints of all providers have in common: lines that are sent, states, and results of lines."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from tempfile import TemporaryFile
from typing import Any, BinaryIO, ClassVar, Literal
from urllib.parse import quote

from nbtool.errors import InvalidReply, ModelNotFound, ProviderError, Unsupported, WireError
from nbtool.wire.base import Request
from nbtool.wire.dialect import find_dialect
from nbtool.wire.framing.json_payloads import MAX_BODY_BYTES, parse
from nbtool.wire.framing.provider_errors import provider_error
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.request.body_encoding import encode_body
from nbtool.wire.transport.server_requests import ServerRequest, download, fetch_json

BatchStatus = Literal["queued", "running", "cancelling", "completed", "failed", "expired", "cancelled"]

MAX_ID = 64
"""Characters of the id of a line: Anthropic takes no more."""

MAX_LISTED = 100
"""Batches of the latest ones that are looked at for one whose creation was interrupted."""

MAX_DIGITS = 18
"""Digits of a count."""

JSON_HEADERS = {"content-type": "application/json"}

_NO_SUCH_PATH = frozenset({404, 405, 501})


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One request of a batch, encoded: its id, and its bytes in the form of the provider."""

    line_id: str
    content: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProviderBatch:
    """A batch at its provider.

    `tag` is what it was created with, empty where the provider keeps none, and `created` when, in seconds since the
    epoch. `files` are those that it has at the provider, and `result_files` those with its results. Of `total` lines
    `done` have ended, as far as the provider says. `reason` is why it failed as a whole.
    """

    batch_id: str
    status: BatchStatus
    total: int = 0
    done: int = 0
    reason: str = ""
    tag: str = ""
    created: float = 0.0
    result_files: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether it changes no more."""
        return self.status in {"completed", "failed", "expired", "cancelled"}


@dataclass(frozen=True, slots=True)
class LineResult:
    """What came of a line: the `body` of its reply, the `error` of the provider, or that it was not run at all."""

    line_id: str
    body: dict[str, Any] | None = None
    error: WireError | None = None
    unrun: Literal["", "expired", "cancelled"] = ""


@dataclass(frozen=True, slots=True)
class BatchApi(ABC):
    """The batch endpoints beside an endpoint, as most providers have them; each differs in paths, fields and states.

    A batch has at most `max_lines`, of `max_bytes` together. If the provider `keeps_tags`, it returns the tag of a
    batch; else that is known by when it was created, and its lines.
    """

    path: ClassVar[str] = "/batches"
    cancel_path: ClassVar[str] = "/cancel"
    list_field: ClassVar[str] = "data"
    list_size: ClassVar[str] = "limit"

    endpoint: HttpEndpoint
    max_lines: int = 50_000
    max_bytes: int = 60 * 1024 * 1024
    keeps_tags: bool = True

    @abstractmethod
    def line(self, line_id: str, request: Request) -> BatchLine:
        """Encode one request, which is not streamed."""

    @abstractmethod
    async def create(self, lines: Sequence[BatchLine], file_id: str, tag: str) -> ProviderBatch:
        """Create a batch, which costs from now on.

        Raises:
            nbtool.wire.transport.server_requests.Undecided: it is not known whether the server has created it.
            nbtool.errors.WireError: it was refused.
        """

    @abstractmethod
    def results(self, batch: ProviderBatch) -> AsyncIterator[LineResult]:
        """Yield the results of a batch that has ended, in any order; none for lines that the provider lost.

        Raises:
            nbtool.errors.WireError: they cannot be read.
        """

    @abstractmethod
    def parse_batch(self, answer: dict[str, Any]) -> ProviderBatch:
        """Return the state of a batch from an answer of the provider."""

    async def upload(self, lines: Sequence[BatchLine], tag: str) -> str:  # noqa: ARG002 - not here
        """Upload the lines as a file and return its id; empty where they are sent with `create`.

        Raises:
            nbtool.wire.transport.server_requests.Undecided: it is not known whether the server has the file.
            nbtool.errors.WireError: it was refused.
        """
        return ""

    async def find(self, batch_id: str) -> ProviderBatch:
        """Return the state of a batch. Raises a `WireError`."""
        return self.parse_batch(await get_json(self.endpoint, self.path_of(batch_id)))

    async def list_latest(self) -> list[ProviderBatch]:
        """Return the latest batches, at most `MAX_LISTED`. Raises a `WireError`."""
        answer = await get_json(self.endpoint, self.path, {self.list_size: str(MAX_LISTED)})
        return [self.parse_batch(record) for record in list_of(answer.get(self.list_field))]

    async def cancel(self, batch_id: str) -> None:
        """Ask the provider to run no more lines of a batch. Raises a `WireError`."""
        path = f"{self.path_of(batch_id)}{self.cancel_path}"
        await fetch_json(self.endpoint, ServerRequest("POST", path, headers=version_headers(self.endpoint)))

    async def delete(self, batch: ProviderBatch, uploaded: str) -> list[str]:  # noqa: ARG002 - there are no files here
        """Delete what the provider has of a batch that has ended; return what remains there, in words."""
        request = ServerRequest("DELETE", self.path_of(batch.batch_id), headers=version_headers(self.endpoint))
        try:
            await fetch_json(self.endpoint, request)
        except WireError:
            return [f"the batch {batch.batch_id}, with prompts and answers"]
        return []

    async def delete_file(self, file_id: str) -> list[str]:  # noqa: ARG002 - there are no files here
        """Delete an uploaded file; return what remains there, in words."""
        return []

    def path_of(self, batch_id: str) -> str:
        """Return the path of a batch."""
        return f"{self.path}/{quote(batch_id, safe='')}"

    async def post(self, request: ServerRequest) -> dict[str, Any]:
        """Send what creates something, and return the answer; raises as `create`."""
        try:
            return await fetch_json(self.endpoint, request, creates=True)
        except WireError as error:
            raise explain_no_batches(error, self.endpoint.label) from None


def encode_line(line_id: str, request: Request, fields: Mapping[str, Any], name: str) -> BatchLine:
    """Return a line with other fields beside the body of a request, which stands under a name.

    Raises:
        nbtool.errors.Unsupported: the request has files of its own.
    """
    if request.uploads:
        raise Unsupported("A request with files cannot be sent in a batch.", fix="Leave out batch=.")
    body, _ = encode_body(request)
    head = json.dumps(dict(fields))[:-1]
    content = b"%s,%s:%s}" % (head.encode(), json.dumps(name).encode(), body)
    return BatchLine(line_id, content, request.headers)


def merged_headers(lines: Sequence[BatchLine]) -> dict[str, str]:
    """Return the headers that the lines need, for the request that sends them together."""
    return {**{name: value for line in lines for name, value in line.headers.items()}, **JSON_HEADERS}


async def get_json(endpoint: HttpEndpoint, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the JSON object at a path. Raises a `WireError`."""
    return await fetch_json(endpoint, ServerRequest("GET", path, headers=version_headers(endpoint), query=query or {}))


def version_headers(endpoint: HttpEndpoint) -> dict[str, str]:
    """Return the header without which Anthropic answers nothing."""
    return dict(find_dialect(endpoint.dialect).headers)


async def result_lines(endpoint: HttpEndpoint, path: str) -> AsyncIterator[dict[str, Any]]:
    """Download a file of JSON lines and yield its objects; it is on the disk meanwhile, without a name.

    Raises:
        nbtool.errors.InvalidReply: a line is no JSON object; the ones before it were yielded.
        nbtool.errors.WireError: the file cannot be read.
    """
    with TemporaryFile() as file:
        await download(endpoint, ServerRequest("GET", path, headers=version_headers(endpoint)), file)
        file.seek(0)
        for value in _read_lines(file, endpoint.label):
            yield value


def _read_lines(file: BinaryIO, label: str) -> Iterator[dict[str, Any]]:
    while line := file.readline(MAX_BODY_BYTES + 1):
        if not line.strip():
            continue
        try:
            value = parse(line)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise InvalidReply(f"A line of the results of {label} cannot be read.", fix="Map again to read them again.")
        yield value


def error_of_line(payload: Any, label: str, status: int | None = None) -> ProviderError:
    """Return the error that a provider reports of one line."""
    return provider_error(payload, status=status, label=label)


def explain_no_batches(error: WireError, label: str) -> WireError:
    """Return the error of a server without batch endpoints as such."""
    if isinstance(error, ProviderError) and error.status in _NO_SUCH_PATH and not isinstance(error, ModelNotFound):
        message = f"{label} has no batches here ({error.status})."
        return error.changed(message=message, fix="Leave out batch=, or check the address.")
    return error


def text_of(value: Any) -> str:
    """Return a text of an answer; empty for anything else."""
    return value if isinstance(value, str) else ""


def number_of(value: Any) -> int:
    """Return a count of an answer, which Google writes as a text; 0 for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= MAX_DIGITS:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def seconds_of(value: Any) -> float:
    """Return the seconds since the epoch of a time of an answer; 0 for anything else."""
    try:
        return datetime.fromisoformat(text_of(value)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def table_of(value: Any) -> dict[str, Any]:
    """Return an object of an answer; empty for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list of an answer; empty for anything else."""
    return [record for record in value if isinstance(record, dict)] if isinstance(value, list) else []
