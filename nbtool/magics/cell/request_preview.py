"""The request of a cell as `--dry-run` prints it: its length and price, who would get what, and the whole of it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from nbtool.blocks.labels import COST_UNKNOWN
from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat
from nbtool.magics.cell.first_departure import departing_parts
from nbtool.magics.notebook.cell_context import CHARACTERS_PER_TOKEN
from nbtool.messages import Media
from nbtool.text import count_of
from nbtool.wire.base import Request
from nbtool.wire.providers.model_prices import MILLION

FREE = "free"


def preview_lines(chat: Chat, request: Request, media: list[Media], *, earlier: int, cells: int) -> Iterator[str]:
    """Yield the lines about a request that was not sent; `earlier` turns and `cells` of the notebook are in it."""
    size = len(json.dumps(request.body, ensure_ascii=False))
    tokens = max(1, size // CHARACTERS_PER_TOKEN)
    yield (
        f"Nothing was sent. The request has {count_of(size, 'character')}, about {count_of(tokens, 'token')} "
        f"({_price(chat, tokens)})."
    )
    model = chat.model
    where = "in this kernel" if model.is_in_kernel else f"at {one_line(model.destination, 100)}"
    parts = "; ".join(departing_parts(chat, media, earlier=earlier, cells=cells))
    yield f"{one_line(model.name, 100)} {where} would get {parts}:"
    yield f"POST {model.address}{request.path}"
    yield json.dumps(request.body, indent=2, ensure_ascii=False)
    for upload in request.uploads:
        yield f"{upload.field_name}: {upload.filename} ({upload.mime}, {count_of(len(upload.data), 'byte')})"


def _price(chat: Chat, tokens: int) -> str:
    """Return what the request costs before its answer, and the price of that."""
    if chat.model.is_in_kernel:
        return FREE
    name = chat.model.name
    (price,) = chat.model.prices_of([name.partition(":")[2] or name])
    if price.input is None or price.output is None:
        return COST_UNKNOWN
    cost = tokens * price.input / MILLION
    return f"about ${cost:.4f}; the answer costs ${price.output:g} per million tokens"
