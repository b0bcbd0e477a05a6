"""The HTTP server of the practice model, on loopback, for this process only."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from nbtool.practice.pictures import image_response
from nbtool.practice.plan import make_plan
from nbtool.practice.prompted import parse_prompted
from nbtool.practice.protocol import (
    MODELS,
    RequestRejected,
    complete_response,
    find_model,
    response_chunks,
    validate_request,
)
from nbtool.practice.request import parse_request

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
            match self.command, self.path.partition("?")[0]:
                case "GET", "/v1/models":
                    models = [{"id": name, "object": "model", "created": 0, "owned_by": "nbtool"} for name in MODELS]
                    self._send_json(200, {"object": "list", "data": models})
                case "POST", "/v1/chat/completions":
                    self._chat_completion(data)
                case "POST", "/v1/images/generations":
                    self._image_generation(data)
                case _:
                    raise RequestRejected(404, f"Invalid URL ({self.command} {self.path})")
        except RequestRejected as rejected:
            self._send_json(rejected.status, rejected.body)
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
        authorization = (self.headers.get("Authorization") or "").encode()
        if not hmac.compare_digest(authorization, f"Bearer {self.server.key}".encode()):
            raise RequestRejected(401, "Incorrect API key provided.", code="invalid_api_key")

    def _chat_completion(self, data: bytes) -> None:
        try:
            body = json.loads(data)
            model = validate_request(body)
            prompted = parse_prompted(body)
            reply = make_plan(parse_request(prompted.body))
        except (ValueError, RecursionError) as error:
            raise RequestRejected(400, f"We could not parse the JSON body of your request: {error}") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise RequestRejected(400, f"A field is missing or of the wrong type: {error}") from error
        if not (model.thinks_always or (model.thinks_before_calls and reply.calls)):
            reply = replace(reply, thinking="")
        reply = prompted.render_plan(reply)
        if body.get("stream"):
            self._stream(model.chars_per_second, response_chunks(body, reply))
        else:
            self._send_json(200, complete_response(body, reply))

    def _image_generation(self, data: bytes) -> None:
        try:
            body = json.loads(data)
            if not find_model(body).makes_images:
                raise RequestRejected(400, f"{body['model']} does not generate images.", param="model")
            self._send_json(200, image_response(body))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise RequestRejected(400, f"We could not read your request: {error}") from error

    def _stream(self, chars_per_second: float, chunks_to_send: Iterator[tuple[dict[str, Any], int]]) -> None:
        """Send server-sent events, one `data:` line each, at the given speed."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk, size in chunks_to_send:
            if chars_per_second and self.server.closing.wait(size / chars_per_second):
                self.close_connection = True
                return
            self._send_event(json.dumps(chunk))
        self._send_event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _send_event(self, text: str) -> None:
        event = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))

    def _send_json(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
