"""The facts about models that ship with nbtool, each with its date: default models and announced shutdowns."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MAX_NAME = 500
"""Maximum length of a model's name; nothing is known of a longer one, and in a list it is skipped."""

_FILE = Path(__file__).with_name("models.toml")


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """How the default model of a provider is chosen: `patterns` rank the listed ones, best first."""

    fallback: str = ""
    patterns: tuple[re.Pattern[str], ...] = ()

    def choose(self, names: Iterable[str]) -> str:
        """Return the best of the listed models: of the first pattern that matches, the highest version.

        Without a match it is the fallback.
        """
        listed = list(names)
        for pattern in self.patterns:
            matches = [match for name in listed if (match := pattern.fullmatch(name))]
            if matches:
                return max(matches, key=_version)[0]
        return self.fallback


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The announced last day of a model."""

    provider: str
    model: re.Pattern[str]
    day: dt.date
    replacement: str = ""


@dataclass(frozen=True, slots=True)
class ModelData:
    """The contents of the data file."""

    date: dt.date
    defaults: dict[str, DefaultModel]
    shutdowns: tuple[Shutdown, ...]
    thinks_by_default: re.Pattern[str]
    searches_tools: dict[str, re.Pattern[str]]
    batch_prices: dict[str, float]


@cache
def model_data() -> ModelData:
    """Return the facts about models that ship with nbtool."""
    data = tomllib.loads(_FILE.read_text("utf-8"))
    defaults = {
        name: DefaultModel(table["fallback"], tuple(map(re.compile, table["patterns"])))
        for name, table in data["defaults"].items()
    }
    shutdowns = tuple(
        Shutdown(row["provider"], re.compile(row["model"]), row["day"], row.get("replacement", ""))
        for row in data["shutdowns"]
    )
    searches = {name: re.compile(pattern) for name, pattern in data["searches_tools"].items()}
    factors = {name: part for name, part in data["batch_prices"].items() if isinstance(part, float)}
    return ModelData(data["date"], defaults, shutdowns, re.compile(data["thinks_by_default"]), searches, factors)


def find_shutdown(provider: str, model: str) -> Shutdown | None:
    """Return the announced shutdown of a model: the one in its provider's list, else the one in the data file."""
    rows = model_data().shutdowns if len(model) <= MAX_NAME else ()
    return next((row for row in rows if row.provider == provider and row.model.fullmatch(model)), None)


def default_model_of(provider: str, names: Iterable[str] = ()) -> str:
    """Return the default model of a provider, of the models that it lists; empty if it has none."""
    default = model_data().defaults.get(provider)
    return default.choose(names) if default else ""


def _version(match: re.Match[str]) -> list[float]:
    """Return the groups of a match as decimal numbers: grok-4.20 is older than grok-4.7."""
    return [float(group.replace("-", ".")) for group in match.groups() if group]
