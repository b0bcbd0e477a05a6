"""What Anthropic refuses."""

from __future__ import annotations

from dataclasses import replace

from nbtool import Chat, tool
from nbtool.errors import ServerOverloaded
from nbtool.messages import user
from nbtool.wire import Prompt
from tests.providers.behaviour import CALL, DOUBLE, PLAIN, Behaviour, Topic, anthropic
from tests.providers.conditions import (
    BINDING_MODELS,
    BOUND,
    always,
    has_five_cache_marks,
    has_forced_choice,
    has_thinking_after_another_prefix,
)


@tool(run="auto")
def triple(n: int) -> int:
    "Three times a number."
    return 3 * n


def change_system_text(chat: Chat) -> None:
    chat.system = "Be brief."


def add_tool(chat: Chat) -> None:
    chat.tools.add(triple)


def add_provider_tool(chat: Chat) -> None:
    chat.options = {**chat.options, "provider_tools": ["web_search"]}


OTHER_PREFIX = Behaviour(
    "anthropic", "anthropic", "takes thinking only after what it was produced after", BINDING_MODELS,
    has_thinking_after_another_prefix, 400,
    anthropic(
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different "
        'conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
    ),
    "2026-11-22", "platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks", "claude-opus-5-5",
    topic=Topic.THINKING,
    trigger=PLAIN, fields={"messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": f"{BOUND}other"},
                                          {"type": "text", "text": "Hello."}]},
        {"role": "user", "content": "And?"},
    ]},
)  # fmt: skip

ANTHROPIC_ROWS = (
    OTHER_PREFIX,
    replace(OTHER_PREFIX, name=f"{OTHER_PREFIX.name}: the system text changes", change=change_system_text),
    replace(OTHER_PREFIX, name=f"{OTHER_PREFIX.name}: a tool is added", change=add_tool),
    replace(OTHER_PREFIX, name=f"{OTHER_PREFIX.name}: a tool of the provider is added", change=add_provider_tool),
    replace(
        OTHER_PREFIX, provider="compatible", name=f"{OTHER_PREFIX.name}: the system text changes, behind a gateway",
        change=change_system_text, model="anthropic/claude-opus-5-5",
    ),
    Behaviour(
        "anthropic", "anthropic", "takes at most four cache marks", r"claude-.*", has_five_cache_marks, 400,
        anthropic("A maximum of 4 blocks with cache_control may be provided. Found 5."),
        "2026-09-04", "decolua/9router#3795", "claude-opus-5-5", topic=Topic.CACHE, answer=replace(CALL, text="Well."),
        trigger=PLAIN, fields={"system": [
            {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}} for _ in range(5)
        ]},
    ),
    Behaviour(
        "anthropic", "anthropic", "takes no forced tool choice",
        BINDING_MODELS, has_forced_choice, 400,
        anthropic('tool_choice: type "tool" and "any" are not supported for this model.'),
        "2026-09-23", "can1357/oh-my-pi#12939", "claude-opus-5-5",
        trigger=Prompt((user("Hi"),), tools=(DOUBLE,), tool_choice="required"),
        topic=Topic.DISPLAY,
    ),
    Behaviour(
        "anthropic", "anthropic", "is overloaded", r"claude-busy", always, 529,
        anthropic("Overloaded", "overloaded_error"), "2026-11-22", "docs.anthropic.com/en/api/errors", "claude-busy",
        trigger=PLAIN, error=ServerOverloaded, topic=Topic.ACCOUNT,
    ),
    Behaviour(
        "anthropic", "anthropic", "has an account without credit", r"claude-unpaid", always, 400,
        anthropic("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade "
                  "or purchase credits."),
        "2026-11-22", "docs.anthropic.com/en/api/errors", "claude-unpaid", trigger=PLAIN, topic=Topic.ACCOUNT,
    ),
)  # fmt: skip
