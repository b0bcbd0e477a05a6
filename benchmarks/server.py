"""A deterministic Chat Completions server on loopback, as fast as the socket.

    python -m benchmarks.server        prints `PORT <n>` and serves until it is stopped

The scenario is the first part of the path, so that every client can keep the name of a model that it knows; the base
URL is `http://127.0.0.1:PORT/<scenario>/v1`:

    text-N        N deltas of four characters          rounds-K     K rounds of one call, then a short text
    parallel-K    K calls in one round, then a text    args-B       one call with B bytes of arguments, in pieces of 20
    blob-K        K rounds of one call whose result is large

`-each` behind it writes one event at a time instead of all at once, `-alone` waits after each until it was read. The
server keeps no state: the round is the number of results in the request. Replies are built once, before anything is
measured (`GET /prime/<scenario>`). What was sent up is counted (`GET /reset` gives it and begins anew).
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections import Counter
from functools import cache
from typing import Any, ClassVar

MODEL = "gpt-4.1-mini"
LAST_DELTAS = 20
"""Deltas of the final text of a scenario with tools."""

ALONE_SECONDS = 0.003
"""Seconds between two events that arrive alone: more than any client needs for one."""

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
SCENARIO = re.compile(r"(text|rounds|parallel|args|blob)-(\d+)(-each|-alone)?")
LINE = 'x = "value" + 1  # a comment\n'
BLOCK = 1 << 18
WORDS = ("sun ", "sea ", "oak ", "fog ", "elm ", "ice ", "the ", "ash ", "bay ", "dew ")


def _plain(scenario: str) -> str:
    return scenario.removesuffix("-each").removesuffix("-alone")


def piece(number: int) -> str:
    """Return a delta of the text: four characters, with occasional newlines."""
    return "\n\n- " if number % 50 == 49 else WORDS[number % 10]


def text_of(scenario: str) -> str:
    """Return the final text of a scenario."""
    kind, count = parse_text(scenario)
    return "".join(map(piece, range(count if kind == "text" else LAST_DELTAS)))


def parse_text(scenario: str) -> tuple[str, int]:
    """Split the name of a scenario into its kind and its number."""
    found = SCENARIO.fullmatch(scenario)
    if not found:
        raise ValueError(f"Unknown scenario {scenario!r}")
    return found[1], int(found[2])


def calls_of(scenario: str, round_: int) -> list[tuple[str, str, int]]:
    """Return the calls of a round: names, arguments as JSON, and the size of their fragments."""
    kind, count = parse_text(scenario)
    if kind in ("rounds", "blob") and round_ < count:
        look = {"key": f"alpha beta gamma delta {round_:04d}", "n": 1, "exact": True}
        name, args = ("lookup", look) if kind == "rounds" else ("blob", {"n": round_ + 1})
        return [(name, _dumps(args), 7)]
    if kind == "parallel" and round_ == 0:
        keys = ({"key": "alpha beta gamma delta", "n": n + 1, "exact": True} for n in range(count))
        return [("lookup", _dumps(args), 7) for args in keys]
    if kind == "args" and round_ == 0:
        return [("save", _dumps({"content": (LINE * (count // len(LINE) + 1))[:count]}), 20)]
    return []


def expected(scenario: str) -> list[dict[str, Any]]:
    """Return the arguments of every call of a scenario, in order."""
    return [json.loads(args) for round_ in range(parse_text(scenario)[1]) for _, args, _ in calls_of(scenario, round_)]


@cache
def reply(scenario: str, round_: int) -> tuple[bytes, ...]:
    """Build a reply: its head, and an HTTP chunk for each event."""
    events = [f"data: {_dumps(event)}\n\n".encode() for event in _events(scenario, round_)]
    return (HEAD, *(b"%x\r\n%s\r\n" % (len(event), event) for event in [*events, b"data: [DONE]\n\n"]), b"0\r\n\r\n")


@cache
def whole_reply(scenario: str) -> tuple[bytes, ...]:
    """Build a reply without a stream, for the text of a scenario."""
    message = {"role": "assistant", "content": text_of(scenario), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    event = {**_event([choice], _USAGE), "object": "chat.completion"}
    body = _dumps(event).encode()
    return (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body),)


def _events(scenario: str, round_: int) -> list[dict[str, Any]]:
    calls = calls_of(scenario, round_)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if calls else "", "refusal": None}]
    for index, (name, args, size) in enumerate(calls):
        call_id = f"call_r{round_:04d}i{index:03d}"
        head = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        for at in range(0, len(args), size):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": args[at : at + size]}}]})
    if not calls:
        text = text_of(scenario)
        deltas += [{"content": text[at : at + 4]} for at in range(0, len(text), 4)]
    ends = [_event([_choice({}, "tool_calls" if calls else "stop")]), _event([], _USAGE)]
    return [*(_event([_choice(delta)]) for delta in deltas), *ends]


_USAGE = {
    "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
}  # fmt: skip


def _event(choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an event with all the fields that large providers send."""
    return {
        "id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1760000000, "model": MODEL,
        "service_tier": "default", "system_fingerprint": "fp_0123456789", "choices": choices, "usage": usage,
        "obfuscation": "abcdefgh",
    }  # fmt: skip


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Connection(asyncio.Protocol):
    """One client connection; requests have a length and are answered in order."""

    sent: ClassVar[Counter[str]] = Counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport, with TCP_NODELAY."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._line, self._bytes = transport, bytearray()
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._free = asyncio.Event()
        self._free.set()
        self._writing: asyncio.Task[None] | None = None

    def connection_lost(self, _: Exception | None) -> None:
        """Cancel the running write."""
        if self._writing:
            self._writing.cancel()

    def pause_writing(self) -> None:
        """Pause writing: the client reads too slowly."""
        self._free.clear()

    def resume_writing(self) -> None:
        """Resume writing."""
        self._free.set()

    def data_received(self, data: bytes) -> None:
        """Answer each complete request."""
        self._bytes += data
        while (end := self._bytes.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._bytes[:end]).decode("latin1")
            length = re.search(r"(?i)\r\ncontent-length: *(\d+)", head)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._bytes) < whole:
                return
            body = bytes(self._bytes[end + 4 : whole])
            del self._bytes[:whole]
            self._answer(head, body)

    def _answer(self, head: str, body: bytes) -> None:
        method, path, _ = head.split("\r\n", 1)[0].split(" ", 2)
        first, *rest = path.strip("/").split("/")
        if method == "GET" and first == "prime":
            for round_ in range(parse_text(rest[0])[1] + 1 if rest[0].startswith(("rounds", "blob")) else 2):
                reply(_plain(rest[0]), round_)
        if method == "GET":
            found = json.dumps(self.sent).encode()
            self.sent.clear()
            self._line.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(found), found))
            return
        self.sent[first] += len(body)
        self.sent["requests"] += 1
        is_stream = re.search(rb'"stream": ?true', body)
        parts = (
            reply(_plain(first), len(re.findall(rb'"role": ?"tool"', body)))
            if is_stream
            else whole_reply(_plain(first))
        )
        pause = ALONE_SECONDS if first.endswith("-alone") else 0.0 if first.endswith("-each") else None
        self._writing = asyncio.get_running_loop().create_task(self._write(parts, pause))

    async def _write(self, parts: tuple[bytes, ...], pause: float | None) -> None:
        """Write all at once, or with a pause after each part."""
        whole = b"".join(parts)
        blocks = parts if pause is not None else (whole[at : at + BLOCK] for at in range(0, len(whole), BLOCK))
        for block in blocks:
            self._line.write(block)
            if pause is not None:
                await asyncio.sleep(pause)
            await self._free.wait()


async def main() -> None:
    """Serve until the process is terminated."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print("PORT", server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - read by the parent process
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
