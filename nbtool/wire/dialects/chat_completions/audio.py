"""The audio of a spoken reply in Chat Completions, assembled into a playable file.

Whole replies contain a file in the requested format; streamed ones contain raw samples, 16 bits at 24 kHz on one
channel, which are converted to WAV. See https://platform.openai.com/docs/guides/audio.
"""

from __future__ import annotations

import io
import wave
from base64 import b64decode
from typing import Any

from nbtool.messages import Media
from nbtool.mime import sniff

SAMPLE_RATE = 24_000
"""Samples per second of streamed audio."""

UNREADABLE = "[The sound of this reply cannot be read.]"

_FILE_SIGNATURES = (b"RIFF", b"ID3", b"OggS", b"fLaC")


class AudioBuffer:
    """Collects the fragments of one audio."""

    def __init__(self) -> None:
        self.is_readable = True
        self._chunks: list[bytes] = []

    def add(self, audio: Any) -> None:
        """Add the `audio` of a delta or of a message; invalid base64 makes the audio unreadable."""
        data = audio.get("data") if isinstance(audio, dict) else None
        if not data or not isinstance(data, str):
            return
        try:
            self._chunks.append(b64decode(data, validate=True))
        except ValueError:
            self.is_readable = False

    def media(self, *, is_complete: bool) -> Media | None:
        """Return the audio as a file; None if there is none or it is unreadable."""
        data = b"".join(self._chunks)
        if not data or not self.is_readable:
            return None
        mime = sniff(data) if is_complete or data.startswith(_FILE_SIGNATURES) else ""
        return Media(mime, data=data) if mime.startswith("audio/") else Media("audio/wav", data=_as_wav(data))


def _as_wav(samples: bytes) -> bytes:
    """Return raw samples with a WAV header."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(SAMPLE_RATE)
        sound.writeframes(samples[: len(samples) // 2 * 2])
    return file.getvalue()
