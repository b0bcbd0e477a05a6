"""The HTTP endpoint: a wire, an address and a key; a prompt is sent in one HTTP exchange, or retried in several."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nbtool.errors import AuthenticationFailed, BadUsage, IncompleteReply, MissingKey, WireError
from nbtool.events import Delta, ReplyEnd, Retrying, UsageDelta
from nbtool.server_url import ServerUrl, parse_server_url
from nbtool.wire.base import Decoder, LimitObserver, Prompt, Request, Retries, Target, Wire
from nbtool.wire.framing.json_payloads import MAX_BODY_BYTES
from nbtool.wire.framing.redaction import redact_error
from nbtool.wire.providers.connection import Connection, auth_header
from nbtool.wire.providers.provider_tools import with_provider_tools
from nbtool.wire.transport.errors.error_hints import find_fix
from nbtool.wire.transport.http_exchange import HttpExchange, Retryable
from nbtool.wire.transport.models.model_list import fetch_model_list
from nbtool.wire.transport.request.authorization import Authorization
from nbtool.wire.transport.request.body_encoding import encode_body
from nbtool.wire.transport.request.expiring_keys import KeySource
from nbtool.wire.transport.response.cooperative_decoding import pass_on
from nbtool.wire.transport.retry import RetryPolicy, Timeouts

if TYPE_CHECKING:
    from nbtool.secret import Secret

HINT_SECONDS = 3.0
"""Time limit for listing the models for the error about an unknown model."""


@dataclass(frozen=True)
class HttpEndpoint:
    """A model behind a wire; see `nbtool.wire.base.Endpoint`.

    The key, and the headers and query of `connection`, are sent to `base_url` only: redirects are not followed.
    `key_source` returns keys that expire. The provider runs `provider_tools` for a prompt that sets none. `retries`
    decides about each retry; there is none once a delta of the reply was yielded.
    """

    wire: Wire
    base_url: str
    model: str
    provider: str = ""
    is_own_host: bool = False
    key: Secret | None = None
    key_from: str = ""
    key_source: KeySource | None = None
    connection: Connection = field(default_factory=Connection)
    provider_tools: tuple[str | dict[str, Any], ...] | None = None
    abilities: frozenset[str] = frozenset()
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=RetryPolicy)
    max_reply_bytes: int = MAX_BODY_BYTES

    def __post_init__(self) -> None:
        url = _parse_base_url(self.base_url)
        has_key = bool(self.key and self.key.get_secret_value()) or self.key_source is not None
        if has_key or self.connection.carries_secrets:
            what = "The key is" if has_key else "Headers and query are"
            if not url.may_carry_key:
                raise MissingKey(
                    f"{what} not sent to {url.host} over plain HTTP.",
                    fix="Use https://…, or a tunnel through localhost, or no key.",
                )
            if url.scheme == "http" and self.connection.has_remote_proxy:
                raise MissingKey(
                    f"{what} not sent to {url.host} over plain HTTP through a proxy on another machine.",
                    fix="Remove the setting `proxy`.",
                )
        if self.key and not _is_header_text(self.key):  # no frame of the error holds the key itself
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

    def with_retries(self, retries: Retries) -> HttpEndpoint:
        """Return the same endpoint with other retries, without the checks of a new one."""
        other = copy(self)
        vars(other)["retries"] = retries
        return other

    async def list_models(self) -> list[str]:
        """Return the names of the server's models, within a short time limit: an error message waits for them."""
        return await fetch_model_list(self, seconds=HINT_SECONDS)

    def preview(self, prompt: Prompt) -> Request:
        """Return the request that `stream` would send, without sending it."""
        options = with_provider_tools(prompt.options, self.provider_tools)
        return self.wire.encode(replace(prompt, options=options), self.target)

    def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Send a prompt and yield the deltas of the reply as they arrive.

        Raises:
            nbtool.errors.WireError: see its subclasses.
            nbtool.errors.ModelError: the prompt cannot be encoded in the dialect.
        """
        return pass_on(self.batches(prompt))

    async def batches(self, prompt: Prompt) -> AsyncGenerator[list[Delta], None]:
        """Send a prompt and yield the deltas of the reply as `stream` does, together those that arrive together."""
        sent = self._encode(prompt)
        count, is_renewed = 0, False
        resumed: Decoder | None = None  # of a reply that goes on in a further request, with these fields
        fields: Mapping[str, Any] = {}
        while True:
            count, has_output = count + 1, False
            key = await self.current_key()
            decoder = deepcopy(resumed) or self.wire.decoder(stream=sent[0].stream)
            failure: WireError
            try:
                async with aclosing(self._exchange(decoder, *sent, key).batches()) as batches:
                    async for batch in batches:
                        has_output = has_output or not all(isinstance(delta, UsageDelta) for delta in batch)
                        if isinstance(batch[-1], ReplyEnd):
                            batch[-1].prefix = sent[0].prefix
                        yield batch
                if not (fields := decoder.continuation):
                    return
                decoder.resume()
                sent, resumed, count = self._encode(prompt, fields), decoder, 0
                continue
            except Retryable as retryable:
                failure = self._sanitized(retryable.error)
                delay = None if has_output else self.retries.delay_after(failure, count)
                sent = self._encode_again(failure, prompt, fields) or sent
            except WireError as error:
                failure = self._sanitized(error)
                delay = None if is_renewed else self._renew_key(error, key)
                is_renewed = delay is not None
            if delay is None:
                raise self._sanitized(failure.changed(fix=await find_fix(failure, prompt, self)))
            yield [Retrying(count, delay, failure.message)]
            await self.retries.wait(delay)

    def _encode_again(
        self, failure: WireError, prompt: Prompt, fields: Mapping[str, Any]
    ) -> tuple[Request, bytes] | None:
        """Encode an unstreamed request if the failure came after the headers: only its reply can contain the reason."""
        is_silent = isinstance(failure, IncompleteReply)
        return self._encode(replace(prompt, stream=False), fields) if is_silent else None

    def _encode(self, prompt: Prompt, continuation: Mapping[str, Any] | None = None) -> tuple[Request, bytes]:
        request = self.preview(prompt)
        request = replace(request, body={**request.body, **(continuation or {})})
        content, content_type = encode_body(request)
        return replace(request, headers={"content-type": content_type, **request.headers}), content

    def _exchange(self, decoder: Decoder, request: Request, content: bytes, key: Secret | None) -> HttpExchange:
        return HttpExchange(
            decoder,
            self.base_url,
            self.label,
            self.connection,
            self.timeouts,
            request,
            content,
            self.authorization(key),
            self.max_reply_bytes,
            self._note_headers,
        )

    def _note_headers(self, headers: Mapping[str, str]) -> None:
        if isinstance(self.retries, LimitObserver):
            self.retries.note_headers(self.host, self.model, headers)

    def _sanitized(self, error: WireError) -> WireError:
        """Return the error with its source, and without what gives access to the server."""
        return redact_error(error.with_source(self.label), self.secrets)

    def _renew_key(self, error: WireError, refused: Secret | None) -> float | None:
        """Discard a key that the server refused; return the seconds before the next attempt, None if there is none."""
        if self.key_source is None or not is_refused_key(error):
            return None
        self.key_source.discard(refused)
        return 0.0

    @property
    def secrets(self) -> list[Secret]:
        """All values that no text may contain: the key, headers, query, and credentials of a proxy."""
        issued = self.key_source.issued if self.key_source else ()
        return [*filter(None, (self.key, *issued)), *self.connection.secrets]

    async def current_key(self) -> Secret | None:
        """Return the key of the next request."""
        return await self.key_source.key() if self.key_source else self.key

    def authorization(self, key: Secret | None) -> Authorization:
        """Return what adds a key, the headers and the query to a request."""
        return Authorization(self.connection, *auth_header(self.connection.auth), key)


def _parse_base_url(base_url: str) -> ServerUrl:
    """Parse the address of an endpoint, which must have a scheme."""
    if "://" not in base_url:
        raise BadUsage("Invalid server address: it has no scheme.", fix="Write it as https://host/v1.")
    try:
        return parse_server_url(base_url)
    except BadUsage as error:
        raise BadUsage(f"Invalid server address: {error.message}", fix=error.fix) from None


def _is_header_text(key: Secret) -> bool:
    text = key.get_secret_value()
    return text.isascii() and text.isprintable()


def is_refused_key(error: Exception) -> bool:
    """Whether a server answered 401, so that another key may be accepted."""
    return isinstance(error, AuthenticationFailed) and error.status == 401
