"""The HTTP endpoint: a wire, an address and a key.

One streamed POST per prompt. Only decoded deltas count as progress, not bytes: a server that only keeps the connection
alive runs into the same timeout as a silent one.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from nbtool.errors import (
    AuthenticationFailed,
    BadUsage,
    ContextTooLong,
    IncompleteReply,
    InvalidReply,
    MissingKey,
    ModelNotFound,
    ProviderError,
    RateLimited,
    ServerOverloaded,
    TimedOut,
    ToolsNotSupported,
    WireError,
)
from nbtool.events import Delta, ReplyEnd, Retrying, UsageDelta
from nbtool.server_url import ServerUrl, parse_server_url
from nbtool.thread_pool import run_in_worker
from nbtool.wire.base import Decoder, Prompt, Request, Target, Wire
from nbtool.wire.framing.json_payloads import MAX_BODY_BYTES
from nbtool.wire.framing.provider_errors import MAX_ERROR_BODY, QUOTA_CODES, error_from_response, is_retryable
from nbtool.wire.framing.redaction import redact
from nbtool.wire.providers.connection import Connection, auth_header
from nbtool.wire.transport import traffic
from nbtool.wire.transport.authorization import Authorization
from nbtool.wire.transport.body import read_body
from nbtool.wire.transport.clients import client_for, is_loopback
from nbtool.wire.transport.coalesce import coalesce
from nbtool.wire.transport.connection_errors import connect_error, disconnect_error, is_certificate_required
from nbtool.wire.transport.error_hints import find_fix
from nbtool.wire.transport.key_source import KeySource
from nbtool.wire.transport.model_list import fetch_model_list
from nbtool.wire.transport.multipart import encode_multipart
from nbtool.wire.transport.readahead import ReadAhead
from nbtool.wire.transport.retry import Deadline, RetryPolicy, Timeouts

if TYPE_CHECKING:
    import httpx
    from pydantic import SecretStr

ERROR_SECONDS = 10.0
"""Time limit for reading the body of an error."""

DRAIN_SECONDS = 0.05
"""Seconds to wait for the end of the body after the end of the reply, so that the connection can be reused."""

LARGE = 64 * 1024
"""Maximum number of bytes that are decoded on nbtool's own loop; more are decoded in a thread."""

AT_ONCE = 64
"""Deltas that are yielded before control returns to the loop."""

HINT_SECONDS = 3.0
"""Time limit for listing the models for the error about an unknown model."""

_RETRY_FIX = "Send it again."
_NO_STREAM_FIX = "Send it again with `--no-stream`: some servers report errors only without streaming."
_NEVER_RETRIED = (
    AuthenticationFailed,
    ContextTooLong,
    ModelNotFound,
    ToolsNotSupported,
)  # with any status: some servers send 500


@dataclass(frozen=True)
class HttpEndpoint:
    """A model behind a wire; see `nbtool.wire.base.Endpoint`.

    The key, and the headers and query of `connection`, are sent to `base_url` only: redirects are not followed.
    `key_source` returns keys that expire. `can_retry` is called before each retry; there is no retry once a delta of
    the reply was yielded.
    """

    wire: Wire
    base_url: str
    model: str
    provider: str = ""
    is_own_host: bool = False
    key: SecretStr | None = None
    key_from: str = ""
    key_source: KeySource | None = None
    connection: Connection = field(default_factory=Connection)
    abilities: frozenset[str] = frozenset()
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    can_retry: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        url = _parse_base_url(self.base_url)
        secret = self.key.get_secret_value() if self.key else ""
        if (secret or self.key_source or self.connection.carries_secrets) and not url.may_carry_key:
            what = "The key is" if secret or self.key_source else "Headers and query are"
            raise MissingKey(
                f"{what} not sent to {url.host} over plain HTTP.",
                fix="Use https://…, or a tunnel through localhost, or no key.",
            )
        if not (secret.isascii() and secret.isprintable()):
            raise MissingKey(
                f"The key for {self.label} contains invalid characters.", fix="Copy it again, without quotes."
            )

    @cached_property
    def host(self) -> str:
        """The host, with its port if it is not the default."""
        return parse_server_url(self.base_url).netloc

    @property
    def dialect(self) -> str:
        """The name of the wire."""
        return self.wire.name

    @property
    def label(self) -> str:
        """Provider and host, for error messages."""
        return f"{self.provider} ({self.host})" if self.provider else self.host

    @property
    def target(self) -> Target:
        """The target for encoding a prompt."""
        return Target(self.host, self.model, self.abilities)

    async def list_models(self) -> list[str]:
        """Return the names of the server's models, within a short time limit: an error message waits for them."""
        return await fetch_model_list(self, seconds=HINT_SECONDS)

    def preview(self, prompt: Prompt) -> Request:
        """Return the request that `stream` would send, without sending it."""
        return self.wire.encode(prompt, self.target)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Send a prompt and yield the deltas of the reply as they arrive.

        Raises:
            nbtool.errors.WireError: see its subclasses.
            nbtool.errors.ModelError: the prompt cannot be encoded in the dialect.
        """
        request, content = self._encode(prompt)
        attempt, is_renewed = 0, False
        while True:
            attempt += 1
            has_output = False
            key = await self.current_key()
            failure: WireError
            try:
                async with aclosing(_in_parts(self._attempt(request, content, key), request.prefix)) as batches:
                    async for batch in batches:
                        for delta in batch:
                            has_output = has_output or not isinstance(delta, UsageDelta)
                            yield delta
                return
            except _Retryable as retryable:
                failure = self._sanitized(retryable.error)
                delay = None if has_output else self._retry_delay(failure, attempt)
                if isinstance(
                    failure, IncompleteReply
                ):  # it failed after its headers: only an unstreamed reply can contain the reason
                    request, content = self._encode(replace(prompt, stream=False))
            except WireError as error:
                failure = self._sanitized(error)
                delay = None if is_renewed else self._renew_key(error, key)
                is_renewed = delay is not None
            if delay is None:
                raise failure.changed(fix=await find_fix(failure, prompt, self))
            yield Retrying(attempt, delay, failure.message)
            await asyncio.sleep(delay)

    def _encode(self, prompt: Prompt) -> tuple[Request, bytes]:
        request = self.preview(prompt)
        content, content_type = _encode_body(request)
        return replace(request, headers={"content-type": content_type, **request.headers}), content

    def _sanitized(self, error: WireError) -> WireError:
        """Return the error with its source, and without the key."""
        error_with_source = error.with_source(self.label)
        return error_with_source.changed(message=redact(error_with_source.message, self.secrets))

    def _renew_key(self, error: WireError, refused: SecretStr | None) -> float | None:
        """Discard a key that the server refused; return the seconds before the next attempt, None if there is none."""
        if self.key_source is None or not is_refused_key(error):
            return None
        self.key_source.discard(refused)
        return 0.0

    def _retry_delay(self, error: WireError, attempt: int) -> float | None:
        """Return the seconds before the next attempt, or None if there is none."""
        return None if self.can_retry and not self.can_retry() else self.retries.delay_after(error, attempt)

    async def _attempt(
        self, request: Request, content: bytes, key: SecretStr | None
    ) -> AsyncGenerator[list[Delta], None]:
        """Send the request once and yield the deltas of each chunk."""
        deadline = Deadline(self.timeouts.first_token if request.stream else self.timeouts.total)
        decoder = self.wire.decoder(stream=request.stream)
        async with (
            self._response(request, content, deadline, self.authorization(key)) as response,
            aclosing(ReadAhead(read_body(response, MAX_BODY_BYTES, self.label))) as body,
        ):
            size = buffered = 0
            while chunk := await self._read_chunk(body, deadline, decoder):
                was_done = decoder.is_done
                size += len(chunk)
                buffered += len(chunk)  # a small chunk may complete an event of many megabytes
                deltas = await _decoded(partial(_decode, decoder, chunk), buffered)
                buffered = 0 if deltas else buffered
                if deltas or decoder.is_done is not was_done:
                    deadline.reset(self._idle_limit(request, decoder))
                if deltas:
                    yield deltas
                    if isinstance(deltas[-1], ReplyEnd):
                        await body.drain(DRAIN_SECONDS)
                        return
            remaining = await _decoded(decoder.close, size)
            if pending := getattr(decoder, "pending", ""):
                raise InvalidReply(
                    f"{self.label} runs this request in the background (status {pending!r}), which is not supported.",
                    fix="Remove the option `background`.",
                )
            if not (size or remaining):
                fix = _NO_STREAM_FIX if request.stream else _RETRY_FIX
                raise _Retryable(IncompleteReply(f"{self.label} closed the connection without a reply.", fix=fix))
            yield remaining
            if remaining and not isinstance(remaining[-1], ReplyEnd):
                yield decoder.close()  # an error after deltas is raised by the next call

    def _idle_limit(self, request: Request, decoder: Decoder) -> float:
        """Return the time limit for the next delta."""
        if decoder.is_done:
            return self.timeouts.trailing
        return self.timeouts.idle if request.stream else self.timeouts.total

    async def _read_chunk(self, body: ReadAhead, deadline: Deadline, decoder: Decoder) -> bytes:
        """Return the next bytes, empty once the reply is over."""
        import httpx  # noqa: PLC0415 - the network loads when it is first used

        try:
            async with deadline.running():
                return await body.read()
        except TimeoutError:
            if decoder.is_done:
                return b""
            raise TimedOut(
                f"{self.label} sent no new data for {deadline.limit:g} s.", fix="Try again, or choose another model."
            ) from None
        except httpx.HTTPError as error:
            if decoder.is_done:
                return b""
            raise _Retryable(disconnect_error(error, self.label)) from None

    @asynccontextmanager
    async def _response(
        self, request: Request, content: bytes, deadline: Deadline, authorization: Authorization
    ) -> AsyncIterator[httpx.Response]:
        """Send the request and yield a successful response, which is closed at the end of the context."""
        import httpx  # noqa: PLC0415 - the network loads when it is first used

        url = self.base_url.rstrip("/") + request.path
        client = client_for(url, self.connection)
        limits = httpx.Timeout(None, connect=self.timeouts.connect)
        http_request = client.build_request(
            "POST", url, content=content, headers=request.headers, params=request.query or None, timeout=limits
        )
        traffic.record(self.host, len(content))
        try:
            async with deadline.running():
                response = await client.send(http_request, auth=authorization, stream=True)
        except (TimeoutError, httpx.HTTPError) as error:
            raise self._connect_failure(error, deadline.limit) from None
        try:
            if response.status_code >= 300:
                raise await self._error_response(response)
            yield response
        finally:
            await response.aclose()

    @property
    def secrets(self) -> list[SecretStr]:
        """All values that no text may contain: the key, headers, query, and credentials of a proxy."""
        current = self.key_source.current if self.key_source else None
        return [*filter(None, (self.key, current)), *self.connection.secrets]

    async def current_key(self) -> SecretStr | None:
        """Return the key of the next request."""
        return await self.key_source.key() if self.key_source else self.key

    def authorization(self, key: SecretStr | None) -> Authorization:
        """Return what adds a key, the headers and the query to a request."""
        return Authorization(self.connection, *auth_header(self.connection.auth), key)

    def _connect_failure(self, error: Exception, limit: float) -> Exception:
        import httpx  # noqa: PLC0415 - the network loads when it is first used

        if isinstance(error, httpx.ConnectTimeout):
            seconds = self.timeouts.connect
            fix = "Start it, or choose another model." if self._is_local else "Check the address and the network."
            return _Retryable(TimedOut(f"{self.label} did not answer within {seconds:g} s.", fix=fix))
        if isinstance(error, TimeoutError):
            return TimedOut(f"{self.label} sent no data for {limit:g} s.", fix="Try again later.")
        if isinstance(error, httpx.ConnectError | httpx.ProxyError):
            failure, can_retry = self._connect_error(error)
            return _Retryable(failure) if can_retry else failure
        if is_certificate_required(error):
            return self._connect_error(error)[0]
        is_tls = self.base_url.startswith("https:") and not self.connection.client_certificate
        return _Retryable(disconnect_error(error, self.label, may_lack_certificate=is_tls))

    def _connect_error(self, error: Exception) -> tuple[WireError, bool]:
        proxy = self.connection.proxy
        return connect_error(error, self.label, self.base_url, proxy=proxy.get_secret_value() if proxy else "")

    @property
    def _is_local(self) -> bool:
        return is_loopback(parse_server_url(self.base_url).host)

    async def _error_response(self, response: httpx.Response) -> Exception:
        """Read an error response, within limits, and return its error."""
        status = response.status_code
        if status < 400:
            location = _host_of(response.headers.get("location", ""))
            return ProviderError(
                f"{self.label} answered {status}, a redirect to {location}; redirects are not followed.",
                fix="Set the server's final address.",
                status=status,
            )
        body = await _error_body(response, self.label)
        error = error_from_response(status, response.headers, body, label=self.label)
        is_spent = any(code in f"{error.code} {error.type}".lower() for code in QUOTA_CODES)
        is_final = is_spent or isinstance(error, _NEVER_RETRIED)
        return _Retryable(error) if is_retryable(status, response.headers) and not is_final else error


def _parse_base_url(base_url: str) -> ServerUrl:
    """Parse the address of an endpoint, which must have a scheme."""
    if "://" not in base_url:
        raise BadUsage("Invalid server address: it has no scheme.", fix="Write it as https://host/v1.")
    try:
        return parse_server_url(base_url)
    except BadUsage as error:
        raise BadUsage(f"Invalid server address: {error.message}", fix=error.fix) from None


def _host_of(location: str) -> str:
    try:
        return parse_server_url(location, may_have_query=True).netloc if "://" in location else "elsewhere"
    except BadUsage:
        return "elsewhere"


def is_refused_key(error: Exception) -> bool:
    """Whether a server answered 401, so that another key may be accepted."""
    return isinstance(error, AuthenticationFailed) and error.status == 401


class _Retryable(Exception):
    """An error after which the same request may succeed."""

    def __init__(self, error: WireError) -> None:
        super().__init__(str(error))
        self.error = error


def _decode(decoder: Decoder, chunk: bytes) -> list[Delta]:
    """Decode a chunk, and mark the errors in a stream after which the request may be retried."""
    try:
        return coalesce(decoder.feed(chunk))
    except (ServerOverloaded, RateLimited) as error:
        raise _Retryable(error) from None


async def _in_parts(batches: AsyncGenerator[list[Delta], None], prefix: str) -> AsyncGenerator[list[Delta], None]:
    """Yield large batches of deltas in parts, and return control to the loop in between."""
    async with aclosing(batches):
        async for batch in batches:
            if batch and isinstance(batch[-1], ReplyEnd):
                batch[-1].prefix = prefix
            for start in range(0, len(batch), AT_ONCE):
                yield batch[start : start + AT_ONCE]
                if start + AT_ONCE < len(batch):
                    await asyncio.sleep(0)


async def _decoded(decode: Callable[[], list[Delta]], size: int) -> list[Delta]:
    """Decode small chunks on the loop, and large ones in a thread, so that a cancel is handled in time."""
    if size <= LARGE:
        return decode()
    outcome = await run_in_worker(decode)
    if outcome.error:
        raise outcome.error
    deltas: list[Delta] = outcome.value
    return deltas


def _encode_body(request: Request) -> tuple[bytes, str]:
    """Return the body of a request and its content type: JSON, or a form if it has uploads."""
    if request.uploads:
        return encode_multipart(request)
    try:
        try:
            body = _dump_json(request.body)
        except ValueError:  # a reply that is sent back may contain a number without a JSON form
            finite_messages = {
                name: _replace_non_finite(value)
                for name, value in request.body.items()
                if name in ("messages", "input", "contents")
            }
            body = _dump_json({**request.body, **finite_messages})
        return body.encode(), "application/json"
    except (TypeError, ValueError) as error:
        raise BadUsage(f"The request cannot be encoded as JSON ({error}).", fix="Check options and schemas.") from None


def _dump_json(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _replace_non_finite(value: Any) -> Any:
    """Replace `NaN` and infinite numbers in a JSON value by null."""
    if isinstance(value, list):
        return [_replace_non_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _replace_non_finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


async def _error_body(response: httpx.Response, label: str) -> bytes:
    body = bytearray()
    with suppress(Exception):  # the body is optional: the status is already known
        async with asyncio.timeout(ERROR_SECONDS):
            async for chunk in read_body(response, MAX_ERROR_BODY, label):
                body += chunk
    return bytes(body)
