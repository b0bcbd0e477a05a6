# ruff: noqa: T201 - its output is read by the test
"""Uses a server that needs a login, as a kernel of one day: `login_user.py URL yes|no [logout]`."""

from __future__ import annotations

import json
import sys
import threading

from nbtool.errors import McpFailed
from nbtool.sign_in import LoginRequest
from nbtool.tools import Approved
from nbtool.tools.mcp import mcp_servers
from nbtool.tools.mcp.connection.token_store import find_keyring
from tests.tools.calling import ask_for, make_harness
from tests.tools.mcp.login_server import visit


def use(url: str, *, agrees: bool, logs_out: bool) -> dict[str, object]:
    """Connect and call the tool; return what came of it, and how often the person was asked."""
    asked: list[LoginRequest] = []

    def ask(request: LoginRequest) -> bool:
        asked.append(request)
        if agrees:
            threading.Thread(target=visit, args=(request.url,)).start()
        return agrees

    keyring = find_keyring()
    said: dict[str, object] = {"keyring": type(keyring.get_keyring()).__name__ if keyring else ""}
    try:
        entry = {"url": url, "auth": "oauth"}
        with mcp_servers({"mcpServers": {"lab": entry}}, connect_seconds=20, ask_login=ask) as servers:
            record = make_harness(servers, approver=lambda _: Approved()).run(ask_for("lab_double", n=4))
            said["result"] = record.result
            if logs_out:
                servers["lab"].logout()
    except McpFailed as error:
        said["failed"] = str(error)
    return {**said, "asked": len(asked)}


print(json.dumps(use(sys.argv[1], agrees=sys.argv[2] == "yes", logs_out="logout" in sys.argv)))
