# ruff: noqa: T201 - a server speaks by print
"""A server as if it knew the newest protocol alone: the one of the first argument, which never sees a handshake."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

UNSUPPORTED = {"code": -32022, "message": "unsupported", "data": {"supported": ["2026-07-28"], "requested": "older"}}


def pass_on(server: subprocess.Popen[str]) -> None:
    assert server.stdout
    for line in server.stdout:
        print(line, end="", flush=True)


server = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
assert server.stdin
threading.Thread(target=pass_on, args=[server], daemon=True).start()
for said in sys.stdin:
    message = json.loads(said)
    if message.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": UNSUPPORTED}), flush=True)
    else:
        server.stdin.write(said)
        server.stdin.flush()
server.stdin.close()
server.wait()
