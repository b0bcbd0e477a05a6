"""The facts about models: which one is the default, and which one ends."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from nbtool.settings import data_dir
from nbtool.wire.providers.catalog import BUILTIN
from nbtool.wire.providers.listed_model import parse_listed_model
from nbtool.wire.providers.model_cache import cache_models, cache_wire, cached_models, cached_wire
from nbtool.wire.providers.model_data import default_model_of, find_shutdown, model_data
from nbtool.wire.transport.models.model_list import parse_models


@pytest.mark.parametrize(
    ("provider", "listed", "chosen"),
    [
        ("openai", ["gpt-4o", "gpt-5-mini", "gpt-6-terra", "gpt-6.1-terra", "gpt-6.1-sol"], "gpt-6.1-terra"),
        ("openai", ["gpt-10-terra", "gpt-9.5-terra"], "gpt-10-terra"),
        ("openai", ["gpt-8-mini", "gpt-7-mini", "gpt-realtime-mini", "whisper-1"], "gpt-8-mini"),
        ("anthropic", ["claude-sonnet-4-5-20250929", "claude-opus-5-5", "claude-sonnet-5-5"], "claude-sonnet-5-5"),
        ("anthropic", ["claude-sonnet-5", "claude-sonnet-4-6"], "claude-sonnet-5"),
        ("google", ["gemini-2.5-flash", "gemini-3.8-flash", "gemini-3.8-flash-tts"], "gemini-3.8-flash"),
        ("xai", ["grok-4-0709", "grok-4.7", "grok-4.20", "grok-code-fast-1"], "grok-4.7"),
        ("moonshot", ["kimi-k2.7-code", "kimi-k3", "kimi-k2.6"], "kimi-k3"),
        ("zai", ["GLM-5.3", "GLM-5.3-Flash", "GLM-4.7"], "GLM-5.3"),
    ],
)
def test_the_default_is_the_newest_listed_model_of_the_best_kind(provider: str, listed: list[str], chosen: str) -> None:
    assert default_model_of(provider, listed) == chosen


def test_without_a_known_model_in_the_list_the_default_is_the_one_that_ships() -> None:
    assert default_model_of("openai", ["babbage-002"]) == model_data().defaults["openai"].fallback
    assert default_model_of("openai") == model_data().defaults["openai"].fallback


def test_no_default_that_ships_had_ended_on_the_day_of_the_data() -> None:
    data = model_data()

    ended = {name: find_shutdown(name, default.fallback) for name, default in data.defaults.items()}

    assert {name: one for name, one in ended.items() if one} == {}


def test_every_default_that_ships_is_of_a_provider_and_matches_its_own_patterns() -> None:
    data = model_data()

    assert set(data.defaults) <= set(BUILTIN)
    assert {
        name: default.choose([default.fallback, "other"])
        for name, default in data.defaults.items()
        if default.choose([default.fallback, "other"]) != default.fallback
    } == {}


def test_an_announced_shutdown_is_found_by_provider_and_model() -> None:
    shutdown = find_shutdown("openai", "gpt-5-mini")

    assert shutdown is not None
    assert (shutdown.day, shutdown.replacement) == (dt.date(2026, 12, 11), "gpt-6.1-terra")
    assert find_shutdown("openai", "gpt-5") is None


@pytest.mark.parametrize(
    ("item", "context", "day", "abilities"),
    [
        ({"shutdown_date": "2026-12-11"}, 0, dt.date(2026, 12, 11), ()),
        ({"deprecation": "2026-08-16T00:00:00Z"}, 0, dt.date(2026, 8, 16), ()),
        ({"expiration_date": 1796083200}, 0, dt.date(2026, 12, 1), ()),
        ({"context_length": 131072, "supported_parameters": ["tools", "seed"]}, 131072, None, ("tools", "seed")),
        ({"max_model_len": 4096}, 4096, None, ()),
        ({"capabilities": {"function_calling": True, "vision": False}}, 0, None, ("function_calling",)),
        ({"capabilities": {"thinking": {"supported": True}}}, 0, None, ("thinking",)),
        ({"capabilities": "many", "context_length": "big", "shutdown_date": "soon"}, 0, None, ()),
        ({"context_length": True, "shutdown_date": 1e300}, 0, None, ()),
    ],
)
def test_what_a_provider_says_of_a_model_is_read_whatever_its_form(
    item: dict[str, object], context: int, day: dt.date | None, abilities: tuple[str, ...]
) -> None:
    model = parse_listed_model(item, "m")

    assert (model.context, model.shutdown, model.abilities) == (context, day, abilities)


def test_a_list_of_models_is_kept_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    models = parse_models(b'{"data": [{"id": "m", "shutdown_date": "2026-12-11", "context_length": 5}]}', "lab")
    now = 1_000_000.0
    monkeypatch.setattr("nbtool.wire.providers.model_cache.time.time", lambda: now)
    cache_models("lab", models)

    assert cached_models("lab") == models
    assert cached_models("other") is None
    now += 24 * 3600
    assert cached_models("lab") is None


@pytest.mark.parametrize("row", [5, [], ["m", "5", "", []], ["m", 5, "soon", []], ["m", 5, "", 7]])
def test_a_stored_model_that_is_none_is_passed_over(row: Any) -> None:
    cache_models("lab", [])
    path = data_dir() / "models.json"
    stored = json.loads(path.read_text())
    stored["lists"]["lab"]["models"] = [row, ["n", 6, "", ["tools"]]]
    path.write_text(json.dumps(stored))

    assert [model.name for model in cached_models("lab") or ()] == ["n"]


def test_the_dialect_that_a_model_wants_is_kept() -> None:
    cache_wire("api.example", "m", "responses")
    cache_wire("api.example", "n", "chat")

    assert [cached_wire("api.example", model) for model in ("m", "n", "o")] == ["responses", "chat", ""]


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "", "[]", "{", '{"lists": 5, "wires": []}', '{"lists": {"lab": {"time": "now"}}}']
)
def test_an_unreadable_cache_is_ignored_and_replaced(text: str) -> None:
    (data_dir() / "models.json").write_text(text)

    assert cached_models("lab") is None
    assert cached_wire("h", "m") == ""
    cache_wire("h", "m", "chat")
    assert cached_wire("h", "m") == "chat"
