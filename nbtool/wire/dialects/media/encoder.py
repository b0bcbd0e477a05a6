"""The encoders of images and sound for OpenAI-compatible servers: generate, edit, transcribe, speak.

Each kind is a wire, so that its models are used like chat models. Only the user's last message is sent: these models
have no conversation, no system prompt and no tools. The input is checked here, before anything is sent.

The endpoints: https://platform.openai.com/docs/api-reference/images and …/audio
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from nbtool.errors import BadUsage, Unsupported
from nbtool.messages import Media
from nbtool.mime import IMAGES
from nbtool.text import clean_text
from nbtool.wire.base import Prompt, Request, Target, Upload
from nbtool.wire.dialects.media.decoder import MediaDecoder, ReadBody, read_images, read_speech, read_transcription
from nbtool.wire.dialects.request_fields import MESSAGES, MODEL, STREAM, UPLOADS, Written, write_body
from nbtool.wire.framing.redaction import excerpt
from nbtool.wire.providers.model_kinds import MEDIA_KINDS, can_edit, returns_urls
from nbtool.wire.providers.provider_tools import take_provider_tools

VOICE = "alloy"
"""The default of the option `voice`."""

_ATTACH = "Attach one with `-a PATH`, or `attach=` in Python."
_AUDIO_TYPES = re.compile(r"audio/[\w.+-]+|video/(mp4|webm|mpeg)")
_EXTENSIONS = {
    "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif", "audio/mpeg": "mp3",
    "audio/wav": "wav", "audio/x-wav": "wav", "audio/flac": "flac", "audio/ogg": "ogg", "audio/mp4": "m4a",
    "audio/aac": "aac", "audio/webm": "webm", "video/mp4": "mp4", "video/webm": "webm", "video/mpeg": "mpeg",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MediaPrompt:
    """The user's last message, and the model."""

    model: str
    text: str
    media: tuple[Media, ...]


@dataclass(frozen=True, slots=True)
class MediaRequest:
    """A request: the fields that are written from the prompt, those that an option may set, and the files."""

    path: str
    written: dict[str, Written]
    defaults: dict[str, Any] = field(default_factory=dict)
    uploads: tuple[Upload, ...] = ()


@dataclass(frozen=True, slots=True)
class MediaWire:
    """One kind of model as a wire; see `nbtool.wire.base.Wire`. It never streams."""

    name: str
    write: Callable[[MediaPrompt], MediaRequest]
    read: ReadBody

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode the user's last message as a request.

        Raises:
            nbtool.errors.Unsupported: tools are offered, or an attachment is not for this kind of model.
            nbtool.errors.BadUsage: required input is missing.
        """
        options, _ = take_provider_tools(prompt.options, self.name)
        if prompt.tools:
            raise Unsupported(
                f"{target.model} {MEDIA_KINDS[self.name]} and cannot call tools.",
                fix="Use a chat without tools and exposed variables: `-c NAME` in a cell, or a Chat of its own.",
            )
        request = self.write(_media_prompt(prompt, target))
        written = {"model": Written(target.model, MODEL), "stream": Written(None, STREAM), **request.written}
        body = write_body(written, options, request.defaults)
        return Request(request.path, body, stream=False, uploads=request.uploads)

    def decoder(self, *, stream: bool = False) -> MediaDecoder:  # noqa: ARG002 - these replies always come whole
        """Return a new decoder for one reply."""
        return MediaDecoder(self.read)


def image() -> MediaWire:
    """Return the wire of models that generate and edit images."""
    return MediaWire("image", _write_image, read_images)


def image_edit() -> MediaWire:
    """Return the wire of models that only edit images."""
    return MediaWire("image-edit", _write_edit, read_images)


def transcription() -> MediaWire:
    """Return the wire of models that transcribe speech."""
    return MediaWire("transcription", _write_transcription, read_transcription)


def speech() -> MediaWire:
    """Return the wire of models that convert text to speech."""
    return MediaWire("speech", _write_speech, read_speech)


def _media_prompt(prompt: Prompt, target: Target) -> MediaPrompt:
    last = next((message for message in reversed(prompt.messages) if message.role == "user"), None)
    if last is None:
        raise BadUsage(f"Nothing was said to {target.model}.", fix="Write what you want of it.")
    media = tuple(part for part in last.parts if isinstance(part, Media))
    return MediaPrompt(target.model, clean_text(last.text).strip(), media)


def _write_image(prompt: MediaPrompt) -> MediaRequest:
    if prompt.media and not can_edit(prompt.model):
        raise Unsupported(
            f"{prompt.model} makes images and cannot edit one.", fix="Attach nothing, or choose a model that edits."
        )
    if prompt.media:
        return _write_edit(prompt)
    written = {"prompt": Written(_options(prompt, "makes an image from a description"), MESSAGES)}
    return MediaRequest("/images/generations", written, _base64_option(prompt.model))


def _write_edit(prompt: MediaPrompt) -> MediaRequest:
    images = _attachments(prompt, "edits an image", IMAGES.__contains__, "PNG, JPEG, WebP or GIF")
    written = {
        "prompt": Written(_options(prompt, "needs to be told what to change"), MESSAGES),
        "image": Written(None, UPLOADS),
    }
    uploads = _uploads("image" if len(images) == 1 else "image[]", images)
    return MediaRequest("/images/edits", written, _base64_option(prompt.model), uploads)


def _write_transcription(prompt: MediaPrompt) -> MediaRequest:
    audio = _attachments(
        prompt, "writes down a sound", _AUDIO_TYPES.fullmatch, "a sound (wav, mp3, m4a, flac, ogg, webm)"
    )
    if len(audio) > 1:
        raise BadUsage(f"{prompt.model} writes down one sound, and {len(audio)} are attached.", fix="Attach one.")
    written = {"prompt": Written(prompt.text or None, MESSAGES), "file": Written(None, UPLOADS)}
    return MediaRequest("/audio/transcriptions", written, {"response_format": "json"}, _uploads("file", audio))


def _write_speech(prompt: MediaPrompt) -> MediaRequest:
    if prompt.media:
        raise Unsupported(f"{prompt.model} reads text aloud and takes no attachment.", fix="Write the text itself.")
    written = {"input": Written(_options(prompt, "reads text aloud"), MESSAGES)}
    return MediaRequest("/audio/speech", written, {"voice": VOICE})


def _base64_option(model: str) -> dict[str, Any]:
    return {"response_format": "b64_json"} if returns_urls(model) else {}


def _options(prompt: MediaPrompt, ability: str) -> str:
    if not prompt.text:
        raise BadUsage(
            f"{prompt.model} {ability}, and no text is given.", fix="Write it in the cell, or as the prompt."
        )
    return prompt.text


def _attachments(
    prompt: MediaPrompt, ability: str, is_accepted: Callable[[str], object], label: str
) -> tuple[Media, ...]:
    """Check that there are attachments, of the right types, with their bytes."""
    if not prompt.media:
        raise BadUsage(f"{prompt.model} {ability}, and none is attached.", fix=_ATTACH)
    for media in prompt.media:
        if not is_accepted(media.mime):
            raise Unsupported(f"{prompt.model} {ability}; {excerpt(media.mime)} is attached.", fix=f"Attach {label}.")
        if media.data is None:
            raise Unsupported(
                f"{prompt.model} needs the bytes, and an address is attached, which is never fetched.",
                fix="Download it yourself and attach the file.",
            )
    return prompt.media


def _uploads(field_name: str, attachments: Iterable[Media]) -> tuple[Upload, ...]:
    return tuple(Upload(field_name, _filename(media), media.mime, media.data or b"") for media in attachments)


def _filename(media: Media) -> str:
    """Return a file name without folders, always with an extension: servers derive the format from it."""
    name = PurePosixPath(PureWindowsPath(clean_text(media.name)).name).name or media.mime.partition("/")[0]
    extension = _EXTENSIONS.get(media.mime)
    return f"{name}.{extension}" if extension and not PurePosixPath(name).suffix else name
