"""Which models make images or sound in place of a conversation: names and what they say of a model, as data."""

from __future__ import annotations

import re
from typing import Literal

from nbtool.wire.providers.catalog import KIND_PREFIX, Provider

Kind = Literal["chat", "image", "image-edit", "transcription", "speech"]

MEDIA_KINDS: dict[str, str] = {
    "image": "makes images",
    "image-edit": "edits images",
    "transcription": "writes down what is said",
    "speech": "reads text aloud",
}
"""The kinds that are no chat, each the name of its wire, and what a model of it does."""

_NAMES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("transcription", re.compile(r"(^|-)whisper|transcribe|(^|-)asr(-|$)|^parakeet")),
    ("speech", re.compile(r"(^|-)tts(-|$)|^kokoro|^orpheus")),
    ("image-edit", re.compile(r"image-edit")),
    (
        "image",
        re.compile(
            r"^image$|^(gpt|chatgpt|qwen|hunyuan)-image|^(gemini|grok)-.*image|^dall-e|^imagen|(^|-)flux([.\d-]|$)"
            r"|^stable-diffusion|^sdxl|^sd3|^seedream|^cogview|^recraft|^ideogram"
        ),
    ),
)
"""Tried in this order on a model's name, in lower case and without what stands before its last `/`."""

_GENERATE_ONLY = re.compile(r"^dall-e-3|^imagen")
_WANTS_BASE64 = re.compile(r"^dall-e|^imagen|^gemini-|^grok-")


def kind_of(provider: Provider, model: str) -> Kind:
    """Say what a model does: what its provider's `kind:…` ability says, or else its name."""
    for ability in sorted(provider.abilities):
        if ability.startswith(KIND_PREFIX):
            return ability.removeprefix(KIND_PREFIX)  # type: ignore[return-value]  # ABILITIES lists one word for each kind
    name = _base_name(model)
    return next((kind for kind, pattern in _NAMES if pattern.search(name)), "chat")


def can_edit(model: str) -> bool:
    """Whether a model that makes images may be given one to work on."""
    return not _GENERATE_ONLY.search(_base_name(model))


def returns_urls(model: str) -> bool:
    """Whether a model answers with the address of its image unless it is asked for the bytes."""
    return bool(_WANTS_BASE64.search(_base_name(model)))


def _base_name(model: str) -> str:
    return model.rpartition("/")[2].lower()
