"""The HTTP server of the practice model, on loopback, for this process only."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from nbtool.practice.chat_completions import RequestRejected
from nbtool.practice.replies import JsonReply, StreamReply, check_key, reply_to

MAX_BODY_BYTES = 32_000_000
"""Maximum size in bytes of a request body."""


class PracticeServer(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1; `key` is random and valid for the lifetime of the server."""

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _RequestHandler)
        self.key = secrets.token_urlsafe(32)
        self.port = int(self.server_address[1])
        self.closing = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.2,), name="nbtool-practice", daemon=True).start()

    def close(self) -> None:
        """Stop listening; running streams are aborted."""
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing to the notebook's stderr: the client sees that its connection ends."""


class _RequestHandler(BaseHTTPRequestHandler):
    """Handles one connection."""

    server: PracticeServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "nbtool-practice", ""
    timeout = 300

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Do not write the request log to the notebook's stderr."""

    def _handle(self) -> None:
        try:
            data = self._read_body()
            self._authorize()
            reply = reply_to(self.command, self.path, data)
            if isinstance(reply, StreamReply):
                self._stream(reply.events)
            else:
                self._send_json(reply)
        except RequestRejected as rejected:
            self._send_json(JsonReply(rejected.status, rejected.body))
        except ConnectionError:
            self.close_connection = True  # the client has disconnected, as a cancelled turn does

    def _read_body(self) -> bytes:
        length = self.headers.get("Content-Length") or "0"
        if length.isdecimal() and int(length) <= MAX_BODY_BYTES and "Transfer-Encoding" not in self.headers:
            return self.rfile.read(int(length))
        self.close_connection = True
        raise RequestRejected(
            413, f"A body of at most {MAX_BODY_BYTES} bytes is read, and Content-Length must say its size."
        )

    def _authorize(self) -> None:
        """Accept requests with the right host and key.

        A page that rebinds its own host name to 127.0.0.1 sends that name in Host.
        """
        if self.headers.get("Host") not in (f"127.0.0.1:{self.server.port}", f"localhost:{self.server.port}"):
            raise RequestRejected(403, "This server answers to its loopback address only.", code="invalid_host")
        check_key(self.headers.get("Authorization") or "", self.server.key)

    def _stream(self, events: Iterator[tuple[float, bytes]]) -> None:
        """Send server-sent events, each after its seconds."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for seconds, event in events:
            if seconds and self.server.closing.wait(seconds):
                self.close_connection = True
                return
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def _send_json(self, reply: JsonReply) -> None:
        data = reply.data
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
