"""Messages as the contents of a request to Gemini."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbtool.call_arguments import parse_arguments
from nbtool.messages import Media, Message, Refusal, Text, ToolCall, ToolResult
from nbtool.text import clean_text
from nbtool.wire.base import Target
from nbtool.wire.dialects.call_ids import safe_tool_name

FOREIGN_SIGNATURE = "skip_thought_signature_validator"
"""What stands for the signature of a call that another model made, as documented for such histories."""

Body = dict[str, Any]

_UNSIGNED = re.compile(r"(?:.*/)?(?:gemini-[12](?:\.|-|$)|gemma|learnlm)")
_LEFT_OUT = "[Earlier messages are left out.]"
_RESULT_MEDIA = re.compile(r"image/(?:png|jpeg|webp)|application/pdf|text/plain")  # what a result itself may carry


def is_signed(model: str) -> bool:
    """Whether a model demands its signatures back, and takes media within the results of functions."""
    return not _UNSIGNED.match(model)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call in the request: its name there, its id if the provider gave one, and its place among the calls."""

    name: str
    id: str
    position: int


class ContentEncoder:
    """The contents, built from the messages in order."""

    def __init__(self, wire: str, target: Target) -> None:
        self._origin = (wire, target.host, target.model)
        self._is_signed = is_signed(target.model)
        self._calls: dict[str, _Call] = {}  # by nbtool's id and the provider's: the latest call with it
        self._count = 0
        self._contents: list[Body] = []

    def encode(self, messages: tuple[Message, ...]) -> list[Body]:
        """Return the contents of these messages."""
        for message in messages:
            if message.role == "assistant":
                self._add("model", self._native(message) or list(self._from_parts(message)))
            elif message.role != "system":
                self._add_user(message)
        if self._contents and self._contents[0]["role"] == "model":
            self._contents.insert(0, {"role": "user", "parts": [{"text": _LEFT_OUT}]})
        return self._contents

    def _add(self, role: str, parts: list[Body]) -> None:
        """Add parts to the content of their role."""
        if not parts:
            return
        if not self._contents or self._contents[-1]["role"] != role:
            self._contents.append({"role": role, "parts": []})
        self._contents[-1]["parts"] = self._contents[-1]["parts"] + parts

    def _add_user(self, message: Message) -> None:
        """Add a message of the person or of the tools: results come first, in the order of their calls."""
        answers = sorted((self._result(result) for result in message.results), key=lambda answer: answer[0])
        parts = [part for _, encoded in answers for part in encoded if "functionResponse" in part]
        parts += [part for _, encoded in answers for part in encoded if "functionResponse" not in part]
        parts += [_part(part) for part in message.parts if isinstance(part, Text | Media) and not _is_empty(part)]
        self._add("user", parts)

    def _result(self, result: ToolResult) -> tuple[int, list[Body]]:
        """Encode a result, after the place of its call; media that it cannot carry itself follow it."""
        call = self._calls.get(result.call_id) or self._calls.get(result.id)
        name = call.name if call else safe_tool_name(result.name)
        response: Body = {"name": name, "response": {"error" if result.is_error else "output": clean_text(result.text)}}
        if call and call.id:
            response["id"] = call.id
        inside = [media for media in result.media if self._fits_result(media)]
        if inside:
            response["parts"] = [_part(media) for media in inside]
        beside = [_part(media) for media in result.media if media not in inside]
        return call.position if call else 0, [{"functionResponse": response}, *beside]

    def _fits_result(self, media: Media) -> bool:
        return self._is_signed and media.data is not None and bool(_RESULT_MEDIA.fullmatch(media.mime))

    def _native(self, message: Message) -> list[Body]:
        """Return the parts of a reply as they came, or nothing where they do not hold here."""
        native = message.native
        if native is None or (native.wire, native.host, native.model) != self._origin:
            return []
        if not isinstance(native.payload, list) or not all(isinstance(part, dict) for part in native.payload):
            return []
        parts = [_sent_back(part) for part in native.payload]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        if len(calls) != len(message.calls):
            return []
        pairs = list(zip(calls, message.calls, strict=True))
        if any((call.get("name") or "", call.get("id") or made.id) != (made.name, made.id) for call, made in pairs):
            return []
        if all(part.get("thought") and not part.get("thoughtSignature") for part in parts):
            return []
        for call, made in pairs:
            call["name"] = safe_tool_name(made.name)
            self._register(made, call["name"], call.get("id") or "")
        return parts

    def _from_parts(self, message: Message) -> Iterator[Body]:
        """Build a reply from its parts: without thinking, whose signatures are lost, and without ids."""
        is_first = True
        for part in message.parts:
            match part:
                case Text() | Refusal() if part.text.strip():
                    yield {"text": clean_text(part.text)}
                case Media() if part.mime.startswith("image/"):
                    yield _part(part)
                case Media():  # no sound of the model goes back; what was said stands beside it as text
                    yield {"text": f"[{part}]"}
                case ToolCall():
                    args, _ = parse_arguments(part.arguments)
                    name = safe_tool_name(part.name)
                    self._register(part, name, "")
                    signature = {"thoughtSignature": FOREIGN_SIGNATURE} if is_first and self._is_signed else {}
                    is_first = False
                    yield {"functionCall": {"name": name, "args": args or {}}, **signature}

    def _register(self, call: ToolCall, name: str, call_id: str) -> None:
        self._count += 1
        made = _Call(name, call_id, self._count)
        for key in (call.id, call.call_id):
            if key:
                self._calls[key] = made


def _sent_back(part: Body) -> Body:
    """Copy a part of a reply so that it is accepted: without an empty id, or arguments that are no object."""
    if "functionCall" not in part:
        return part
    call = part["functionCall"] if isinstance(part["functionCall"], dict) else {}
    args = call.get("args")
    fields = {name: value for name, value in call.items() if name != "id" or (value and isinstance(value, str))}
    return {**part, "functionCall": {**fields, "args": args if isinstance(args, dict) else {}}}


def _is_empty(part: Text | Media) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _part(part: Text | Media) -> Body:
    """Encode a text, or media of any type: by its bytes, or by the address of a file."""
    if isinstance(part, Text):
        return {"text": clean_text(part.text)}
    if part.url:
        return {"fileData": {"mimeType": part.mime, "fileUri": part.url}}
    return {"inlineData": {"mimeType": part.mime, "data": b64encode(part.data or b"").decode()}}
