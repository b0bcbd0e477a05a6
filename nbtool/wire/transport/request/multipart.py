"""Encode a request with files as `multipart/form-data` (RFC 7578)."""

from __future__ import annotations

import json
from typing import Any

from nbtool.errors import BadUsage
from nbtool.wire.base import Request

MAX_UPLOAD = 64 * 1024 * 1024
"""Maximum total size of the files of one request, in bytes."""


def encode_multipart(request: Request) -> tuple[bytes, str]:
    """Return the form with the fields and files of a request, and its content type.

    A list becomes one field per item; a value that is not a string is encoded as JSON.

    Raises:
        nbtool.errors.BadUsage: the files are too large, or a field cannot be encoded.
    """
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    size = sum(len(upload.data) for upload in request.uploads)
    if size > MAX_UPLOAD:
        raise BadUsage(
            f"The attached files have {size >> 20} MiB; the limit is {MAX_UPLOAD >> 20} MiB.", fix="Attach less."
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
        raise BadUsage(f"The request cannot be encoded as a form ({error}).", fix="Check the options.") from None
