"""The socket of the practice model: HTTP on loopback, for this process's own requests only."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from nbtool.practice.pictures import drawn
from nbtool.practice.plan import plan
from nbtool.practice.prompted import told
from nbtool.practice.protocol import MODELS, Refused, check, chunks, known, whole
from nbtool.practice.request import read

MAX_BODY = 32_000_000
"""Bytes of a request."""


class PracticeServer(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1; `key` is random and lives as long as the server."""

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.key = secrets.token_urlsafe(32)
        self.port = int(self.server_address[1])
        self.closing = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.2,), name="nbtool-practice", daemon=True).start()

    def close(self) -> None:
        """Stop listening; replies that are being streamed break off."""
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing on the notebook's stderr: the client sees its connection end."""


class _Conversation(BaseHTTPRequestHandler):
    """One connection."""

    server: PracticeServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "nbtool-practice", ""
    timeout = 300

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the log of requests off the notebook's stderr."""

    def _serve(self) -> None:
        try:
            data = self._body()
            self._admit()
            match self.command, self.path.partition("?")[0]:
                case "GET", "/v1/models":
                    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "nbtool"} for name in MODELS]
                    self._say(200, {"object": "list", "data": listed})
                case "POST", "/v1/chat/completions":
                    self._complete(data)
                case "POST", "/v1/images/generations":
                    self._draw(data)
                case _:
                    raise Refused(404, f"Invalid URL ({self.command} {self.path})")
        except Refused as refusal:
            self._say(refusal.status, refusal.body)
        except ConnectionError:
            self.close_connection = True  # the client has gone, as a cancelled turn does

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length") or "0"
        if length.isdecimal() and int(length) <= MAX_BODY and "Transfer-Encoding" not in self.headers:
            return self.rfile.read(int(length))
        self.close_connection = True
        raise Refused(413, f"A body of at most {MAX_BODY} bytes is read, and Content-Length must say its size.")

    def _admit(self) -> None:
        """Let in who knows the address and holds the key.

        A page that rebinds its own host name to 127.0.0.1 sends that name in Host.
        """
        if self.headers.get("Host") not in (f"127.0.0.1:{self.server.port}", f"localhost:{self.server.port}"):
            raise Refused(403, "This server answers to its loopback address only.", code="invalid_host")
        shown = (self.headers.get("Authorization") or "").encode()
        if not hmac.compare_digest(shown, f"Bearer {self.server.key}".encode()):
            raise Refused(401, "Incorrect API key provided.", code="invalid_api_key")

    def _complete(self, data: bytes) -> None:
        try:
            body = json.loads(data)
            model = check(body)
            asked = told(body)
            reply = plan(read(asked.body))
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"We could not parse the JSON body of your request: {error}") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise Refused(400, f"A field is missing or of the wrong type: {error}") from error
        if not (model.thinks_always or (model.thinks_before_calls and reply.calls)):
            reply = replace(reply, thinking="")
        reply = asked.written(reply)
        if body.get("stream"):
            self._stream(model.pace, chunks(body, reply))
        else:
            self._say(200, whole(body, reply))

    def _draw(self, data: bytes) -> None:
        try:
            body = json.loads(data)
            if not known(body).draws:
                raise Refused(400, f"{body['model']} does not draw.", param="model")
            self._say(200, drawn(body))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise Refused(400, f"We could not read your request: {error}") from error

    def _stream(self, pace: float, said: Iterator[tuple[dict[str, Any], int]]) -> None:
        """Send server-sent events, one `data:` line each, at a pace in characters a second."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk, size in said:
            if pace and self.server.closing.wait(size / pace):
                self.close_connection = True
                return
            self._send_event(json.dumps(chunk))
        self._send_event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _send_event(self, text: str) -> None:
        event = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))

    def _say(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
