"""A page without a browser that has a notebook: it answers what the kernel asks about cells, over a real kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.blocking import BlockingKernelClient

from nbtool.magics.kernel.page_channel import TARGET
from tests.compat.page import SECONDS, open_page

Answer = Callable[[dict[str, Any]], dict[str, Any] | None]


@dataclass
class CellPage:
    """Runs cells, and answers each request about cells with `answer`; without one it has no notebook.

    `opened` is the message that opened the way last, `requests` are the requests, `closed` the ways that were closed.
    """

    client: BlockingKernelClient
    answer: Answer | None = None
    cell: str = "chat"
    nonce: str = ""
    opened: dict[str, Any] = field(default_factory=dict)
    requests: list[dict[str, Any]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    def run(self, source: str) -> str:
        """Run a cell to its end, and return what it prints."""
        body = {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": True}
        metadata = {"cellId": self.cell} if self.cell else {}
        asked = self.client.session.msg("execute_request", body, metadata=metadata)
        self.client.shell_channel.send(asked)
        return "".join(self._follow(asked["header"]["msg_id"]))

    def _follow(self, asked: str) -> Iterator[str]:
        while True:
            message = self.client.get_iopub_msg(timeout=SECONDS)
            content, kind = message["content"], message["msg_type"]
            self._take(message, content, kind)
            if message["parent_header"].get("msg_id") != asked:
                continue
            if kind == "stream":
                yield content["text"]
            if kind == "error":
                yield "\n".join(content["traceback"])
            if kind == "status" and content["execution_state"] == "idle":
                return

    def _take(self, message: dict[str, Any], content: Any, kind: str) -> None:
        if kind == "comm_open" and content["target_name"] == TARGET:
            self.opened = message
            if self.answer:
                self._say("hello")
        if kind == "comm_msg" and content["comm_id"] == self._comm:
            self.requests.append(content["data"])
            if self.answer and (answer := self.answer(content["data"])):
                self._say(content["data"]["id"], **answer)
        if kind == "comm_close":
            self.closed.append(content["comm_id"])

    @property
    def _comm(self) -> str:
        return str(self.opened.get("content", {}).get("comm_id", ""))

    def _say(self, identifier: str, **values: Any) -> None:
        nonce = self.nonce or self.opened["content"]["data"]["nonce"]
        content = {"v": 1, "nonce": nonce, "id": identifier, **values}
        body = {"comm_id": self._comm, "data": {"method": "custom", "content": content}}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", body))


@contextmanager
def open_cell_page(answer: Answer | None = None, *, overlay: Path | None = None, **how: Any) -> Iterator[CellPage]:
    """Give a page with a kernel of its own."""
    with open_page(overlay=overlay) as page:
        yield CellPage(page.client, answer, **how)
