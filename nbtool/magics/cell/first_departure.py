"""What leaves this machine with the first prompt to a host: said once a host, before it is sent."""

from __future__ import annotations

from collections.abc import Iterator

from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.messages import Media
from nbtool.server_url import parse_server_url
from nbtool.text import count_of, format_size, list_names
from nbtool.wire.transport.client_pool import is_loopback
from nbtool.wire.transport.traffic import totals

FIRST = "First prompt to {host}: it gets {parts}."
SEE_FIRST = " `%%{magic} --dry-run` shows a request before it is sent."

MAX_NAMED = 8
"""How many variables, files and tools the line names; the others are counted."""

MAX_LENGTH = 160
"""Characters of the description of a variable, with its columns."""


def first_departure_note(chat: Chat, turn: Turn, *, cells: int = 0, magic: str = "chat") -> str:
    """Return what the first prompt to a host sends; empty if the host had one, or is of this machine."""
    if not (chat.model.wire is None or isinstance(chat.model.wire, str)):
        return ""  # an endpoint of the person's own, whose host is only a name
    try:
        host = chat.model.destination
    except NbtoolError:
        return ""  # the turn itself says why
    is_agent = chat.model.is_agent
    if not host or _had_prompt(host) or (not is_agent and _is_of_this_machine(host)):
        return ""
    media = [part for part in turn.prompt.parts if isinstance(part, Media)]
    earlier = sum(node.turn is not None and node.turn is not turn for node in chat.tree.active_path)
    text = FIRST.format(
        host=one_line(host, 100), parts="; ".join(departing_parts(chat, media, earlier=earlier, cells=cells))
    )
    return text if is_agent else text + SEE_FIRST.format(magic=magic)


def _is_of_this_machine(host: str) -> bool:
    return is_loopback(parse_server_url(f"http://{host}").host)


def _had_prompt(host: str) -> bool:
    """Whether this kernel has sent a prompt to a host; a list of its models is none."""
    traffic = totals().get(host)
    return traffic is not None and traffic.size > 0


def departing_parts(chat: Chat, media: list[Media], *, earlier: int, cells: int) -> Iterator[str]:
    """Yield what a request to a chat's model has; `earlier` turns and `cells` of the notebook are in it."""
    yield "the prompt and the system prompt" if chat.system else "the prompt"
    if earlier:
        yield f"{count_of(earlier, 'earlier turn')} of this chat"
    if cells:
        yield f"{count_of(cells, 'cell')} of the notebook with what they show"
    yield from _named([_describe_file(part) for part in media], "file")
    entries = chat.exposed_variables()
    shapes = {entry.name: one_line(chat.variables.describe(entry.name), MAX_LENGTH) for entry in entries}
    yield from _named(
        [
            f"`{entry.name}` by name, type and columns ({shapes[entry.name]})"
            for entry in entries
            if not entry.is_readable
        ],
        "variable",
    )
    yield from _named(
        [f"values of `{entry.name}` ({shapes[entry.name]})" for entry in entries if entry.is_readable], "variable"
    )
    if names := [tool.display_name for tool in chat.tools.tools().values()]:
        noun = "tool" if len(names) == 1 else "tools"
        yield f"descriptions and results of the {noun} {list_names(names, MAX_NAMED)}"


def _named(parts: list[str], noun: str) -> Iterator[str]:
    yield from parts[:MAX_NAMED]
    if (more := len(parts) - MAX_NAMED) > 0:
        yield count_of(more, f"more {noun}")


def _describe_file(media: Media) -> str:
    name = one_line(media.name or media.mime, 80)
    return f"{name} ({format_size(len(media.data))})" if media.data else name
