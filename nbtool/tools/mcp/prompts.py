"""The prompts and resources of a server: lists within bounds, and their content as text and data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from nbtool.errors import McpFailed
from nbtool.text import shorten
from nbtool.tools.mcp.result_content import block_value, resource_value
from nbtool.tools.mcp.tool_list import MAX_PAGES
from nbtool.tools.values.sanitize import single_line, strip_controls

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import GetPromptResult

MAX_ENTRIES = 500
"""Maximum number of prompts or resources of one server."""

MAX_LABEL = 200
"""Maximum number of characters of a name that is shown."""

MAX_ABOUT = 500
"""Maximum number of characters of a description that is shown."""

MAX_PROMPT = 100_000
"""Maximum number of characters of a prompt."""

Entry = TypeVar("Entry")


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


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """A resource of a server: what `read_resource` reads."""

    uri: str
    name: str
    description: str = ""
    mime: str = ""


async def list_prompts(server: str, client: Client) -> tuple[RemotePrompt, ...]:
    """List the prompts; none of a server without them."""
    if client.server_capabilities.prompts is None:
        return ()

    async def page(cursor: str | None) -> tuple[Iterable[Any], str | None]:
        result = await client.list_prompts(cursor=cursor)
        return result.prompts, result.next_cursor

    return tuple([_prompt(server, one) for one in await _all_pages(page)])


async def list_resources(client: Client) -> tuple[RemoteResource, ...]:
    """List the resources; none of a server without them."""
    if client.server_capabilities.resources is None:
        return ()

    async def page(cursor: str | None) -> tuple[Iterable[Any], str | None]:
        result = await client.list_resources(cursor=cursor)
        return result.resources, result.next_cursor

    found = await _all_pages(page)
    return tuple(
        [RemoteResource(str(one.uri), _label(one.name), _about(one), single_line(one.mime_type or "")) for one in found]
    )


async def get_prompt(name: str, arguments: Mapping[str, str], client: Client) -> str:
    """Return the text of a prompt; several messages each with their role.

    Raises:
        McpFailed: it is too long.
    """
    text = _prompt_text(await client.get_prompt(name, dict(arguments)))
    if len(text) > MAX_PROMPT:
        raise McpFailed(f"The prompt has {len(text):,} characters, above {MAX_PROMPT:,}.")
    return text


async def read_resource(uri: str, client: Client) -> Any:
    """Return the content of a resource: a text, or media; of several parts a list."""
    result = await client.read_resource(uri)
    parts = [resource_value(part) for part in result.contents]
    return parts[0] if len(parts) == 1 else parts


async def _all_pages(page: Callable[[str | None], Awaitable[tuple[Iterable[Entry], str | None]]]) -> list[Entry]:
    found: list[Entry] = []
    cursor = None
    for _ in range(MAX_PAGES):
        entries, cursor = await page(cursor)
        found += entries
        if len(found) > MAX_ENTRIES:
            raise McpFailed(f"The MCP server lists more than {MAX_ENTRIES} of them.")
        if cursor is None:
            return found
    raise McpFailed(f"The MCP server lists them in more than {MAX_PAGES} pages.")


def _prompt(server: str, one: Any) -> RemotePrompt:
    arguments = one.arguments or []
    required = tuple(_label(argument.name) for argument in arguments if argument.required)
    optional = tuple(_label(argument.name) for argument in arguments if not argument.required)
    return RemotePrompt(server, one.name, _about(one), required, optional)


def _prompt_text(result: GetPromptResult) -> str:
    messages = [(message.role, block_value(message.content)) for message in result.messages]
    texts = [(role, value if isinstance(value, str) else f"[{value.mime}]") for role, value in messages]
    if len(texts) == 1:
        return strip_controls(texts[0][1]).strip()
    return "\n\n".join(f"{role.title()}: {strip_controls(text).strip()}" for role, text in texts)


def _label(text: str) -> str:
    return shorten(single_line(text), MAX_LABEL)


def _about(one: Any) -> str:
    return shorten(single_line(one.description or one.title or ""), MAX_ABOUT)
