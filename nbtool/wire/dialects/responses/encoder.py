"""The encoder of OpenAI Responses, without state on the server.

Every request contains everything: instructions, tools and the whole conversation as a list of items, so nothing is
stored at the provider (`store: false`) and any turn can be edited, branched or sent to another provider. Reasoning is
sent back in its items, whole rounds at a time: the provider checks by their ids that a call is next to its reasoning,
so a round is sent back unchanged, or rebuilt without reasoning and ids.

See https://platform.openai.com/docs/api-reference/responses/create and
https://platform.openai.com/docs/guides/reasoning.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from nbtool.errors import Unsupported
from nbtool.messages import Media, Message, Refusal, Text, ToolCall, ToolResult
from nbtool.text import clean_text
from nbtool.wire.arguments import valid_arguments
from nbtool.wire.base import Decoder, Prompt, Request, Target, ToolSpec
from nbtool.wire.dialect import DIALECTS, TOOL_SEARCH
from nbtool.wire.dialects.call_ids import CallIds, safe_tool_name
from nbtool.wire.dialects.options import RESPONSES_NAMES, rename_options
from nbtool.wire.dialects.request_fields import MESSAGES, MODEL, STREAM, SYSTEM, TOOL_CHOICE, TOOLS, Written, write_body
from nbtool.wire.dialects.responses.decoder import ResponsesDecoder
from nbtool.wire.dialects.responses.output_items import is_call, is_x_search
from nbtool.wire.providers.provider_tools import take_provider_tools

OUTPUTS = {"web_search": "web_search_call.action.sources", "code_interpreter": "code_interpreter_call.outputs"}
"""What Responses sends of a tool's outcome on request only, by type."""

NO_ENCRYPTED_REASONING = "no_encrypted_reasoning"
"""The ability of a target that refuses `include`; elsewhere encrypted reasoning is requested, to be sent back."""

REASONING_SUMMARY = "reasoning_summary"
"""The ability of a target that summarizes its reasoning; the summary is requested."""

MAX_ID = 64
"""Maximum characters of a call id in a request, although servers send longer ones."""

Item = dict[str, Any]

_ORIGIN = ("caller", "namespace")
"""The fields of a call that are repeated in its result: the program that called, and where the tool is from."""

_WITHOUT_REASONING = re.compile(
    r"(?:.*/)?(?:gpt-[34]|chatgpt-)"
)  # models that refuse it although their provider supports it


class Responses:
    """The Responses dialect."""

    name = "responses"

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode a prompt as a request.

        Raises:
            nbtool.errors.Unsupported: a part that the API does not accept (sound, video).
        """
        options, provider_tools = take_provider_tools(prompt.options, self.name)
        has_tools = prompt.tools or (provider_tools and prompt.is_final)
        choice = _tool_choice(prompt.tool_choice) if has_tools and prompt.tool_choice != "auto" else None
        written = {
            "model": Written(target.model, MODEL),
            "input": Written(_InputEncoder(self.name, target).write(prompt.messages), MESSAGES),
            "instructions": Written(_instructions(prompt) or None, SYSTEM),
            "tools": Written([*_tools(prompt, target), *provider_tools] or None, TOOLS),
            "tool_choice": Written(choice, TOOL_CHOICE),
            "stream": Written(prompt.stream, STREAM),
        }
        defaults = _defaults(target, provider_tools)
        body = write_body(written, rename_options(options, RESPONSES_NAMES), defaults)
        return Request("/responses", body, stream=prompt.stream)

    def decoder(self, *, stream: bool = True) -> Decoder:  # noqa: ARG002 - the decoder sees from the bytes whether it is a stream
        """Return a new decoder for one reply, streamed or not."""
        return ResponsesDecoder()


class _InputEncoder:
    """Builds the list of items from the messages, in order."""

    def __init__(self, wire: str, target: Target) -> None:
        self._origin = (wire, target.host, target.model)
        self._ids = CallIds()
        self._custom: set[str] = set()  # ids of calls with another type of result
        self._origins: dict[str, Item] = {}  # by id of a call: what its result says of it, too
        self._pending_images: list[Item] = []  # images of the assistant: only a user message may contain images

    def write(self, messages: tuple[Message, ...]) -> list[Item]:
        items: list[Item] = []
        for message in messages:
            if message.role == "assistant":
                items += self._native(message) or list(self._from_parts(message))
            elif message.role != "system":
                items += self._encode_text(message)
        if self._pending_images:
            items.append(_user(self._pending_images))
        return items

    def _encode_text(self, message: Message) -> list[Item]:
        """Encode a message of the user or of the tools: results first, so that they follow their calls."""
        items = [self._encode_result(result) for result in message.results]
        content = [_content(part) for part in message.parts if isinstance(part, Text | Media) and not _is_empty(part)]
        if content:
            items.append(_user([*self._pending_images, *content]))
            self._pending_images = []
        return items

    def _encode_result(self, result: ToolResult) -> Item:
        call_id = self._ids.id_for_result(result)
        output: str | list[Item] = clean_text(result.text)
        if result.media:
            parts: list[Text | Media] = [Text(result.text)] if result.text.strip() else []
            output = [_content(part) for part in (*parts, *result.media)]
        kind = "custom_tool_call_output" if call_id in self._custom else "function_call_output"
        return {"type": kind, "call_id": call_id, "output": output, **self._origins.get(call_id, {})}

    def _native(self, message: Message) -> list[Item]:
        """Return the items of a round unchanged, or None if they are not valid for this request.

        Searches of X are left out: they have the form of calls, which need a result of the client.
        """
        native = message.native
        if native is None or (native.wire, native.host, native.model) != self._origin:
            return []
        items = [_input_item(item) for item in native.payload if not is_x_search(item)]
        while items and items[-1].get("type") == "reasoning":
            items.pop()  # refused without the item after it
        calls = [item for item in items if is_call(item)]
        if not is_replayable(items) or [item.get("call_id") for item in calls] != [call.id for call in message.calls]:
            return []
        if any(len(call.id) > MAX_ID for call in message.calls) or not self._ids.reserve(message):
            return []
        self._origins.update((item["call_id"], {key: item[key] for key in _ORIGIN if key in item}) for item in calls)
        self._custom.update(item["call_id"] for item in calls if item["type"] == "custom_tool_call")
        return items

    def _from_parts(self, message: Message) -> Iterator[Item]:
        """Build a round from its parts: without reasoning, and without the ids that would require it."""
        for part in message.parts:
            match part:
                case Text(phase=phase) if phase and part.text.strip():
                    yield {"role": "assistant", "content": clean_text(part.text).strip("\n"), "phase": phase}
                case Text() | Refusal() if part.text.strip():
                    yield {"role": "assistant", "content": clean_text(part.text)}
                case Media() if part.mime.startswith("image/"):
                    self._pending_images.append(_content(part))
                case Media():  # the API accepts no sound; its transcript is sent as text
                    yield {"role": "assistant", "content": f"[{part}]"}
                case ToolCall():
                    yield self._encode_call(part)

    def _encode_call(self, call: ToolCall) -> Item:
        name, call_id = safe_tool_name(call.name), self._ids.id_for_call(call)
        arguments = valid_arguments(call.arguments)
        return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def _defaults(target: Target, provider_tools: list[Item]) -> Item:
    """Return the fields that an option may set: what is stored, what is included, and how it reasons."""
    defaults: Item = {"store": False}
    include = [OUTPUTS[kind] for tool in provider_tools if (kind := tool.get("type")) in OUTPUTS]
    if not _WITHOUT_REASONING.match(target.model):
        if NO_ENCRYPTED_REASONING not in target.abilities:
            include.insert(0, "reasoning.encrypted_content")
        if REASONING_SUMMARY in target.abilities:
            defaults["reasoning"] = {"summary": "auto"}
    return {**defaults, "include": include} if include else defaults


def _instructions(prompt: Prompt) -> str:
    """Join the system prompt and the system messages, which this API has outside of the items."""
    texts = [prompt.system, *(message.text for message in prompt.messages if message.role == "system")]
    return "\n\n".join(clean_text(text) for text in texts if text.strip())


def _tools(prompt: Prompt, target: Target) -> list[Item]:
    """Encode the tools; those that are deferred come with the tool that searches among them."""
    can_search = TOOL_SEARCH in target.abilities
    deferred = {spec.name for spec in prompt.tools if can_search and spec.is_deferred} - {prompt.tool_choice}
    tools = [{**_tool(spec), **({"defer_loading": True} if spec.name in deferred else {})} for spec in prompt.tools]
    return [*tools, dict(DIALECTS["responses"].search_tool)] if deferred else tools


def _tool(spec: ToolSpec) -> Item:
    parameters = {"type": "object", "properties": {}, **spec.parameters}
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": parameters,
        "strict": False,  # the default is strict, and most schemas do not qualify
    }


def _tool_choice(choice: str) -> str | Item:
    return choice if choice in ("none", "required") else {"type": "function", "name": choice}


def _user(content: list[Item]) -> Item:
    if len(content) == 1 and content[0]["type"] == "input_text":
        return {"role": "user", "content": content[0]["text"]}
    return {"role": "user", "content": content}


def _is_empty(part: Text | Media) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _content(part: Text | Media) -> Item:
    """Encode a text, an image or a file as input.

    Raises:
        nbtool.errors.Unsupported: the API does not accept sound or video.
    """
    if isinstance(part, Text):
        return {"type": "input_text", "text": clean_text(part.text)}
    source = part.url or f"data:{part.mime};base64,{b64encode(part.data or b'').decode()}"
    match part.mime.partition("/")[0]:
        case "image":
            return {"type": "input_image", "image_url": source}
        case "audio" | "video":
            raise Unsupported(
                f"The Responses wire carries no {part.mime}.", fix="Use `--set wire=chat` with a model that takes it."
            )
        case _ if part.url:
            return {"type": "input_file", "file_url": part.url}
        case _:
            return {"type": "input_file", "filename": part.name or "file", "file_data": source}


def _input_item(item: Item) -> Item:
    """Copy an item of a reply without its null fields, which are refused in the input."""
    fields = {key: value for key, value in item.items() if value is not None}
    if fields.get("type") == "function_call":
        fields["arguments"] = valid_arguments(fields.get("arguments"))
    if is_call(fields):
        fields["name"] = safe_tool_name(fields.get("name"))
    if fields.get("type") == "reasoning":
        fields.setdefault("summary", [])
        if not fields.get("content"):
            fields.pop("content", None)
    return fields


def is_replayable(items: list[Item]) -> bool:
    """Whether items can be sent back: none needs state on the server, and none is refused.

    Reasoning that is neither encrypted nor readable only refers to data that was not stored.
    """
    for item in items:
        if item.get("type") == "reasoning" and not (item.get("encrypted_content") or item.get("content")):
            return False
    return bool(items)
