"""The parts of a reply as they have to go back, and the deltas that they bring.

A thought signature belongs to the part it came in, so a part that has one is never merged with another; see
https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from nbtool.events import CallDelta, Delta, MediaDelta, StreamNotice, TextDelta, ThinkingDelta
from nbtool.messages import Media
from nbtool.wire.dialects.gemini.partial_arguments import PartialArguments
from nbtool.wire.dialects.gemini.provider_parts import GeminiProviderParts
from nbtool.wire.dialects.unreadable_media import UNREADABLE_MEDIA
from nbtool.wire.framing.value_types import require_object
from nbtool.wire.reply import CALLS_CEILING, require_few_items

Part = dict[str, Any]

DEFAULT_MIME = "application/octet-stream"


class ReplyParts:
    """The parts of one reply being read."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._texts: dict[int, list[str]] = {}  # by part: the fragments that are still to be joined
        self._last: dict[str, int] = {}  # by kind of prose: the part of the newest text
        self._open_call: int | None = None
        self._arguments = PartialArguments()
        self._calls = 0
        self.is_complete = True
        self.provider_tools = GeminiProviderParts()

    @property
    def is_code_running(self) -> bool:
        """Whether the last part is code of which the provider has not sent the outcome."""
        return bool(self._parts) and "executableCode" in self._parts[-1]

    def add(self, part: Part) -> Iterator[Delta]:
        """Take the next part, and yield what it brings."""
        if "functionCall" in part:
            yield from self._add_call(part)
            return
        if isinstance(part.get("text"), str):
            yield from self._add_text(part)
            return
        self._append(part)
        if isinstance(transcript := part.get("audioTranscription"), dict) and (text := _text(transcript, "text")):
            yield self._text_delta(text, len(self._parts) - 1, is_thought=False)
        yield from self.provider_tools.add(part)
        if not part.get("thought") and (media := _media(part)):
            yield media

    def close(self) -> Iterator[Delta]:
        """Signal the end of the reply: a call that is still open is not complete."""
        if self._open_call is not None:
            yield self._end_call(is_whole=False)
        yield from self.provider_tools.close()

    def native(self) -> list[Part]:
        """Return the parts in their final form."""
        parts = [dict(part) for part in self._parts]
        for at, fragments in self._texts.items():
            parts[at]["text"] = "".join(fragments)
        return parts

    def _append(self, part: Part) -> int:
        require_few_items(len(self._parts) + 1)
        self._parts.append(part)
        return len(self._parts) - 1

    def _add_text(self, part: Part) -> Iterator[Delta]:
        text, is_thought = part["text"], part.get("thought") is True
        signature = part.get("thoughtSignature")
        if not text and not signature:
            return
        last = len(self._parts) - 1
        if signature or not self._can_continue(last, is_thought):
            last = self._append(part)
            self._texts[last] = []
        self._texts[last].append(text)
        if text:
            yield self._text_delta(text, last, is_thought)

    def _can_continue(self, last: int, is_thought: bool) -> bool:
        part = self._parts[last] if last >= 0 else {}
        return last in self._texts and "thoughtSignature" not in part and (part.get("thought") is True) == is_thought

    def _text_delta(self, text: str, at: int, is_thought: bool) -> TextDelta | ThinkingDelta:
        """Make the delta of a text; after a part of another kind it is a paragraph of its own."""
        kind = "thinking" if is_thought else "text"
        previous, self._last[kind] = self._last.get(kind, at), at
        between = self._parts[previous + 1 : at]
        is_new = any("text" not in part or (is_thought and not part.get("thought")) for part in between)
        return ThinkingDelta(text, is_new) if is_thought else TextDelta(text, is_new)

    def _add_call(self, part: Part) -> Iterator[Delta]:
        call = require_object(part["functionCall"], "A call of the reply")
        name, will_continue = _text(call, "name"), call.get("willContinue") is True
        pieces = call.get("partialArgs")
        if self._open_call is not None and name:
            yield self._end_call(is_whole=False)  # the call before never ended
        if self._open_call is None:
            if self._calls > CALLS_CEILING:
                return
            self._calls += 1
            at = self._append(
                {**part, "functionCall": {key: call[key] for key in ("name", "args", "id") if key in call}}
            )
            yield CallDelta(str(at), _text(call, "id"), name)
            if not will_continue and pieces in (None, []):
                arguments = call.get("args")
                yield CallDelta(str(at), arguments="{}" if arguments is None else _dump(arguments))
                return
            self._open_call, self._arguments = at, PartialArguments()
        self._continue_call(part, pieces)
        if not will_continue:
            yield self._end_call(is_whole=True)

    def _continue_call(self, part: Part, pieces: Any) -> None:
        assert self._open_call is not None
        if part.get("thoughtSignature"):
            self._parts[self._open_call]["thoughtSignature"] = part["thoughtSignature"]
        for piece in pieces if isinstance(pieces, list) else () if pieces is None else (None,):
            self._arguments.add(piece)

    def _end_call(self, *, is_whole: bool) -> CallDelta:
        """End the call that came in pieces; the arguments of one that is not whole are left without their end."""
        assert self._open_call is not None
        at, self._open_call = self._open_call, None
        arguments = self._arguments.value()
        self._parts[at]["functionCall"]["args"] = arguments
        if is_whole and self._arguments.is_valid:
            return CallDelta(str(at), arguments=_dump(arguments))
        self.is_complete = False
        return CallDelta(str(at), arguments=_dump(arguments)[:-1])


def _dump(arguments: Any) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _media(part: Part) -> MediaDelta | StreamNotice | None:
    """Return the image, sound or file of a part; a notice if it is unreadable."""
    inline, file = part.get("inlineData"), part.get("fileData")
    if isinstance(inline, dict):
        mime = _text(inline, "mimeType") or DEFAULT_MIME
        try:
            data = b64decode(_text(inline, "data").replace("-", "+").replace("_", "/"), validate=True)
        except ValueError:
            return UNREADABLE_MEDIA
        return MediaDelta(Media(mime, data=data, name=_text(inline, "displayName"))) if data else None
    if isinstance(file, dict) and (url := _text(file, "fileUri")):
        return MediaDelta(Media(_text(file, "mimeType") or DEFAULT_MIME, url=url, name=_text(file, "displayName")))
    return None


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""
