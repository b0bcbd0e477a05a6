"""The server in the kernel: streamable HTTP on loopback, on a thread of its own, until it is stopped."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable

import uvicorn

from nbtool.errors import BadUsage
from nbtool.mcp_server.access import AccessCheck
from nbtool.mcp_server.address import ServerAddress
from nbtool.mcp_server.handlers import Handlers
from nbtool.policy import site_policy
from nbtool.secret import Secret

PATH = "/mcp"
MAX_BODY = 4 * 1024 * 1024
"""Maximum size of a request in bytes; a larger one is refused with status 413."""

ANSWER_SECONDS = 1
"""Seconds for the answers to calls under way to be sent when the server stops."""

STOP_SECONDS = 5.0
"""How long `stop` waits for the thread; it is a daemon, so the kernel never waits for it."""

for name in ("uvicorn.error", "mcp.server", "mcp.shared"):  # or requests, and their ends, fill the cell's output
    logging.getLogger(name).addHandler(logging.NullHandler())


class KernelServer:
    """A Model Context Protocol server of this kernel; `on_stop` is called when it has stopped.

    Raises:
        PolicyRefused: the administrator's policy does not allow it.
    """

    def __init__(self, handlers: Handlers, *, port: int = 0, on_stop: Callable[[], object] = lambda: None) -> None:
        site_policy().check_serving()
        self.handlers = handlers
        self._on_stop = on_stop
        token = Secret(secrets.token_urlsafe(32))
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self.address = ServerAddress(f"http://127.0.0.1:{self.port}{PATH}", token, os.getpid(), os.getcwd())  # noqa: PTH109 - as text
        self.app = handlers.server.streamable_http_app(
            streamable_http_path=PATH, max_request_body_size=MAX_BODY, host="127.0.0.1"
        )
        self.access = AccessCheck(self.app, token, self.port)
        config = uvicorn.Config(
            self.access,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            timeout_graceful_shutdown=ANSWER_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="nbtool-mcp", daemon=True)

    @property
    def is_running(self) -> bool:
        """Whether clients can connect."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start to serve: connections are accepted from now on."""
        self.address.write()
        atexit.register(self.address.remove)
        self._thread.start()

    def stop(self) -> None:
        """Stop to serve: calls under way are cancelled, their questions withdrawn, and their clients told so.

        The server answers them within the time that uvicorn leaves to open connections, `ANSWER_SECONDS`.
        """
        self.handlers.stop()
        self._server.should_exit = True
        self._thread.join(STOP_SECONDS)
        self._socket.close()
        self.address.remove()
        atexit.unregister(self.address.remove)
        for client in self.handlers.clients.values():
            for turn in client.chat.running_turns:
                turn.abort()
        self._on_stop()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])


def _listen(port: int) -> socket.socket:
    """Return a listening socket on loopback.

    Raises:
        BadUsage: the port is taken.
    """
    if not 0 <= port < 65_536:
        raise BadUsage(f"Port {port} cannot be used.", fix="Leave out --port, or name one below 65,536.")
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise BadUsage(f"Port {port} cannot be used: {error}.", fix="Leave out --port, or name another one.") from None
