"""Images in the results of tools, for a model that takes none: the result says so instead."""

from __future__ import annotations

import re
from dataclasses import replace

from nbtool.errors import AuthenticationFailed, ProviderError
from nbtool.messages import Media, Message, Part, ToolResult
from nbtool.text import count_of
from nbtool.wire.base import Prompt

NOT_ATTACHED = "[{images}, not attached: {model} takes no images here]"

NO_IMAGES = "{model} takes no images here, so those of results are not attached."

_REFUSAL_STATUSES = frozenset({400, 404, 415, 422, 500, 501})
"""The statuses with which images are refused: 404 by routers, 500 by local servers."""

_WORDS = re.compile(r"image|vision|multi-?modal|modalit")


def has_result_images(prompt: Prompt) -> bool:
    """Whether a result of a tool in a prompt contains images."""
    return any(map(_images_in, _results_in(prompt)))


def without_result_images(prompt: Prompt, model: str) -> Prompt:
    """Return a prompt in which the results say that their images are not attached."""
    if not has_result_images(prompt):
        return prompt
    return replace(prompt, messages=tuple(_without_images(message, model) for message in prompt.messages))


def is_image_refused(error: Exception) -> bool:
    """Whether a provider's error is about images."""
    if not isinstance(error, ProviderError) or isinstance(error, AuthenticationFailed):
        return False
    if error.status not in _REFUSAL_STATUSES:
        return False
    return bool(_WORDS.search(f"{error.param} {error.code} {error.message}".lower()))


def _results_in(prompt: Prompt) -> list[ToolResult]:
    return [result for message in prompt.messages for result in message.results]


def _images_in(result: ToolResult) -> tuple[Media, ...]:
    return tuple(media for media in result.media if media.mime.startswith("image/"))


def _without_images(message: Message, model: str) -> Message:
    if not any(map(_images_in, message.results)):
        return message
    return message.with_parts(_described(part, model) for part in message.parts)


def _described(part: Part, model: str) -> Part:
    if not isinstance(part, ToolResult) or not (images := _images_in(part)):
        return part
    note = NOT_ATTACHED.format(images=count_of(len(images), "image"), model=model)
    others = tuple(media for media in part.media if media not in images)
    return replace(part, text=f"{part.text}\n{note}", media=others)
