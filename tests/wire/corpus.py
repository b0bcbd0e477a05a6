"""Recorded traffic of real providers, read where it lies; it is no part of the project.

`NBTOOL_CORPUS` names the folder; the default is `../shared/corpus/open` beside the repository.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(os.environ.get("NBTOOL_CORPUS") or Path(__file__).parents[3] / "shared/corpus/open")
MISSING = f"no recorded traffic in {FOLDER}: set NBTOOL_CORPUS to a corpus"

DIALECTS = ("chat", "responses", "anthropic", "gemini")


@dataclass(frozen=True)
class Recording:
    """One recorded answer and what a correct client makes of it."""

    row: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def wire(self) -> str:
        return str(self.row["wire"])

    @property
    def kind(self) -> str:
        return str(self.row["kind"])

    @property
    def is_stream(self) -> bool:
        return self.kind.startswith("stream")

    @cached_property
    def size(self) -> int:
        return (FOLDER / self.row["files"]["response"]).stat().st_size

    @cached_property
    def body(self) -> bytes:
        return (FOLDER / self.row["files"]["response"]).read_bytes()

    @property
    def expected(self) -> dict[str, Any]:
        expected: dict[str, Any] = json.loads((FOLDER / self.row["files"]["expected"]).read_bytes())
        return expected


@cache
def recordings() -> tuple[Recording, ...]:
    """Every item of the corpus; none where there is no corpus."""
    index = FOLDER / "index.jsonl"
    if not index.exists():
        return ()
    return tuple(Recording(json.loads(line)) for line in index.read_text("utf-8").splitlines())


def of_kind(*kinds: str, up_to: int | None = None, beyond: int | None = None) -> list[Any]:
    chosen = [item for item in recordings() if item.wire in DIALECTS and item.kind in kinds]
    return [
        pytest.param(item, id=item.id)
        for item in chosen
        if (up_to is None or item.size <= up_to) and (beyond is None or item.size > beyond)
    ]
