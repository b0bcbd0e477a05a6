"""Map HTTP statuses and error objects of providers to the errors of `nbtool.errors`.

Providers differ in the status, too: one of them answers a wrong key with 400. So both the message and the status are
evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from nbtool.errors import (
    AuthenticationFailed,
    ContextTooLong,
    ModelNotFound,
    ProviderError,
    RateLimited,
    ServerOverloaded,
    ToolsNotSupported,
    WireNotSupported,
)
from nbtool.text import shorten
from nbtool.wire.framing.error_fields import ErrorFields, parse_error
from nbtool.wire.framing.error_status import status_in_error
from nbtool.wire.framing.redaction import excerpt
from nbtool.wire.framing.retry_delay import delay_in_error, retry_after, until_reset
from nbtool.wire.framing.tool_refusals import is_tool_refusal

_RETRYABLE = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same request may succeed."""

_NEVER_RETRIED = (
    AuthenticationFailed,
    ContextTooLong,
    ModelNotFound,
    ToolsNotSupported,
)  # with any status: some servers send 500

_NOT_IMPLEMENTED = frozenset({501, 505})
"""Statuses of a server that lacks what was requested: https://www.rfc-editor.org/rfc/rfc9110#section-15.6.2."""

MAX_ERROR_BODY = 64 * 1024
"""Maximum number of bytes read from the body of an error."""

MAX_MESSAGE = 500
"""Maximum length of a provider's message in an error, in characters."""

MAX_CODE = 200
"""Maximum number of characters of an error's code, type and parameter."""

_KEY_WORDS = ("api key", "api_key", "apikey", "authentication token", "credentials", "unauthorized", "x-api-key")
_REFUSED_WORDS = ("incorrect", "invalid", "not valid", "missing", "no cookie", "could not parse", "expired", "denied")
_CONTEXT_WORDS = (
    "context_length_exceeded", "maximum context length", "exceed_context_size", "context size", "context window",
    "context length", "prompt is too long", "prompt too long", "too_many_prompt_tokens", "too many tokens",
    "input token count", "total length of all messages", "maximum number of tokens", "input is too long",
    "request too large", "reduce the length of the messages",
)  # fmt: skip
_MODEL_WORDS = (
    "model_not_found", "model not found", "deploymentnotfound", "is not a valid model", "unknown model",
    "supported api model names", "invalid model", "no such model", "model does not exist", "invalid_model",
    "model_decommissioned", "model_not_available", "is not supported by any provider", "not found for account",
    "no models loaded",
)  # fmt: skip
_API_NAME = r"(?:v1/chat/completions|v1/responses|chat completions|responses api)"
_WIRE_WORDS = re.compile(
    rf"only (?:supported|available) (?:in|with|on|via|through|over) (?:the )?/?{_API_NAME}"
    rf"|\buse (?:the )?/?(?:v1/responses|responses api)"
    rf"|does not support the ['\"`]?/?{_API_NAME}['\"`]?(?: api)?"
)
"""Refusals that name the other API: https://developers.openai.com/api/docs/guides/responses-vs-chat-completions."""

_TEXT_COMPLETIONS_WORDS = ("use v1/completions",)
_NOT_SUPPORTED = [
    re.compile(words)
    for words in (r"not (?:supported|available|enabled)", r" (?:in|with|on|by|via|for|over) ", _API_NAME)
]
"""What a sentence contains, one behind the other, that refuses a model in an API."""

_BUSY_WORDS = ("overloaded", "over capacity", "capacity exceeded", "server is busy", "temporarily unavailable")
_RATE_WORDS = ("rate_limit", "rate limit", "ratelimit", "insufficient_quota", "quota", "too many requests")

_FRAMEWORK_MESSAGES = frozenset(
    {"not found", "404 not found", "404 page not found", "method not allowed", "no route matched", "not implemented"}
)
"""Default messages of web frameworks for an unknown path."""

_EVENT_DATA = re.compile(rb"^data:(.*)$", re.MULTILINE)

NO_DATABASE = "no_db_connection"
"""The type of the 400 with which a LiteLLM proxy without a database answers every key but its master key."""

QUOTA_CODES = ("insufficient_quota", "billing", "credit", "payment")
"""Substrings of error codes for which waiting does not help."""

_CREDIT_WORDS = ("insufficient balance", "credit balance is too low", "余额不足")
"""What providers say of an account without credit whose code does not say it."""

_FIXES: dict[type[ProviderError], str] = {
    AuthenticationFailed: "Use a valid key for this server.",
    ModelNotFound: "`%chat models` lists the models that this provider offers.",
    RateLimited: "Wait, or choose another model.",
    ContextTooLong: "Start a new chat, expose large values by reference, or choose a model with a larger context.",
    ToolsNotSupported: "Use `--set tool_mode=prompted`, or a model that supports tool calling.",
    ServerOverloaded: "Try again later, or choose another model.",
    WireNotSupported: "Use `--set wire=responses`, or `--set wire=chat`.",
}


def provider_error(
    payload: Any,
    *,
    status: int | None = None,
    label: str = "",
    retry_after: float | None = None,
    has_message: bool = False,
) -> ProviderError:
    """Return the error for an error object, with or without an HTTP status.

    `label` is provider and host, as in `openai (api.openai.com)`; in a decoder it is empty, and the endpoint sets it.
    If the provider `has_message` for a 404, no fix for the address is suggested. Everything that looks like a key is
    redacted in the message.
    """
    fields = parse_error(payload)
    reported = status_in_error(fields) if status is None else status
    error_class = _error_class(reported, fields)
    message = excerpt(fields.message or fields.code or fields.type, limit=MAX_MESSAGE) or "no reason given"
    answered = f"answered {status}" if status else "reported an error"
    return error_class(
        f"{answered}: {message if message[-1] in '.!?…' else f'{message}.'}",
        fix=_fix(error_class, fields, status, has_message=has_message),
        status=status,
        code=shorten(fields.code, MAX_CODE) or None,
        type=shorten(fields.type, MAX_CODE) or None,
        retry_after=delay_in_error(payload) if status is None else retry_after,
        param=shorten(fields.param, MAX_CODE) or None,
        source=label,
    )


def error_in_body(payload: Any) -> ProviderError | None:
    """Return the error in a reply's body, with or without a wrapper; None if it contains none."""
    return provider_error(payload) if parse_error(payload).message else None


def error_from_response(status: int, headers: Mapping[str, str], body: bytes, *, label: str = "") -> ProviderError:
    """Return the error for a status other than 2xx; the body may be JSON, an event, HTML, text or empty."""
    payload = _json(body) or next(filter(None, map(_json, _EVENT_DATA.findall(body))), None)
    message = parse_error(payload).message.lower().strip(" .!")
    has_message = bool(message) and message not in _FRAMEWORK_MESSAGES and status != 402
    if not parse_error(payload).joined.strip():
        payload = excerpt(body) or None
    delay = retry_after(headers)
    if delay is None and status in (429, 503):
        delay = until_reset(headers)
        delay = delay_in_error(payload) if delay is None else delay
    return provider_error(payload, status=status, label=label, retry_after=delay, has_message=has_message)


def can_retry(error: ProviderError, headers: Mapping[str, str] | None = None) -> bool:
    """Whether the same request may succeed later, after a refusal or an error in a stream."""
    if isinstance(error, _NEVER_RETRIED) or is_out_of_credit(error):
        return False
    if error.status is None:
        reported = status_in_error(ErrorFields("", error.code or "", error.type or ""))
        return isinstance(error, ServerOverloaded | RateLimited) or reported in _RETRYABLE
    return is_retryable(error.status, headers or {})


def is_retryable(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a status allows another attempt; the provider's `x-should-retry` header takes precedence."""
    match headers.get("x-should-retry", "").lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            return status in _RETRYABLE or _is_overload(status)


def _is_overload(status: int) -> bool:
    return status >= 500 and status not in _NOT_IMPLEMENTED


def _json(data: bytes) -> Any:
    try:
        return from_json(data.strip())
    except ValueError:
        return None


def _is_wire_refusal(message: str) -> bool:
    """Whether a message names the other API, and not the one of text completions, which has no dialect here."""
    if _WIRE_WORDS.search(message):
        return True
    return not _contains_any(message, _TEXT_COMPLETIONS_WORDS) and any(map(_refuses_api, message.split(".")))


def _refuses_api(sentence: str) -> bool:
    position = 0
    for pattern in _NOT_SUPPORTED:
        found = pattern.search(sentence, position)
        if found is None:
            return False
        position = found.end()
    return True


def _error_class(status: int | None, fields: ErrorFields) -> type[ProviderError]:
    message = fields.joined
    if status in (400, 404, 422) and _is_wire_refusal(message):
        return WireNotSupported
    if is_tool_refusal(status, message):
        return ToolsNotSupported
    if _contains_any(message, _CONTEXT_WORDS) and status not in (401, 403, 429):
        return ContextTooLong
    if (
        status in (401, 403)
        or fields.type == NO_DATABASE
        or (_contains_any(message, _KEY_WORDS) and _contains_any(message, _REFUSED_WORDS))
        or "authentication" in message
    ):
        return AuthenticationFailed
    if _contains_any(message, _MODEL_WORDS) or (status in (400, 404, None) and _is_missing_model(message)):
        return ModelNotFound
    if status == 429 or _contains_any(message, _RATE_WORDS):
        return RateLimited
    if (status is not None and _is_overload(status)) or _contains_any(message, _BUSY_WORDS):
        return ServerOverloaded
    return ProviderError


def is_out_of_credit(error: ProviderError | ErrorFields) -> bool:
    """Whether an error says that the account has no credit left, so that waiting does not help."""
    codes = f"{error.code} {error.type}".lower()
    return any(code in codes for code in QUOTA_CODES) or _contains_any(error.message.lower(), _CREDIT_WORDS)


def _fix(kind: type[ProviderError], fields: ErrorFields, status: int | None, *, has_message: bool) -> str:
    """Return the fix: billing for an exhausted account, the address for an unknown path, else that of the class."""
    if status == 402 or is_out_of_credit(fields):
        return "The account has no credit left: see the provider's billing page, or choose another model."
    if kind is ProviderError and status in (404, 405, 501) and not has_message:
        return "Unknown path: check the address (most end in /v1) and the dialect (`--set wire=NAME`)."
    return _FIXES.get(kind, "")


def _is_missing_model(message: str) -> bool:
    return "model" in message and _contains_any(message, ("not found", "does not exist", "not_found"))


def _contains_any(text: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in text for phrase in phrases)
