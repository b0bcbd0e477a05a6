"""A page without a browser: it speaks to a real kernel in the messages that a notebook's page sends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from jupyter_client.blocking import BlockingKernelClient

from nbtool.blocks.protocol import VERSION
from nbtool.magics.kernel.control_channel import MESSAGE_TYPE
from tests.kernels import connect, start_kernel

SECONDS = 40
CONTROL = "comm-of-a-page-that-is-loaded"
WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
Way = Literal["comm", "control"]


@dataclass
class Page:
    """Runs cells, opens the widget that comes with one, and answers its questions as a person would.

    With `holds_back` it is a front end that sends a widget's messages only when no cell runs. `over_subshell`
    sends them over one, as newer pages do. With `loads_anew` it first asks what JupyterLab asks as it loads a page, and
    clicks once it was told of the widget again: `told` are the kinds of the answers. With `goes_away` it takes nothing
    that stays of a turn. `ways` are the channels that it sends a widget's messages over, each over all of them, and
    `replies` are the statuses of the replies over the control channel; only the comm can be held back. It stops the
    turn when the cell has printed `stop_at`, and notes in `stopped_in` how many seconds later the cell had ended.
    Without `shows_widgets` it opens none; `shown` are its outputs that can be replaced, by their display ids.
    Before its click it sends a message `wrong`, which no kernel should take. `during` counts the clicks that were
    answered while their cell still ran, `closed` are the widgets that are no more.
    """

    client: BlockingKernelClient
    holds_back: bool = False
    over_subshell: bool = False
    loads_anew: bool = False
    goes_away: bool = False
    shows_widgets: bool = True
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    ways: tuple[Way, ...] = ("comm",)
    stop_at: str = ""
    wrong: dict[str, str] = field(default_factory=dict)
    stopped_in: float = 0.0
    replies: list[str] = field(default_factory=list)
    states: list[tuple[str, str]] = field(default_factory=list)
    comm_id: str = ""
    state: dict[str, Any] = field(default_factory=dict)
    held: list[dict[str, Any]] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    question: str = ""
    confirmed: int = 0
    during: int = 0
    _subshell: str = ""

    def run(self, cell: str, *, click: str = "", cell_id: str = "") -> str:
        """Run a cell, click at each question that shows, and give what it prints once it has ended.

        The click `interrupt` is that of the kernel's own button.
        """
        code = {"code": cell, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": True}
        asked = self._ask("execute_request", code, **({"cellId": cell_id} if cell_id else {}))
        printed = list(self._hear(asked, click))
        self._release()
        return "".join(printed)

    def complete(self, text: str) -> list[str]:
        """Press Tab at the end of a cell's text; give what is offered."""
        matches: list[str] = self._questions("complete_request", {"code": text, "cursor_pos": len(text)})["matches"]
        return matches

    def click(self, kind: str) -> None:
        """Answer the question that was shown last, with no cell running, and see it taken."""
        before = self.confirmed
        self.say(kind, digest=self.question)
        self._release()
        while self.confirmed == before:
            self._take(self.client.get_iopub_msg(timeout=SECONDS), "")

    def wait_closed(self, comm_id: str) -> None:
        """Wait until the kernel has closed a widget."""
        while comm_id not in self.closed:
            self._take(self.client.get_iopub_msg(timeout=SECONDS), "")

    def _hear(self, asked: str, click: str) -> Iterator[str]:
        while True:
            message = self.client.get_iopub_msg(timeout=SECONDS)
            content = self._take(message, click)
            own = message["parent_header"].get("msg_id") == asked
            if own and message["msg_type"] == "stream":
                yield content["text"]
                self._stop_at(content["text"])
            if own and message["msg_type"] == "error":
                yield "\n".join(content["traceback"])
            if own and message["msg_type"] == "execute_input":
                self.confirmed = 0
            if message["msg_type"] == "status":
                self.states.append((message["parent_header"].get("msg_type", ""), content["execution_state"]))
            if own and message["msg_type"] == "status" and content["execution_state"] == "idle":
                self.during = self.confirmed
                self.stopped_in = time.monotonic() - self.stopped_in if self.stopped_in else 0.0
                return

    def _take(self, message: dict[str, Any], click: str) -> Any:
        content = message["content"]
        if self.shows_widgets and message["msg_type"] == "comm_open" and "turn_id" in content["data"].get("state", {}):
            self.comm_id, self.state = content["comm_id"], content["data"]["state"]
            self.question = next(_digests(self.state), self.question)
            self.say("hello")
        if message["msg_type"] == "comm_msg" and content["comm_id"] == self.comm_id:
            said = content["data"].get("content") or {}
            if said.get("kind") == "left" and not self.goes_away:
                self.say("took")
                return content
            self.confirmed += said.get("kind") == "decided" and bool(said.get("ok"))
            for digest in _digests(said):
                self.question = digest
                if click and digest not in self.answered:
                    self.answered.append(digest)
                    self._load_anew()
                    if self.goes_away:
                        self.say("hello")  # the first may have come before the kernel's ears
                    self._press(click, digest)
        self._note(message["msg_type"], content)
        return content

    def _note(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "comm_close":
            self.closed.append(content["comm_id"])
        if display_id := content.get("transient", {}).get("display_id"):
            self.shown[display_id] = content["data"]

    def _stop_at(self, printed: str) -> None:
        if self.stop_at and self.stop_at in printed and not self.stopped_in:
            self.stopped_in = time.monotonic()
            self.say("stop")

    def _press(self, click: str, digest: str) -> None:
        if click == "interrupt":
            self._control("interrupt_request")
        else:
            if self.wrong:
                self.say(**{"kind": click, "digest": digest, **self.wrong})
            self.say(click, digest=digest)

    def _load_anew(self) -> None:
        """Ask what a page asks that is loaded, and wait for each answer, with the cell still running."""
        if not self.loads_anew:
            return
        known = self._questions("kernel_info_request", {})
        comms = self._questions("comm_info_request", {"target_name": "jupyter.widget"})["comms"]
        self._ask("comm_open", {"comm_id": CONTROL, "target_name": "jupyter.widget.control", "data": {}})
        states = self._state(self._ask("comm_msg", {"comm_id": CONTROL, "data": {"method": "request_states"}}), CONTROL)
        self._ask("comm_close", {"comm_id": CONTROL, "data": {}})
        one = self._state(self._ask("comm_msg", _request_state(self.comm_id)), self.comm_id)
        assert known["implementation"] == "ipython"
        assert self.comm_id in comms
        assert states["states"][self.comm_id]["state"]["nonce"] == one["state"]["nonce"] == self.state["nonce"]
        self.methods += [states["method"], one["method"]]

    def _ask(self, kind: str, body: dict[str, Any], **metadata: str) -> str:
        message = self.client.session.msg(kind, body, metadata={"version": "1.0.0", **metadata})
        self._send(message)
        return str(message["header"]["msg_id"])

    def _questions(self, kind: str, body: dict[str, Any]) -> Any:
        asked = self._ask(kind, body)
        while True:
            answer = self.client.get_shell_msg(timeout=SECONDS)
            if answer["parent_header"].get("msg_id") == asked:
                return answer["content"]

    def _state(self, asked: str, comm_id: str) -> Any:
        while True:
            message = self.client.get_iopub_msg(timeout=SECONDS)
            is_ours = message["msg_type"] == "comm_msg" and message["content"]["comm_id"] == comm_id
            if is_ours and message["parent_header"].get("msg_id") == asked:
                return message["content"]["data"]

    def say(self, kind: str, **values: str) -> None:
        """Send a message of the widget; `values` may also replace fields of its envelope."""
        number = f"page-{len(self.answered)}-{kind}"
        content = {
            "v": VERSION,
            "turn": self.state["turn_id"],
            "nonce": self.state["nonce"],
            "id": number,
            "kind": kind,
        }
        body = {"comm_id": self.comm_id, "data": {"method": "custom", "content": {**content, **values}}}
        if "control" in self.ways:
            self.replies.append(self._control(MESSAGE_TYPE, body)["status"])
        if "comm" in self.ways:
            self._send_by_comm(body)

    def _send_by_comm(self, body: dict[str, Any]) -> None:
        message = self.client.session.msg("comm_msg", body)
        if self.over_subshell:
            message["header"]["subshell_id"] = self._subshell = self._subshell or self._new_subshell()
        if self.holds_back:
            self.held.append(message)
        else:
            self._send(message)

    def _release(self) -> None:
        while self.held:
            self._send(self.held.pop(0))

    def _send(self, message: dict[str, Any]) -> None:
        self.client.shell_channel.send(message)

    def _new_subshell(self) -> str:
        return str(self._control("create_subshell_request")["subshell_id"])

    def settle(self) -> None:
        """Let the kernel finish its answers: ipykernel 7.0 to 7.3 may miss what comes while one leaves."""
        if "kernel subshells" in self._questions("kernel_info_request", {}).get("supported_features", ()):
            self._control("list_subshell_request")

    def _control(self, kind: str, body: dict[str, Any] | None = None) -> Any:
        asked = self.client.session.msg(kind, body or {})
        self.client.control_channel.send(asked)
        while True:
            answer = self.client.get_control_msg(timeout=SECONDS)
            if answer["parent_header"].get("msg_id") == asked["header"]["msg_id"]:
                return answer["content"]


def park_and_approve(page: Page) -> str:
    """Park a turn of the tool `double`, approve its call after the cell, and give what it had come to before."""
    page.run("%%chat -m practice:fast -o answer --approve park\nUse &`double` with 21.")
    parked = page.run("print(answer.status, received)")
    page.click("approve")
    page.run("_ = answer.done.result(240)")
    return parked


@contextmanager
def open_page(*, overlay: Path | None = None, python: str = sys.executable, **how: Any) -> Iterator[Page]:
    """Give a page with a kernel of its own, of `python`; packages in `overlay` stand before the installed ones."""
    paths = {"PYTHONPATH": os.pathsep.join([str(overlay), os.environ.get("PYTHONPATH", "")])} if overlay else None
    manager = start_kernel(python, paths)
    client = connect(manager)
    try:
        client.wait_for_ready(timeout=SECONDS)
        page = Page(client, **how)
        page.settle()
        yield page
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _request_state(comm_id: str) -> dict[str, Any]:
    return {"comm_id": comm_id, "data": {"method": "request_state"}}


def _digests(value: Any) -> Iterator[str]:
    """Find the questions in what the kernel says."""
    if isinstance(value, dict):
        if isinstance(value.get("digest"), str) and value.get("kind") != "decided":
            yield value["digest"]
        for inner in value.values():
            yield from _digests(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _digests(inner)
