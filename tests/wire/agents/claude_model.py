"""A double of the model of Claude Code on loopback: it answers what a test says, and records what it is offered."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = str | list[tuple[str, dict[str, Any]]]
"""A text, or calls of tools by their whole names."""


class ClaudeModel:
    """What the model answers, in order, to requests that offer a tool of the notebook; any other gets a short text."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.requests: list[dict[str, Any]] = []
        self.hold = threading.Event()
        self.hold.set()
        self.url = ""
        self._lock = threading.Lock()

    def say(self, *steps: Step) -> None:
        """Add what is answered next."""
        self.steps += steps

    def offered(self) -> set[str]:
        """The names of all tools that were offered in any request."""
        return {tool.get("name", tool.get("type")) for request in self.requests for tool in request.get("tools", [])}

    def answer(self, request: dict[str, Any]) -> Step:
        """Take note of a request, and return what it gets."""
        with self._lock:
            self.requests.append(request)
            is_main = any(str(tool.get("name")).startswith("mcp__notebook__") for tool in request.get("tools", []))
            return self.steps.pop(0) if is_main and self.steps else "Fine."


def events_of(step: Step) -> Iterator[dict[str, Any]]:
    """Give the events of a streamed reply."""
    usage = {"input_tokens": 100, "output_tokens": 1}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield {"type": "message_start", "message": message}
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = []
    if isinstance(step, str):
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": step}))
    else:
        for number, (name, arguments) in enumerate(step):
            start = {"type": "tool_use", "id": f"toolu_{id(step)}_{number}", "name": name, "input": {}}
            blocks.append((start, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}))
    for index, (start, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "end_turn" if isinstance(step, str) else "tool_use"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": 20},
    }
    yield {"type": "message_stop"}


@contextmanager
def serve_model() -> Iterator[ClaudeModel]:
    """Serve a model on loopback."""
    model = ClaudeModel()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                self.reply(b'{"input_tokens": 100}', "application/json")
                return
            step = model.answer(body)
            model.hold.wait(60)
            events = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events_of(step)]
            self.reply("".join(events).encode(), "text/event-stream")

        def do_GET(self) -> None:
            self.reply(b'{"data": []}', "application/json")

        def reply(self, data: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        model.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield model
        model.hold.set()
        server.shutdown()
