"""The reply of the practice model to a request, whatever carries it: a socket, or this process itself."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from nbtool.practice.chat_completions import (
    MODELS,
    RequestRejected,
    complete_response,
    find_model,
    response_chunks,
    validate_request,
)
from nbtool.practice.pictures import image_response
from nbtool.practice.plan import make_plan
from nbtool.practice.prompted import parse_prompted
from nbtool.practice.request import parse_request


@dataclass(frozen=True, slots=True)
class JsonReply:
    """One JSON object."""

    status: int
    body: dict[str, Any]

    @property
    def data(self) -> bytes:
        """The body as it is sent."""
        return json.dumps(self.body).encode()


@dataclass(frozen=True, slots=True)
class StreamReply:
    """Server-sent events, each with the seconds to wait before it."""

    events: Iterator[tuple[float, bytes]]


def reply_to(method: str, path: str, data: bytes) -> JsonReply | StreamReply:
    """Return the reply to a request whose key was checked."""
    try:
        match method, path.partition("?")[0]:
            case "GET", "/v1/models":
                models = [{"id": name, "object": "model", "created": 0, "owned_by": "nbtool"} for name in MODELS]
                return JsonReply(200, {"object": "list", "data": models})
            case "POST", "/v1/chat/completions":
                return _chat_completion(data)
            case "POST", "/v1/images/generations":
                return _image_generation(data)
            case _:
                raise RequestRejected(404, f"Invalid URL ({method} {path})")
    except RequestRejected as rejected:
        return JsonReply(rejected.status, rejected.body)


def check_key(authorization: str, key: str) -> None:
    """Check the header `Authorization`.

    Raises:
        RequestRejected: it has not the key.
    """
    if not hmac.compare_digest(authorization.encode(), f"Bearer {key}".encode()):
        raise RequestRejected(401, "Incorrect API key provided.", code="invalid_api_key")


def _chat_completion(data: bytes) -> JsonReply | StreamReply:
    try:
        body = json.loads(data)
        model = validate_request(body)
        prompted = parse_prompted(body)
        reply = make_plan(parse_request(prompted.body))
    except (ValueError, RecursionError) as error:
        raise RequestRejected(400, f"We could not parse the JSON body of your request: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise RequestRejected(400, f"A field is missing or of the wrong type: {error}") from error
    if not (model.thinks_always or (model.thinks_before_calls and reply.calls)):
        reply = replace(reply, thinking="")
    reply = prompted.render_plan(reply)
    if body.get("stream"):
        return StreamReply(_events(model.chars_per_second, response_chunks(body, reply)))
    return JsonReply(200, complete_response(body, reply))


def _image_generation(data: bytes) -> JsonReply:
    try:
        body = json.loads(data)
        if not find_model(body).makes_images:
            raise RequestRejected(400, f"{body['model']} does not generate images.", param="model")
        return JsonReply(200, image_response(body))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise RequestRejected(400, f"We could not read your request: {error}") from error


def _events(chars_per_second: float, chunks: Iterator[tuple[dict[str, Any], int]]) -> Iterator[tuple[float, bytes]]:
    """Yield one `data:` line for each chunk, at the given speed."""
    for chunk, size in chunks:
        yield (size / chars_per_second if chars_per_second else 0.0), f"data: {json.dumps(chunk)}\n\n".encode()
    yield 0.0, b"data: [DONE]\n\n"
