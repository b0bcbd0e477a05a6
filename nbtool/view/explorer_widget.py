"""The history explorer: the page gets a light index of the conversation, and a turn when it is opened.

Nothing is pushed and nothing runs: the page sends requests from a closed set. Actions are cells that the
page inserts below, for a person to run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import traitlets

from nbtool.blocks.history.protocol import Detail, Index, SearchHit, Totals
from nbtool.blocks.protocol import VERSION
from nbtool.errors import NbtoolError
from nbtool.view.assets import read_asset
from nbtool.view.explorer_messages import CellRequest, ExplorerMessage, parse_message
from nbtool.view.history_widget import HistoryWidget
from nbtool.view.live_widget import MAX_REMEMBERED_IDS
from nbtool.view.protocol import Answer


class History(Protocol):
    """A conversation that can be explored; each of its methods raises an `NbtoolError` to refuse."""

    def index(self) -> Index:
        """Return the current tree."""

    def detail(self, turn_id: str) -> Detail:
        """Return one turn."""

    def search(self, text: str) -> Sequence[SearchHit]:
        """Return the turns that contain the text."""

    def totals(self) -> Totals:
        """Return the usage totals of the conversation."""

    def media(self, turn_id: str, key: str) -> bytes | None:
        """Return the bytes of an image or a sound of a turn, if they may be sent to a page."""

    def cell(self, request: CellRequest) -> str:
        """Return the source of the cell for an action."""

    def name_branch(self, turn_id: str, name: str) -> str:
        """Make the branch of a turn a chat of its own with this name; return what was done."""


class ExplorerWidget(HistoryWidget):
    """Shows the history of one conversation, in its state when the page requests it.

    `title` names it, `turn` is opened first (empty: the last one);
    `acts` are the actions that the page may offer (see `explorer_messages.CELL_ACTIONS`).
    """

    _esm = read_asset("explorer.js")
    _css = read_asset("explorer.css")

    turn = traitlets.Unicode().tag(sync=True)
    acts = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, history: History, *, title: str, acts: Sequence[str], turn: str = "") -> None:
        self._history = history
        self._received_ids: deque[str] = deque(maxlen=MAX_REMEMBERED_IDS)
        self._lock = threading.Lock()
        super().__init__(title=title, acts=list(acts), turn=turn)

    def receive(self, content: object) -> bool:
        """Handle a message of the page, on any thread; return whether it was ours and new."""
        message = parse_message(content, nonce=self.nonce)
        with self._lock:
            if message is None or message.message_id in self._received_ids:
                return False
            self._received_ids.append(message.message_id)
            try:
                self._answer(message)
            except NbtoolError as error:
                self._send_message({"v": VERSION, "kind": "refused", "id": message.message_id, "text": str(error)})
        return True

    def _answer(self, message: ExplorerMessage) -> None:
        message_id = message.message_id
        match message.kind:
            case "hello":
                self._send_message({"v": VERSION, "kind": "index", "id": message_id, "index": self._history.index()})
            case "open":
                detail = self._history.detail(message.turn_id)
                self._send_message({"v": VERSION, "kind": "turn", "id": message_id, "detail": detail})
            case "search":
                found = list(self._history.search(message.text))
                self._send_message({"v": VERSION, "kind": "found", "id": message_id, "found": found})
            case "totals":
                self._send_message({"v": VERSION, "kind": "totals", "id": message_id, "totals": self._history.totals()})
            case "cell" | "name":
                self._send_message(self._answer_text(message))
            case "rich" | "formulas":
                self._send_lazy_module(message.kind)
            case "media":
                self._send_bytes(message.key, self._history.media(message.turn_id, message.key))

    def _answer_text(self, message: ExplorerMessage) -> Answer:
        """Return the source of a cell, or what was done."""
        if message.cell:
            return {
                "v": VERSION, "kind": "cell", "id": message.message_id, "text": self._history.cell(message.cell)
            }  # fmt: skip
        text = self._history.name_branch(message.turn_id, message.text)
        return {"v": VERSION, "kind": "named", "id": message.message_id, "text": text}

    def _send_message(self, answer: Answer) -> None:
        self.send(answer)
