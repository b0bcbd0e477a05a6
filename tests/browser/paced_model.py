"""A model whose reply comes when the test sends it: a server on loopback that speaks Chat Completions."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.chaos import DONE, finish, text

WAIT_SECONDS = 60
"""How long a reply waits for its next part before it ends: a failed test must not hold the kernel."""


class PacedModel:
    """The parts of the replies, as the test sends them."""

    def __init__(self) -> None:
        self.parts: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.url = ""

    @property
    def setup(self) -> str:
        """The lines of a cell that load nbtool and make `paced`, a chat with this model."""
        return (
            "%load_ext nbtool\nfrom nbtool import Chat, tool\n"
            f'paced = Chat("paced", base_url="{self.url}/v1", api_key="none", wire="chat")'
        )

    def say(self, *paragraphs: str) -> None:
        """Send paragraphs of the reply."""
        self.parts.put(b"".join(text(f"{paragraph}\n\n") for paragraph in paragraphs))

    def call(self, *calls: tuple[str, dict[str, object]]) -> None:
        """Send calls, and with them the end of the reply; the next reply belongs to the next request."""
        made = [
            {
                "index": at,
                "id": f"c{at}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for at, (name, arguments) in enumerate(calls)
        ]
        choice = {"index": 0, "delta": {"tool_calls": made}, "finish_reason": None}
        sent = f"data: {json.dumps({'choices': [choice]})}\n\n".encode()
        self.parts.put(sent + finish("tool_calls") + DONE)

    def end(self) -> None:
        """End the reply."""
        self.parts.put(finish() + DONE)


@contextmanager
def paced_model() -> Iterator[PacedModel]:
    """Run the server."""
    model = PacedModel()

    class Reply(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            try:
                while not (part := model.parts.get(timeout=WAIT_SECONDS)).endswith(DONE):
                    self.wfile.write(part)
                self.wfile.write(part)
            except (OSError, queue.Empty):  # the turn was stopped, or the test has failed
                return

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Reply) as server:
        server.daemon_threads = True
        model.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield model
        server.shutdown()
