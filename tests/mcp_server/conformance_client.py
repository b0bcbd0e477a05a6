"""nbtool as the client under test of the official conformance suite: `conformance_client.py URL`, in a process each.

The suite names the scenario in a variable. What a person would do is done here: each call is approved, each form sent
as it is, and each login agreed to; its page leads back by itself.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

import httpx2

from nbtool import Approved, Chat
from nbtool.sign_in import LoginRequest, sign_in_page
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import ApprovalQueue, Question, Undecided
from nbtool.tools.mcp import mcp_servers
from nbtool.view.page_messages import decide_by_click

ARGUMENTS: dict[str, Any] = {"add_numbers": {"a": 5, "b": 3}}


def log_in(request: LoginRequest) -> bool:
    """Agree to a login, and open its page."""
    threading.Thread(target=visit, args=(request.url,), daemon=True).start()
    return True


class Person:
    """Approves calls, sends forms as they are filled in, and agrees to the logins that calls need, by a click."""

    name = "click"

    def __init__(self) -> None:
        self.approvals: ApprovalQueue | None = None

    async def ask(self, question: Question) -> Approved | Undecided:
        page = sign_in_page(question.schema, is_form=question.is_form)
        if not page:
            return Approved()
        threading.Thread(target=self.click, args=(question.digest, page), daemon=True).start()
        return Undecided()

    def click(self, digest: str, page: str) -> None:
        """Agree to a login on its card, and open its page."""
        assert self.approvals
        decide_by_click(self.approvals, digest, {"verdict": "approved"})
        visit(page)


def visit(url: str) -> None:
    """Open a page, which leads back to nbtool."""
    with httpx2.Client(follow_redirects=True, trust_env=False) as browser:
        browser.get(url)


def main(url: str, scenario: str) -> None:
    """Connect, list the tools, and call each once."""
    entry = {"url": url, "auth": "oauth"} if scenario.startswith("auth/") else {"url": url}
    with mcp_servers({"mcpServers": {"it": entry}}, connect_seconds=20, ask_login=log_in) as servers:
        names = [tool.removeprefix("it_") for tool in servers.tools()]
        print(json.dumps(names))  # noqa: T201 - the suite shows it
        for name in names:
            steps = [call(f"it_{name}", **ARGUMENTS.get(name, {})), "Done."]
            with ScriptedWire(steps) as wire:
                person = Person()
                chat = Chat(wire=wire, tools=[servers], approver=person)
                person.approvals = chat.approvals
                turn = chat.send("Call it.")
            print(name, [(item.status, item.to_result().text) for item in turn.calls])  # noqa: T201 - the same


if __name__ == "__main__":
    main(sys.argv[-1], os.environ.get("MCP_CONFORMANCE_SCENARIO", ""))
