from __future__ import annotations

from typing import Any

import pytest

from nbtool.errors import SettingsError
from nbtool.wire.endpoints.connect import make_endpoint
from nbtool.wire.providers.catalog import BUILTIN, providers
from nbtool.wire.providers.model_kinds import kind_of
from nbtool.wire.providers.provider import Provider


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("gpt-image-1", "image"), ("gpt-image-1-mini", "image"), ("dall-e-3", "image"),
        ("imagen-4.0-generate", "image"), ("black-forest-labs/FLUX.1-schnell", "image"),
        ("gemini-2.5-flash-image", "image"), ("qwen-image", "image"), ("qwen-image-edit", "image-edit"),
        ("whisper-1", "transcription"), ("whisper-large-v3-turbo", "transcription"),
        ("openai/whisper-large", "transcription"), ("gpt-4o-transcribe", "transcription"),
        ("gpt-4o-mini-transcribe", "transcription"), ("tts-1", "speech"), ("tts-1-hd", "speech"),
        ("gpt-4o-mini-tts", "speech"), ("playai-tts", "speech"), ("kokoro", "speech"), ("gpt-5-mini", "chat"),
        ("gpt-4o-audio-preview", "chat"), ("gemini-2.5-flash", "chat"), ("influx", "chat"), ("settts", "chat"),
        ("imagine-7b", "chat"), ("llava", "chat"), ("claude-sonnet-4-5", "chat"),
    ],
)  # fmt: skip
def test_a_model_is_known_by_its_name(model: str, kind: str) -> None:
    assert kind_of(BUILTIN["openai"], model) == kind


def test_a_provider_can_say_of_which_kind_its_models_are() -> None:
    assert kind_of(Provider("lab", "http://h/v1", abilities=frozenset({"kind:speech"})), "voice-of-the-lab") == "speech"
    assert kind_of(BUILTIN["openrouter"], "google/gemini-2.5-flash-image") == "chat"


def test_the_settings_file_can_say_it_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    settings = tmp_path / "providers.toml"
    settings.write_text('[lab]\nbase_url = "http://127.0.0.1:9/v1"\nabilities = ["kind:image-edit"]\n')

    assert kind_of(providers()["lab"], "brush") == "image-edit"
    assert make_endpoint("lab:brush").dialect == "image-edit"

    settings.write_text('[lab]\nbase_url = "http://127.0.0.1:9/v1"\nabilities = ["kind:smell"]\n')
    with pytest.raises(SettingsError, match="unknown ability 'kind:smell'"):
        providers()


def test_a_wire_that_is_asked_for_wins_over_the_name() -> None:
    asked = make_endpoint("openai:gpt-image-1", base_url="http://127.0.0.1:9/v1", api_key="k", wire="chat")
    forced = make_endpoint("openai:sculptor", base_url="http://127.0.0.1:9/v1", api_key="k", wire="image")

    assert (asked.dialect, forced.dialect) == ("chat", "image")
