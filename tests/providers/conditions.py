"""What a request holds, as far as providers refuse it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

Body = dict[str, Any]


def always(body: Body) -> bool:  # noqa: ARG001 - the interface of all conditions
    return True


def has_tools(body: Body) -> bool:
    return bool(body.get("tools"))


def has_tools_and_effort(body: Body) -> bool:
    return has_tools(body) and body.get("reasoning_effort", "none") != "none"


def has_tools_without_effort_none(body: Body) -> bool:
    return has_tools(body) and body.get("reasoning_effort") != "none"


def has_forced_choice(body: Body) -> bool:
    choice = body.get("tool_choice")
    return isinstance(choice, dict) and choice.get("type") in ("any", "tool")


def has_encrypted_include(body: Body) -> bool:
    return "reasoning.encrypted_content" in body.get("include", [])


def has_unreadable_arguments(body: Body) -> bool:
    """Whether the history holds a call whose arguments are not JSON, for servers that parse them again."""
    for message in body.get("messages", []):
        for call in message.get("tool_calls") or []:
            try:
                json.loads(call["function"]["arguments"])
            except ValueError:
                return True
    return False


def gemini_parts(body: Body) -> Iterator[tuple[str, Body]]:
    """Yield each part of a conversation with its role."""
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            yield content.get("role", "user"), part


def has_unsigned_call(body: Body) -> bool:
    """Whether the first call of a step lacks its signature; only the steps since the person's last text are checked."""
    contents = body.get("contents", [])
    begin = max(
        (at for at, content in enumerate(contents) if content.get("role") == "user" and _has_text(content)), default=0
    )
    for content in contents[begin:]:
        calls = [part for part in content.get("parts", []) if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            return True
    return False


def _has_text(content: Body) -> bool:
    return any(part.get("text") for part in content.get("parts", []))


def has_call_ids(body: Body) -> bool:
    return any(
        "id" in part.get(kind, {}) for _, part in gemini_parts(body) for kind in ("functionCall", "functionResponse")
    )


def has_functions_and_provider_tools(body: Body) -> bool:
    kinds = {kind for tool in body.get("tools", []) for kind in tool}
    return "functionDeclarations" in kinds and len(kinds) > 1


def has_functions_and_hidden_provider_tools(body: Body) -> bool:
    is_shown = body.get("toolConfig", {}).get("includeServerSideToolInvocations")
    return has_functions_and_provider_tools(body) and not is_shown


def has_thought_request(body: Body) -> bool:
    return bool(body.get("generationConfig", {}).get("thinkingConfig", {}).get("includeThoughts"))


def has_schema_keywords(body: Body) -> bool:
    """Whether a function's `parameters`, which are an OpenAPI schema, hold a keyword of JSON Schema."""
    declared = [spec for tool in body.get("tools", []) for spec in tool.get("functionDeclarations", [])]
    return any("exclusiveMinimum" in json.dumps(spec.get("parameters", {})) for spec in declared)


def calling_messages(body: Body) -> Iterator[Body]:
    """Yield each message of Chat Completions that contains calls."""
    yield from (message for message in body.get("messages", []) if message.get("tool_calls"))


def has_foreign_call_id(body: Body) -> bool:
    """Whether the id of an earlier call is not nine letters and digits."""
    ids = [call["id"] for message in calling_messages(body) for call in message["tool_calls"]]
    return not all(re.fullmatch(r"[a-zA-Z0-9]{9}", one) for one in ids)


def has_call_without_reasoning(body: Body) -> bool:
    return any(not message.get("reasoning_content") for message in calling_messages(body))


def has_reasoning_content(body: Body) -> bool:
    return any("reasoning_content" in message for message in body.get("messages", []))


def has_tool_without_parameters(body: Body) -> bool:
    return any("parameters" not in tool.get("function", {}) for tool in body.get("tools", []))


def has_five_cache_marks(body: Body) -> bool:
    return json.dumps(body).count('"cache_control"') > 4


# --- thinking of Claude ------------------------------------------------------------------------

BINDING_MODELS = r"(?:.*/)?claude-(?:(?:opus|sonnet|haiku)-5-5|(?:fable|mythos)-5-[1-9])"
"""The models that think by default, omit the text of it, and check what was before it."""


def has_hidden_thinking(body: Body) -> bool:
    """Whether the model omits the text of its thinking, because the request does not ask to show it."""
    is_shown = body.get("thinking", {}).get("display") == "summarized"
    return bool(re.fullmatch(BINDING_MODELS, str(body.get("model")))) and not is_shown


BOUND = "bound:"
"""How the signature of a thinking block begins that holds a digest of what was before it."""


def prefix_signature(body: Body, count: int | None = None) -> str:
    """Sign what is before a reply: the system text, the tools and the first messages (all, if no count is given)."""
    parts = [body.get("system"), body.get("tools"), body.get("messages", [])[:count]]
    return BOUND + sha256(json.dumps(_without_marks(parts), sort_keys=True).encode()).hexdigest()[:16]


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_marks(one) for key, one in value.items() if key != "cache_control"}
    return [_without_marks(one) for one in value] if isinstance(value, list) else value


def has_thinking_after_another_prefix(body: Body) -> bool:
    """Whether a signed thinking block follows something else than what it was produced after."""
    for at, message in enumerate(body.get("messages", [])):
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            signature = str(block.get("signature", ""))
            if signature.startswith(BOUND) and signature != prefix_signature(body, at):
                return True
    return False
