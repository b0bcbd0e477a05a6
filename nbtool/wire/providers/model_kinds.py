"""The kind of a model (chat, image, speech, …), derived from its name or its provider's abilities."""

from __future__ import annotations

import re
from typing import Literal

from nbtool.wire.providers.provider import KIND_PREFIX, Provider

Kind = Literal["chat", "image", "image-edit", "transcription", "speech"]

MEDIA_KINDS: dict[str, str] = {
    "image": "generates images",
    "image-edit": "edits images",
    "transcription": "transcribes speech",
    "speech": "converts text to speech",
}
"""The kinds other than chat, which are also the names of their wires, with a description."""

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
"""Patterns, matched in this order with a model's name in lower case, without the part before its last `/`."""

_GENERATE_ONLY = re.compile(r"^dall-e-3|^imagen")
_WANTS_BASE64 = re.compile(r"^dall-e|^imagen|^gemini-|^grok-")


def kind_of(provider: Provider, model: str) -> Kind:
    """Return the kind of a model, by its provider's `kind:…` ability, else by its name."""
    for ability in sorted(provider.abilities):
        if ability.startswith(KIND_PREFIX):
            return ability.removeprefix(KIND_PREFIX)  # type: ignore[return-value]  # ABILITIES lists one for each kind
    name = _base_name(model)
    return next((kind for kind, pattern in _NAMES if pattern.search(name)), "chat")


def can_edit(model: str) -> bool:
    """Whether an image model can edit images."""
    return not _GENERATE_ONLY.search(_base_name(model))


def returns_urls(model: str) -> bool:
    """Whether a model returns the URL of its image unless the bytes are requested."""
    return bool(_WANTS_BASE64.search(_base_name(model)))


def _base_name(model: str) -> str:
    return model.rpartition("/")[2].lower()
