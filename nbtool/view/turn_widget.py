"""The widget of a running turn: sends patches to the page and receives the person's clicks.

One thread writes: nbtool's own loop. Messages of the page are received on any thread, validated there, and
handled on the loop. The authoritative state is the transcript here; the page holds a copy and requests a new one
if it has missed a message.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.media import displayable_bytes
from nbtool.blocks.protocol import VERSION, Document
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.errors import NbtoolError
from nbtool.events import CallAsked, Event, TurnEnded, TurnParked, TurnStarted
from nbtool.threadless import new_event
from nbtool.view.assets import read_asset
from nbtool.view.lazy_module import load_lazy_module
from nbtool.view.page_messages import BindRequest, TurnMessage, parse_message
from nbtool.view.patch_batching import LoopClock, PatchQueue, Throttle, encode_patch
from nbtool.view.protocol import BoundMessage, DecidedMessage, KernelMessage, OutputReplacement, TurnAction

MAX_REMEMBERED_IDS = 256
"""How many message ids are remembered, so that a message delivered twice counts once."""

REPLACE_SECONDS = 2.0
"""Seconds for each page to load the final output; pages load it one after the other, the newest first."""

Receive = Callable[[object], bool]
"""Handles a message of the page, on any thread; returns whether it was valid and new."""


def listened_id(listen: Callable[[str, Receive], object] | None, receive: Receive) -> dict[str, str]:
    """Start to listen for a widget that is created next; return the traits by which it gets the id for that."""
    if listen is None:
        return {}
    model_id = uuid4().hex
    listen(model_id, receive)
    return {"model_id": model_id, "place": model_id}


class TurnWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget ships no types
    """Shows one turn while it runs, with its questions and a Stop button.

    `decide(digest, verdict)` is called on the loop for every decision that the page sends. `verdict` holds
    `verdict` (`approved`, `denied`, `released`, `withheld`) and, where they belong, `remember` (`call`, `tool` or
    None), `arguments` (edited, or None), `reason` and `text` (edited, or None). It raises an `NbtoolError` to refuse,
    `AlreadyDecided` above all. `stop()` requests the end of the turn, `stop_call(call_id)` that of
    one running call. `post(action)` runs an action on the loop, from
    any thread. `bind(binding)` binds a result, returns the name, and raises an `NbtoolError` to refuse.
    `run_action(action)` returns the source of a cell, which the page inserts below and only the person runs; the page
    offers the actions listed in the head under `acts`. `cell` is the id of the cell that displays the widget, `control`
    whether the kernel receives its messages over the control channel too. `listen` gets the id of its comm and
    `receive` before the comm is opened, so that no message of a fast page is missed. With
    `broadcasts` the page also posts its messages to a BroadcastChannel.

    A widget that replaces another one, when the turn outlives its cell, gets that one's `transcript`, and shows the
    blocks from `first_block` on; `document` is its initial state.
    """

    _esm = read_asset("widget.js")
    _css = read_asset("widget.css")

    turn_id = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    nonce = traitlets.Unicode().tag(sync=True)
    snapshot = traitlets.Dict().tag(sync=True)
    rich = traitlets.Dict().tag(sync=True)
    cell = traitlets.Unicode().tag(sync=True)
    seen = traitlets.Bool().tag(sync=True)
    control = traitlets.Bool().tag(sync=True)
    broadcasts = traitlets.Bool().tag(sync=True)

    def __init__(  # noqa: PLR0913 - the callbacks of a widget, by keyword
        self,
        turn_id: str,
        *,
        decide: Callable[[str, dict[str, Any]], object],
        stop: Callable[[], object],
        stop_call: Callable[[str], object] = lambda _: None,
        post: Callable[[Callable[[], None]], object],
        bind: Callable[[BindRequest], str] | None = None,
        run_action: Callable[[TurnAction], str] | None = None,
        broadcasts: bool = False,
        cell: str = "",
        control: bool = False,
        listen: Callable[[str, Receive], object] | None = None,
        clock: LoopClock | None = None,
        transcript: Transcript | None = None,
        first_block: int = 0,
        document: Document | None = None,
    ) -> None:
        self.page_ready = new_event()
        # ipykernel 7.0 takes a message's cell from the context, which the listener's thread does not have.
        self._context = copy_context()
        self._decide, self._stop, self._post, self._bind = decide, stop, post, bind
        self._run_action, self._stop_call = run_action, stop_call
        self._transcript = transcript or Transcript()
        self._first_block = first_block
        self._pages: dict[str, bool] = {}
        self._replacements: list[tuple[str, dict[str, Any]]] = []
        self._queue = PatchQueue()
        self._clock = clock
        self._throttle = Throttle(self._send_patches, clock)
        self._seq = 0
        self._received_ids: deque[str] = deque(maxlen=MAX_REMEMBERED_IDS)
        self._receiving = threading.Lock()
        snapshot = document or self.document
        super().__init__(
            **listened_id(listen, self.receive),
            turn_id=turn_id,
            nonce=uuid4().hex,
            snapshot=snapshot,
            cell=cell,
            control=control,
            broadcasts=broadcasts,
        )
        self.place = self.model_id or ""  # the page finds its own cell by this id

    def __repr__(self) -> str:
        """Return the text that front ends without widgets show while the turn runs."""
        return "This front end does not support widgets: the turn is shown here when it has ended."

    def mimebundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what shows this widget in an output, and its metadata.

        The object itself must not be displayed: ipywidgets 7 would display it without an id, by which it is replaced.
        """
        data, metadata = self._repr_mimebundle_() or ({}, {})
        return dict(data), dict(metadata)

    def close(self) -> None:
        """Close, including the layout that ipywidgets creates for every widget and would never remove."""
        super().close()
        self.layout.close()

    @property
    def transcript(self) -> Transcript:
        """The turn as blocks."""
        return self._transcript

    def feed(self, event: Event) -> None:
        """Show the next event of the turn; on the loop only. A question and the end are sent immediately."""
        patches = self._transcript.feed(event)
        if not patches:
            return
        self._queue.add(patches)
        if isinstance(event, (TurnStarted, CallAsked, TurnParked, TurnEnded)):
            self.flush()
        else:
            self._throttle.request()
        if isinstance(event, (TurnParked, TurnEnded)):
            self.snapshot = dict(self.document)

    def update_head(self, **head: Any) -> None:
        """Set head fields that events do not contain (see `blocks.protocol.Head`); on the loop only."""
        self._queue.add(self._transcript.update_head(**head))
        self._throttle.request()

    def show_changes(self, text: str, *, can_undo: bool) -> None:
        """Show what the turn did to the notebook, and whether that can be undone; on the loop only."""
        self._queue.add(self._transcript.show_changes(text, can_undo))
        self._throttle.request()

    def resume(self) -> None:
        """Start sending events; on the loop only, before the page shows this widget: its hello requests the rest."""
        self.snapshot = dict(self.document)

    def flush(self) -> None:
        """Send pending patches immediately; on the loop only."""
        self._throttle.flush()

    def receive(self, content: object) -> bool:
        """Handle a message of the page, on any thread; return whether it was ours.

        A message that is not ours, not for this turn, invalid, or a duplicate is dropped without an answer. Two threads
        may receive the same message: the page sends some over the comm and the control channel.
        """
        message = parse_message(content, turn_id=self.turn_id, nonce=self.nonce)
        with self._receiving:
            if message is None or message.message_id in self._received_ids:
                return False
            self._received_ids.append(message.message_id)
        if message.kind in ("hello", "resync"):  # a page that connects mid-stream may be answered before its hello
            self._pages.setdefault(_page(message), False)
            self.page_ready.set()
        self._post(partial(self._context.run, self._answer, message))
        return True

    def finish(self) -> dict[str, Any]:
        """Return the final output in place of the widget, as built by `blocks.render.mimebundle`.

        Replace the output with it first, then call `close_when_replaced`.
        """
        return turn_mimebundle(self.document, self._transcript.media)

    def close_when_replaced(self, *replacements: tuple[str, dict[str, Any]]) -> None:
        """Close once every page shows the replacement.

        A page that was reloaded does not get an update of its output, nor does one that is loading now: it sends hello
        and gets the replacement then. `replacements` are the former outputs (a widget's id, or the plain text of an
        output), each with what replaces it.
        """
        self._replacements = list(replacements)
        if self._pages:
            self._announce_replacement()
        else:
            self.close()

    @property
    def document(self) -> Document:
        """The current document."""
        document = self._transcript.document()
        document["blocks"] = document["blocks"][self._first_block :]
        return document

    def _answer(self, message: TurnMessage) -> None:
        match message.kind:
            case "ping":
                self._send_message({"v": VERSION, "kind": "pong", "id": message.message_id})
            case "took":
                self._on_replaced(message)
            case _:
                self._dispatch(message)
                self._send_message({"v": VERSION, "kind": "ack", "id": message.message_id})

    def _dispatch(self, message: TurnMessage) -> None:
        match message.kind:
            case "hello" | "resync":
                self._on_hello()
            case "stop":
                self._stop()
            case "stop_call":
                self._stop_call(message.call_id)
            case "bind":
                self._on_bind(message)
            case "rich":
                self._send_lazy_module()
            case "act":
                self._on_action(message)
            case "media":
                self._send_media(message.key)
            case _:
                self._on_decision(message)

    def _on_hello(self) -> None:
        self.seen = True
        self._send_snapshot()
        if self._replacements:
            self._announce_replacement()

    def _announce_replacement(self) -> None:
        # The page that has shown the turn from its start has replaced its output already, and only records it.
        places: list[OutputReplacement] = [{"was": was, "data": data} for was, data in self._replacements]
        pages = list(reversed(self._pages))
        self._send_message({"v": VERSION, "kind": "left", "pages": pages, "places": places if len(pages) > 1 else []})

    def _on_replaced(self, message: TurnMessage) -> None:
        """Record that a page shows the replacement; close after the last one, or when the older ones had time."""
        self._pages[_page(message)] = True
        if not self._replacements:
            return
        if all(self._pages.values()):
            self.close()
        elif list(self._pages.values())[-1]:
            clock = self._clock or asyncio.get_running_loop()
            clock.call_later(REPLACE_SECONDS * len(self._pages), self.close)

    def _on_decision(self, message: TurnMessage) -> None:
        """Forward a decision; a late one is reported to the page immediately."""
        problem = ""
        try:
            self._decide(message.digest, message.verdict or {})
        except NbtoolError as error:
            problem = str(error)
        outcome: DecidedMessage = {
            "v": VERSION,
            "kind": "decided",
            "id": message.message_id,
            "digest": message.digest,
            "ok": not problem,
            "text": problem,
        }
        self._send_message(outcome)

    def _on_bind(self, message: TurnMessage) -> None:
        """Bind a result in the notebook and send the name, or the reason why not."""
        request, name, problem = message.binding or BindRequest(""), "", ""
        try:
            if self._bind is None:
                raise NbtoolError("Binding needs a notebook, and there is none here.")
            name = self._bind(request)
        except NbtoolError as error:
            problem = str(error)
        outcome: BoundMessage = {
            "v": VERSION,
            "kind": "bound",
            "id": message.message_id,
            "call_id": request.call_id,
            "ok": not problem,
            "name": name,
            "text": problem,
        }
        self._send_message(outcome)

    def _on_action(self, message: TurnMessage) -> None:
        """Send the source of a cell, or the reason why there is none."""
        text, problem = "", ""
        try:
            if self._run_action is None or message.action is None:
                raise NbtoolError("This needs a notebook, and there is none here.")
            text = self._run_action(message.action)
        except NbtoolError as error:
            problem = str(error)
        answer = text or problem
        self._send_message({"v": VERSION, "kind": "cell", "id": message.message_id, "ok": not problem, "text": answer})

    def _send_patches(self) -> None:
        if self._queue:
            self._seq += 1
            patches = [encode_patch(patch) for patch in self._queue.pop_all()]
            self._send_message({"v": VERSION, "kind": "patches", "seq": self._seq, "patches": patches})

    def _send_snapshot(self) -> None:
        self._queue.pop_all()  # the document already contains them
        self._send_message({"v": VERSION, "kind": "snapshot", "seq": self._seq, "document": self.document})

    def embed_lazy_module(self) -> None:
        """Include the second module with this widget: for a page that cannot send requests."""
        with suppress(OSError):
            module = load_lazy_module()
            self.rich = {"version": module.version, "packed": module.gzipped}

    def _send_lazy_module(self) -> None:
        """Send the second module; without it the page shows plain text."""
        with suppress(OSError):
            module = load_lazy_module()
            self._send_message({"v": VERSION, "kind": "rich", "version": module.version}, [module.gzipped])

    def _send_media(self, key: str) -> None:
        """Send the bytes of an image or a sound; without them the page shows its description."""
        if data := displayable_bytes(self._transcript.find_media(key)):
            self._send_message({"v": VERSION, "kind": "media", "key": key}, [data])

    def _send_message(self, message: KernelMessage, buffers: list[bytes] | None = None) -> None:
        self.send(message, buffers)


def _page(message: TurnMessage) -> str:
    """Return the page that sent a message: message ids are the page's name and a counter."""
    return message.message_id.rpartition("-")[0]
