from __future__ import annotations

from typing import Any

import pytest

from nbtool.errors import SettingsError
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.providers.catalog import BUILTIN, providers
from nbtool.wire.providers.model_kinds import kind_of
from nbtool.wire.providers.provider import Provider

NAMES = {
    "image": (
        "gpt-image-1", "gpt-image-1-mini", "chatgpt-image-latest", "qwen-image", "hunyuan-image-3",
        "gemini-2.5-flash-image", "grok-2-image-1212", "dall-e-3", "imagen-4.0-generate", "image",
        "black-forest-labs/FLUX.1-schnell", "stable-diffusion-3.5-large", "sdxl-turbo", "sd3-medium", "seedream-4-0",
        "cogview-4", "recraftv3", "ideogram-v3",
    ),
    "image-edit": ("qwen-image-edit", "Qwen/Qwen-Image-Edit-2511"),
    "transcription": (
        "whisper-1", "whisper-large-v3-turbo", "openai/whisper-large", "gpt-4o-transcribe", "gpt-4o-mini-transcribe",
        "qwen3-asr-flash", "parakeet-tdt-0.6b-v3",
    ),
    "speech": ("tts-1", "tts-1-hd", "gpt-4o-mini-tts", "playai-tts", "kokoro", "orpheus-3b"),
    "chat": (
        "gpt-5-mini", "gpt-4o-audio-preview", "gemini-2.5-flash", "influx", "settts", "imagine-7b", "llava",
        "claude-sonnet-4-5", "my-image", "asrael",
    ),
}  # fmt: skip


def test_a_model_is_known_by_its_name() -> None:
    found = {
        kind: tuple(name for name in names if kind_of(BUILTIN["openai"], name) == kind) for kind, names in NAMES.items()
    }

    assert found == NAMES


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
