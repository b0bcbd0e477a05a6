"""The sound of a spoken reply in Chat Completions, put together into something that can be played.

Whole replies carry a file in the format that was asked for; streamed ones carry raw samples, 16 bits at 24 kHz on one
channel, which become a WAV here. See https://platform.openai.com/docs/guides/audio.
"""

from __future__ import annotations

import io
import wave
from base64 import b64decode
from typing import Any

from nbtool.messages import Media
from nbtool.mime import sniff

SAMPLE_RATE = 24_000
"""Samples a second of a streamed sound."""

UNREADABLE = "[The sound of this reply cannot be read.]"

_FILE_SIGNATURES = (b"RIFF", b"ID3", b"OggS", b"fLaC")


class AudioBuffer:
    """Collects the pieces of one sound."""

    def __init__(self) -> None:
        self.is_readable = True
        self._chunks: list[bytes] = []

    def add(self, audio: Any) -> None:
        """Take the `audio` of a delta or of a message; what is no base64 makes the sound unreadable."""
        data = audio.get("data") if isinstance(audio, dict) else None
        if not data or not isinstance(data, str):
            return
        try:
            self._chunks.append(b64decode(data, validate=True))
        except ValueError:
            self.is_readable = False

    def media(self, *, is_complete: bool) -> Media | None:
        """Return the sound as a file; None where none came, or none that can be read."""
        data = b"".join(self._chunks)
        if not data or not self.is_readable:
            return None
        mime = sniff(data) if is_complete or data.startswith(_FILE_SIGNATURES) else ""
        return Media(mime, data=data) if mime.startswith("audio/") else Media("audio/wav", data=_as_wav(data))


def _as_wav(samples: bytes) -> bytes:
    """Put a head before raw samples."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(SAMPLE_RATE)
        sound.writeframes(samples[: len(samples) // 2 * 2])
    return file.getvalue()
