"""Pass a server of the Model Context Protocol on standard input and output to the notebook; uses nothing of nbtool.

    python -I -S relay_bridge.py FILE

An agent starts it as its server `notebook`. FILE, which only its owner can read, has the port and the token of the
notebook's listener: so the token is in no argument and no environment variable.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
from pathlib import Path

CHUNK_BYTES = 64 * 1024


def main(path: str) -> int:
    """Connect, and pass bytes on in both directions until one side ends; return the exit status."""
    try:
        address = json.loads(Path(path).read_text(encoding="utf-8"))
        notebook = socket.create_connection(("127.0.0.1", int(address["port"])))
        notebook.sendall(f"{address['token']}\n".encode())
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        sys.stderr.write(f"The notebook cannot be reached ({type(error).__name__}).\n")
        return 1
    return pass_on(notebook)  # pragma: no cover - in a program of its own


def pass_on(notebook: socket.socket) -> int:  # pragma: no cover - ends its process
    """Pass bytes on in both directions until one side ends."""
    threading.Thread(target=pass_input, args=(notebook,), daemon=True).start()
    with contextlib.suppress(OSError):
        while data := notebook.recv(CHUNK_BYTES):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    os._exit(0)  # a thread reads standard input, which only the agent could end


def pass_input(notebook: socket.socket) -> None:  # pragma: no cover - in a program of its own
    """Pass standard input on to the notebook, and its end."""
    with contextlib.suppress(OSError):
        while data := os.read(0, CHUNK_BYTES):
            notebook.sendall(data)
        notebook.shutdown(socket.SHUT_WR)


if __name__ == "__main__":  # pragma: no cover - a program of its own
    sys.exit(main(sys.argv[1]))
