"""The widget of a running turn: patches go out to the page, the person's clicks come in.

One thread writes: nbtool's own loop. Messages of the page are heard on whatever thread they arrive, checked there,
and answered on the loop. The state that counts is the transcript here; the page holds a copy and asks for a new one
when it has missed a message.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from nbtool.blocks.shapes import VERSION, Document
from nbtool.blocks.static_html import saved
from nbtool.blocks.transcript import Transcript
from nbtool.errors import NbtoolError
from nbtool.events import CallAsked, Event, TurnEnded, TurnStarted
from nbtool.view.heard import Heard, read
from nbtool.view.pacing import Clock, Pace, PatchQueue

HEARD_LIMIT = 256
"""How many messages are remembered, so that one which arrives by two roads counts once."""

STATIC = Path(__file__).parent / "static"


def _built(name: str) -> Path:
    path = STATIC / name
    if not path.is_file():
        msg = f"The page's part of nbtool is not built: {path} is missing. Run `npm ci && node build.mjs` in js/."
        raise ImportError(msg)
    return path


class TurnWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget ships no types
    """Shows one turn while it runs, with its questions and a Stop.

    `decide(digest, verdict)` is called on the loop for every decision that the page sends. `verdict` holds
    `verdict` (`approved`, `denied`, `released`, `withheld`) and, where they belong, `remember` (`call`, `tool` or
    None), `arguments` (edited, or None), `reason` and `text` (edited, or None). It raises an `NbtoolError` to refuse,
    `AlreadyDecided` above all. `stop()` asks for the end of the turn. `post(deed)` runs a deed on the loop, from any
    thread.
    """

    _esm = _built("widget.js")
    _css = _built("widget.css")

    turn_id = traitlets.Unicode().tag(sync=True)
    nonce = traitlets.Unicode().tag(sync=True)
    snapshot = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        turn_id: str,
        *,
        decide: Callable[[str, dict[str, Any]], object],
        stop: Callable[[], object],
        post: Callable[[Callable[[], None]], object],
        clock: Clock | None = None,
    ) -> None:
        self.heard_hello = threading.Event()
        self._decide, self._stop, self._post = decide, stop, post
        self._transcript = Transcript()
        self._queue = PatchQueue()
        self._pace = Pace(self._send_patches, clock)
        self._seq = 0
        self._heard: deque[str] = deque(maxlen=HEARD_LIMIT)
        super().__init__(turn_id=turn_id, nonce=uuid4().hex, snapshot=self._transcript.document())

    @property
    def transcript(self) -> Transcript:
        """The turn as blocks."""
        return self._transcript

    def feed(self, event: Event) -> None:
        """Show the next event of the turn; on the loop only. A question and the end are shown at once."""
        patches = self._transcript.feed(event)
        if not patches:
            return
        self._queue.add(patches)
        if isinstance(event, (TurnStarted, CallAsked, TurnEnded)):
            self.flush()
        else:
            self._pace.want()
        if isinstance(event, TurnEnded):
            self.snapshot = dict(self._transcript.document())

    def flush(self) -> None:
        """Send what waits, now; on the loop only."""
        self._pace.now()

    def hear(self, content: object) -> bool:
        """Take a message of the page, on any thread; says whether it was one of ours.

        What is not ours, not for this turn, not whole, or came before by another road is dropped without an answer.
        """
        heard = read(content, turn_id=self.turn_id, nonce=self.nonce)
        if heard is None or heard.message_id in self._heard:
            return False
        self._heard.append(heard.message_id)
        if heard.kind == "hello":
            self.heard_hello.set()
        self._post(lambda: self._answer(heard))
        return True

    def finish(self) -> dict[str, str]:
        """Give what stands in the widget's place from now on: `text/html` and `text/plain`.

        Replace the output by it first, then `close()` the widget.
        """
        return saved(self._transcript.document())

    @property
    def document(self) -> Document:
        """The turn as it stands."""
        return self._transcript.document()

    def _answer(self, heard: Heard) -> None:
        match heard.kind:
            case "ping":
                self._say("pong", id=heard.message_id)
                return
            case "hello" | "resync":
                self._send_snapshot()
            case "stop":
                self._stop()
            case _:
                self._settle(heard)
        self._say("ack", id=heard.message_id)

    def _settle(self, heard: Heard) -> None:
        """Hand a decision on; the page is told at once when it came too late."""
        problem = ""
        try:
            self._decide(heard.digest, heard.verdict or {})
        except NbtoolError as error:
            problem = str(error)
        self._say("decided", id=heard.message_id, digest=heard.digest, ok=not problem, text=problem)

    def _send_patches(self) -> None:
        if self._queue:
            self._seq += 1
            self._say("patches", seq=self._seq, patches=self._queue.take())

    def _send_snapshot(self) -> None:
        self._queue.take()  # the document holds them already
        self._say("snapshot", seq=self._seq, document=self._transcript.document())

    def _say(self, kind: str, **values: Any) -> None:
        self.send({"v": VERSION, "kind": kind, **values})
