"""Write the members of the unions of the providers' own SDKs, each with a sample made from its type, as JSON.

Run by the Python of an environment that has the SDKs and not nbtool (`make lane LANE=sdks`).
Each text of a sample is `sample of` and the name of its field.
"""

from __future__ import annotations

import datetime as dt
import enum
import importlib
import importlib.metadata
import json
import sys
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

MAX_DEPTH = 6

MODELS = {
    "responses events": ("openai.types.responses", "ResponseStreamEvent"),
    "responses items": ("openai.types.responses", "ResponseOutputItem"),
    "responses annotations": ("openai.types.responses.response_output_text", "Annotation"),
    "responses content": ("openai.types.responses.response_output_message", "Content"),
    "anthropic events": ("anthropic.types.beta", "BetaRawMessageStreamEvent"),
    "anthropic blocks": ("anthropic.types.beta", "BetaContentBlock"),
    "anthropic deltas": ("anthropic.types.beta", "BetaRawContentBlockDelta"),
    "anthropic citations": ("anthropic.types.beta.beta_text_block", "BetaTextCitation"),
}
"""Unions of models that a field `type` distinguishes."""

FIELDS = {
    "responses response": ("openai.types.responses", "Response"),
    "chat chunk": ("openai.types.chat", "ChatCompletionChunk"),
    "chat choice": ("openai.types.chat.chat_completion_chunk", "Choice"),
    "chat delta": ("openai.types.chat.chat_completion_chunk", "ChoiceDelta"),
    "chat message": ("openai.types.chat", "ChatCompletionMessage"),
    "anthropic message": ("anthropic.types.beta", "BetaMessage"),
    "gemini reply": ("google.genai.types", "GenerateContentResponse"),
    "gemini candidate": ("google.genai.types", "Candidate"),
    "gemini part": ("google.genai.types", "Part"),
    "gemini grounding": ("google.genai.types", "GroundingMetadata"),
    "gemini source": ("google.genai.types", "GroundingChunk"),
}
"""Models of which each field is a member."""

WORDS = {
    "responses reasons": ("openai.types.responses.response", "IncompleteDetails", "reason"),
    "responses statuses": ("openai.types.responses", "Response", "status"),
    "chat reasons": ("openai.types.chat.chat_completion_chunk", "Choice", "finish_reason"),
    "anthropic reasons": ("anthropic.types.beta", "BetaMessage", "stop_reason"),
    "gemini reasons": ("google.genai.types", "Candidate", "finish_reason"),
    "gemini blocks": ("google.genai.types", "GenerateContentResponsePromptFeedback", "block_reason"),
}
"""Fields of which each value is a member."""


def sample(annotation: Any, name: str, depth: int = 0) -> Any:
    """Return a value of a type as JSON, with every field of every model."""
    annotation = without_annotated(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return arguments[0]
    if origin in (Union, types.UnionType):
        members = [member for member in arguments if member is not type(None)]
        return sample(members[0], name, depth)
    if origin is list:
        return [sample(arguments[0], name, depth)] if depth < MAX_DEPTH else []
    if origin is dict:
        return {"key": sample(arguments[1], name, depth)}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {} if depth >= MAX_DEPTH else model_sample(annotation, depth)
    return plain_sample(annotation, name)


def plain_sample(annotation: Any, name: str) -> Any:
    if isinstance(annotation, type):
        if issubclass(annotation, enum.Enum):
            return next(iter(annotation)).value
        if issubclass(annotation, bool):
            return True
        if issubclass(annotation, int | float):
            return 1
        if issubclass(annotation, bytes):
            return "c2FtcGxl"
        if issubclass(annotation, dt.datetime):
            return "2026-01-01T00:00:00Z"
    return f"sample of {name}"


def model_sample(model: type[BaseModel], depth: int = 0) -> dict[str, Any]:
    return {key: sample(annotation, name, depth + 1) for key, name, annotation in fields_of(model)}


def fields_of(model: type[BaseModel]) -> Iterator[tuple[str, str, Any]]:
    """Yield the key of each field in JSON, its name and its type."""
    to_key = model.model_config.get("alias_generator")
    for name, info in model.model_fields.items():
        yield info.alias or (to_key(name) if callable(to_key) else name), name, info.annotation


def without_annotated(annotation: Any) -> Any:
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            return annotation


def members_of(annotation: Any) -> Iterator[type[BaseModel]]:
    annotation = without_annotated(annotation)
    if get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from members_of(member)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation


def words_of(annotation: Any) -> Iterator[str]:
    annotation = without_annotated(annotation)
    if get_origin(annotation) is Literal:
        yield from map(str, get_args(annotation))
    elif get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from words_of(member)
    elif isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        yield from (str(member.value) for member in annotation)


def find(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def all_members() -> dict[str, dict[str, Any]]:
    """Return the members of every union: by name, its sample (None for a word)."""
    found: dict[str, dict[str, Any]] = {}
    for union, place in MODELS.items():
        samples = [model_sample(member) for member in members_of(find(*place))]
        found[union] = {one["type"]: one for one in samples}
    for union, place in FIELDS.items():
        model = find(*place)
        found[union] = {key: sample(annotation, name) for key, name, annotation in fields_of(model)}
    for union, (module, name, field) in WORDS.items():
        found[union] = dict.fromkeys(words_of(find(module, name).model_fields[field].annotation))
    return found


if __name__ == "__main__":
    versions = {name: importlib.metadata.version(name) for name in ("openai", "anthropic", "google-genai")}
    json.dump({"versions": versions, "members": all_members()}, sys.stdout)
