"""Conversations with a provider's double, and what share of their requests is read from the provider's prompt cache."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from nbtool import Chat, tool
from nbtool.chat.prompt_context import HistoryMode
from tests.providers.behaviour import TEXT_DIALECTS
from tests.providers.conversations import LABELS
from tests.providers.prompt_cache import CacheUse, measure_cache, share_after_first
from tests.providers.replies import Answer
from tests.providers.simulator import simulate
from tests.wire.process_state import clear_adaptations

PAGE = Path(__file__).parents[2] / "docs" / "history.md"
BEGIN, END = "<!-- cache table: make bench BENCH=behaviours -->\n", "<!-- end of table -->\n"

PROVIDERS = {"anthropic": "anthropic", "gemini": "google"}
TOOL_MODES = ("native", "prompted")
MODES: tuple[HistoryMode, ...] = tuple(mode for mode in get_args(HistoryMode) if mode != "none")
REQUESTS = TURNS = 10
SYSTEM = "Answer in the terms of the field, with figures. " * 400
"""About 5,000 tokens, as a system text with rules and examples has: more than the minimum of every cache."""

RESULT = 1_500
"""Characters of a result."""


@cache
def uses_of(wire: str, tool_mode: str, mode: HistoryMode | None, result_size: int = RESULT) -> list[CacheUse]:
    """Return the cache use of ten turns with a call each, or of one turn of ten requests if `mode` is None.

    The last of the ten requests is the one for a final reply.
    """

    @tool(run="auto")
    def look_up(page: int) -> str:
        "Look a page up."
        return random.Random(page).randbytes(result_size // 2).hex()

    clear_adaptations()
    pages = range(TURNS if mode else REQUESTS - 1)
    with simulate(PROVIDERS.get(wire, "any"), *_answers(tool_mode, pages, mode), behaviours=[]) as provider:
        chat: Any = Chat(
            "m", base_url=provider.url, api_key=provider.key, wire=wire, tools=[look_up], history=mode or "compact",
            system=SYSTEM, tool_mode=tool_mode, tool_format="hermes" if tool_mode == "prompted" else None,
            max_rounds=REQUESTS,
        )  # fmt: skip
        chat.expose(**{f"frame_{at}": pd.DataFrame({f"column_{n}": [1] for n in range(30)}) for at in range(10)})
        turns = [chat.send(f"Look up page {at}.") for at in range(TURNS if mode else 1)]
    assert {turn.status for turn in turns} == {"completed"}
    assert len(provider.bodies) == (2 * TURNS if mode else REQUESTS), provider.refused
    return measure_cache(wire, provider.bodies)


def _answers(tool_mode: str, pages: range, mode: HistoryMode | None) -> Iterator[Answer]:
    answer = Answer("That is what the page says. " * 10)
    for page in pages:
        if tool_mode == "native":
            yield Answer("", calls=(("look_up", {"page": page}),))
        else:
            yield Answer(f'<tool_call>\n{{"name": "look_up", "arguments": {{"page": {page}}}}}\n</tool_call>')
        if mode:
            yield answer
    if not mode:
        yield answer


def shares() -> dict[tuple[str, str], list[float]]:
    """Return the shares by dialect and way of calling tools: of ten requests, and of ten turns in each mode."""
    return {
        (wire, tool_mode): [share_after_first(uses_of(wire, tool_mode, mode)) for mode in (None, *MODES)]
        for wire in TEXT_DIALECTS
        for tool_mode in TOOL_MODES
    }


def cache_table() -> str:
    """Return the table of the page."""
    heads = ["wire", "tools", "ten requests", *(f"ten turns, `{mode}`" for mode in MODES)]
    rows = [f"| {' | '.join(heads)} |", f"|---|---|{'--:|' * (len(MODES) + 1)}"]
    for (wire, tool_mode), values in shares().items():
        where = "in the request" if tool_mode == "native" else "in the prompt"
        rows.append(f"| {LABELS[wire]} | {where} | {' | '.join(f'{value:.0%}' for value in values)} |")
    return "\n".join([*rows, "", f"Measured on {dt.datetime.now().astimezone():%Y-%m-%d}."])


def write_cache_table() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{cache_table()}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def written_shares() -> list[list[float]]:
    """Return the shares in the table of the page, by row."""
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if "%" in line]
    return [[int(cell.removesuffix("%")) / 100 for cell in row[2:]] for row in rows]
