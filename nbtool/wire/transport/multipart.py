"""A request with files, written as a form: `multipart/form-data` (RFC 7578)."""

from __future__ import annotations

import json
from typing import Any

from nbtool.errors import BadUsage
from nbtool.wire.base import Request

MAX_UPLOAD = 64 * 1024 * 1024
"""Bytes of files that one request takes along at most."""


def encode_multipart(request: Request) -> tuple[bytes, str]:
    """Write the fields and files of a request; gives the bytes and their content type.

    A list becomes a field for each of its items; what is neither text nor number is written as JSON.

    Raises:
        nbtool.errors.BadUsage: the files are too large, or a field cannot be written.
    """
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    size = sum(len(upload.data) for upload in request.uploads)
    if size > MAX_UPLOAD:
        raise BadUsage(
            f"The attached files are {size >> 20} MiB; at most {MAX_UPLOAD >> 20} MiB are sent.", fix="Attach less."
        )
    fields = {name: _field(value) for name, value in request.body.items()}
    files = [(upload.field_name, (upload.filename, upload.data, upload.mime)) for upload in request.uploads]
    form = httpx.Request("POST", "http://form.invalid", data=fields, files=files)
    return form.read(), form.headers["content-type"]


def _field(value: Any) -> str | list[str]:
    return [_text(item) for item in value] if isinstance(value, list | tuple) else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadUsage(f"The request cannot be written as a form ({error}).", fix="Check the options.") from None
