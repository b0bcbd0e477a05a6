"""The HTTP status of an error that a server reports inside of a successful response.

A stream has begun with 200 when the model behind a gateway fails, so the error object alone says what happened: by a
number, by the name of its type in one of many spellings, or in the words that proxies write.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from nbtool.wire.framing.error_fields import ErrorFields

_LETTERS = re.compile(r"[^a-z]+")

_STEMS = {
    "unavailable": 503, "overload": 503, "busy": 503, "timeout": 504, "timedout": 504, "deadlineexceeded": 504,
    "badgateway": 502, "servererror": 500, "internalerror": 500, "internalserver": 500, "ratelimit": 429,
    "throttl": 429, "toomanyrequests": 429, "resourceexhausted": 429,
}  # fmt: skip
"""What the names of types and codes contain, in letters only: OpenAI's, Anthropic's, gRPC's, and those of clouds."""

_INTERNAL = "internal"
"""The whole name of one of gRPC's codes: https://grpc.io/docs/guides/status-codes."""

_PHRASES = {
    **{status.phrase.lower(): int(status) for status in HTTPStatus if status >= 500 and status not in (501, 505)},
    "no healthy upstream": 503, "upstream connect error": 503, "upstream request timeout": 504,
}  # fmt: skip
"""The phrases of the statuses (RFC 9110 section 15.6), and what Envoy writes."""


def status_in_error(fields: ErrorFields) -> int | None:
    """Return the status that an error object names: a client's or a server's by its number, else one to try again."""
    for name in (fields.code, fields.type):
        if name.isdecimal() and len(name) == 3 and 400 <= int(name) < 600:
            return int(name)
    for name in (fields.code, fields.type):
        letters = _LETTERS.sub("", name.lower())
        if letters == _INTERNAL:
            return 500
        if status := next((status for stem, status in _STEMS.items() if stem in letters), None):
            return status
    message = fields.message.lower()
    return next((status for phrase, status in _PHRASES.items() if phrase in message), None)
