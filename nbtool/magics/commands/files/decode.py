"""`%chat decode FILE`: parse a recorded response body, to debug or report a provider's response."""

from __future__ import annotations

from pathlib import Path

from nbtool.blocks.sanitize import escape_invisible, one_line
from nbtool.errors import BadUsage, NbtoolError
from nbtool.magics.commands.context import CommandContext
from nbtool.wire import WIRES, decode
from nbtool.wire.dialect import TEXT_DIALECTS
from nbtool.wire.reply import Reply

MAX_BYTES = 64 * 1024 * 1024
"""Bytes of a recording that are read."""


def decode_file(_: CommandContext, args: list[str]) -> str:
    """Parse a recorded response body: `decode FILE [WIRE]`.

    The reply is printed.

    Without WIRE, the dialect that parses most of it is used.

    Raises:
        BadUsage: the file cannot be read, or no dialect can parse it.
    """
    if not 1 <= len(args) <= 2 or (len(args) == 2 and args[1] not in WIRES):
        raise BadUsage("%chat decode takes a file and an optional wire.", fix=f"Wires: {', '.join(TEXT_DIALECTS)}.")
    body = _read(Path(args[0]).expanduser())
    wires = args[1:] or list(TEXT_DIALECTS)
    replies = {wire: _reply(wire, body) for wire in wires}
    wire, reply = max(replies.items(), key=lambda found: _rank(found[1]))
    return (
        _describe_reply(wire, reply)
        if isinstance(reply, Reply)
        else f"wire: {wire}\nerror: {one_line(str(reply), 400)}"
    )


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadUsage(f"{path} is larger than {MAX_BYTES >> 20} MiB.", fix="Cut it down to the reply in question.")
        return path.read_bytes()
    except OSError as error:
        raise BadUsage(f"{path} cannot be read ({error.strerror or error}).", fix="Check the path.") from None


def _reply(wire: str, body: bytes) -> Reply | NbtoolError:
    try:
        return decode(wire, body, stream=not body.lstrip().startswith(b"{"))
    except NbtoolError as error:
        return error


def _rank(reply: Reply | NbtoolError) -> int:
    if not isinstance(reply, Reply):
        return 0
    return 1 + 2 * bool(reply.message.parts) + 4 * reply.complete


def _describe_reply(wire: str, reply: Reply) -> str:
    usage = reply.usage
    rows = [
        ("wire", wire),
        ("complete", "yes" if reply.complete else "no: the provider's terminal signal is missing"),
        ("stopped", f"{reply.stop_reason} ({reply.finish_reason or 'no reason given'})"),
        ("tokens", f"{usage.input_tokens} in, {usage.output_tokens} out, {usage.cached_tokens} cached"),
        ("thinking", escape_invisible(reply.thinking)),
        ("refusal", escape_invisible(reply.refusal)),
        ("text", escape_invisible(reply.text)),
    ]
    for call in reply.calls:
        state = "may run" if call.runnable else f"does not run: {call.error}"
        rows.append(("call", f"{escape_invisible(call.name)}({escape_invisible(call.arguments)}) {state}"))
    return "\n".join(f"{name}: {value}" for name, value in rows if value)
