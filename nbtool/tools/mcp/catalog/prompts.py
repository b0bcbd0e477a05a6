"""The prompts of a server: the list, and the text of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtool.errors import McpFailed
from nbtool.messages import Media
from nbtool.text import count_of
from nbtool.tools.mcp.catalog.entries import (
    Note,
    entry_description,
    entry_label,
    list_all_pages,
    listed_entries,
    text_field,
)
from nbtool.tools.mcp.catalog.result_content import block_value
from nbtool.tools.values.sanitize import strip_controls

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import GetPromptResult

MAX_PROMPT = 100_000
"""Maximum number of characters of a prompt."""


@dataclass(frozen=True, slots=True)
class RemotePrompt:
    """A prompt of a server; `required` and `optional` are the names of its arguments."""

    server: str
    name: str
    description: str = ""
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The prompt with its arguments, as `%chat prompt` takes it."""
        arguments = [*(f"{name}=…" for name in self.required), *(f"[{name}=…]" for name in self.optional)]
        return " ".join([f"{self.server}.{self.name}", *arguments])


async def list_prompts(server: str, note: Note, client: Client) -> tuple[RemotePrompt, ...]:
    """List the prompts; none of a server without them."""
    if client.server_capabilities.prompts is None:
        return ()

    async def page(cursor: str | None) -> tuple[Iterable[Any], str | None]:
        result = await client.list_prompts(cursor=cursor)
        return listed_entries(result, "name", note), result.next_cursor

    return tuple([_prompt(server, item) for item in await list_all_pages(page)])


async def get_prompt(server: str, name: str, arguments: Mapping[str, str], client: Client) -> str:
    """Return the text of a prompt; several messages each with their role.

    Raises:
        McpFailed: it is too long.
    """
    text = _prompt_text(server, await client.get_prompt(name, dict(arguments)))
    if len(text) > MAX_PROMPT:
        raise McpFailed(f"The prompt has {count_of(len(text), 'character')}, above {MAX_PROMPT:,}.")
    return text


def _prompt(server: str, entry: Mapping[str, Any]) -> RemotePrompt:
    given = entry.get("arguments")
    arguments = [item for item in (given if isinstance(given, list) else ()) if text_field(item, "name")]
    required = tuple(entry_label(argument["name"]) for argument in arguments if argument.get("required") is True)
    optional = tuple(entry_label(argument["name"]) for argument in arguments if argument.get("required") is not True)
    return RemotePrompt(server, entry["name"], entry_description(entry), required, optional)


def _prompt_text(server: str, result: GetPromptResult) -> str:
    messages = [(message.role, block_value(message.content, server)) for message in result.messages]
    texts = [(role, f"[{value.mime}]" if isinstance(value, Media) else str(value)) for role, value in messages]
    if len(texts) == 1:
        return strip_controls(texts[0][1]).strip()
    return "\n\n".join(f"{role.title()}: {strip_controls(text).strip()}" for role, text in texts)
