"""The models that providers listed lately, and the dialects that models want: a file in nbtool's data folder.

It holds nothing that cannot be asked again, so every failure to read or write it is ignored.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from nbtool.errors import SettingsError
from nbtool.files import replace_file
from nbtool.settings import data_dir
from nbtool.wire.providers.listed_model import ListedModel

CACHE_FILE = "models.json"

FRESH_SECONDS = 24 * 3600
"""How long a list of models is used before it is fetched again."""

MAX_CACHE = 8 * 1024 * 1024
"""Maximum size of the file in bytes; a larger one is ignored and replaced."""


def cached_models(provider: str) -> list[ListedModel] | None:
    """Return the models that a provider listed within the last day; None if it did not."""
    entry = _section("lists").get(provider)
    if not isinstance(entry, dict) or not _is_fresh(entry.get("time")):
        return None
    rows = entry.get("models")
    return [model for row in rows if (model := _load(row))] if isinstance(rows, list) else None


def cached_names(provider: str) -> list[str]:
    """Return the names of the models that a provider listed within the last day; empty if it did not."""
    return [model.name for model in cached_models(provider) or ()]


def cache_models(provider: str, models: Iterable[ListedModel]) -> None:
    """Store the models that a provider lists now."""
    rows = [[model.name, model.context, str(model.shutdown or ""), list(model.abilities)] for model in models]
    _update("lists", provider, {"time": time.time(), "models": rows})


def cached_wire(host: str, model: str) -> str:
    """Return the dialect that a model wants instead of the default one; empty if none is known."""
    wire = _section("wires").get(f"{host} {model}")
    return wire if isinstance(wire, str) else ""


def cache_wire(host: str, model: str, wire: str) -> None:
    """Store the dialect that a model wants."""
    _update("wires", f"{host} {model}", wire)


def _is_fresh(stored: Any) -> bool:
    return isinstance(stored, int | float) and 0 <= time.time() - stored < FRESH_SECONDS


def _load(row: Any) -> ListedModel | None:
    match row:
        case [str(name), int(context), str(shutdown), [*abilities]]:
            with suppress(ValueError):
                day = dt.date.fromisoformat(shutdown) if shutdown else None
                return ListedModel(name, context, day, tuple(map(str, abilities)))
    return None


def _section(name: str) -> dict[str, Any]:
    section = _read().get(name)
    return section if isinstance(section, dict) else {}


def _read() -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError, SettingsError):
        path = data_dir() / CACHE_FILE
        if path.stat().st_size <= MAX_CACHE:
            data = json.loads(path.read_text("utf-8"))
            return data if isinstance(data, dict) else {}
    return {}


def _update(section: str, key: str, value: Any) -> None:
    data = _read()
    entries = data.get(section)
    data[section] = {**(entries if isinstance(entries, dict) else {}), key: value}
    with suppress(OSError, SettingsError):
        path = data_dir() / CACHE_FILE
        replace_file(path, json.dumps(data, separators=(",", ":")).encode())
