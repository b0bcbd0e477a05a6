"""What the widgets that run beside a cell share: hearing the page on any thread, and leaving their output at the end.

Messages of the page are received on any thread, validated there, and handled on nbtool's own loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

import anywidget
import traitlets

from nbtool.blocks.protocol import VERSION
from nbtool.clock import monotonic
from nbtool.turn_place import REPORTS, TurnPlace
from nbtool.view.patch_batching import LoopClock
from nbtool.view.protocol import OutputReplacement
from nbtool.view.saved_form import DISPLAY_SECONDS, MESSAGE_SECONDS, Build, Form, SavedForm

MAX_REMEMBERED_IDS = 256
"""How many message ids are remembered, so that a message delivered twice counts once."""

REPLACE_SECONDS = 2.0
"""Seconds for each page to load the final output; pages load it one after the other, the newest first."""

Receive = Callable[[object], bool]
"""Handles a message of the page, on any thread; returns whether it was valid and new."""

Listen = Callable[[str, Receive], object]
"""Starts to listen for a widget by the id of its comm."""


class PageMessage(Protocol):
    """A validated message of a page."""

    @property
    def kind(self) -> Any:
        """What it is."""

    @property
    def message_id(self) -> str:
        """Its id: the page's name and a counter."""

    @property
    def notebook(self) -> str:
        """Of a greeting: the path of the notebook that the page writes to its file; empty where it does not."""

    @property
    def session(self) -> str:
        """Of a greeting: the session of the page's requests."""


def listened_id(listen: Listen | None, receive: Receive) -> dict[str, str]:
    """Start to listen for a widget that is created next; return the traits by which it gets the id for that."""
    if listen is None:
        return {}
    model_id = uuid4().hex
    listen(model_id, receive)
    return {"model_id": model_id, "place": model_id}


class LiveWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget ships no types
    """A widget whose page is heard while a cell runs, and whose output is replaced at the end.

    `post(action)` runs an action on nbtool's loop, from any thread. `cell` is the id of the cell that displays the
    widget, `control` whether the kernel receives its messages over the control channel too. `listen` gets the id of
    its comm and `receive` before the comm is opened, so that no message of a fast page is missed. With `broadcasts`
    the page also posts its messages to a BroadcastChannel. `on_notebook(session, path)` gets the session of each page
    that says its notebook. `traits` are those of the kind of widget.

    `update_output(form)` updates the display that shows the widget, which also keeps it; None before there is one.
    """

    place = traitlets.Unicode().tag(sync=True)
    nonce = traitlets.Unicode().tag(sync=True)
    snapshot = traitlets.Dict().tag(sync=True)
    cell = traitlets.Unicode().tag(sync=True)
    seen = traitlets.Bool().tag(sync=True)
    control = traitlets.Bool().tag(sync=True)
    broadcasts = traitlets.Bool().tag(sync=True)

    def __init__(
        self,
        *,
        post: Callable[[Callable[[], None]], object],
        listen: Listen | None = None,
        clock: LoopClock | None = None,
        on_notebook: Callable[[str, str], object] = lambda *_: None,
        **traits: Any,
    ) -> None:
        self.turn_place, self.created_at = TurnPlace(), monotonic()
        self.update_output: Callable[[Form], object] | None = None
        self._saved_form = SavedForm(self._prepare_form, self._deliver_form, clock)
        self._is_page_writing = False
        # ipykernel 7.0 takes a message's cell from the context, which the listener's thread does not have.
        self._context = copy_context()
        self._post, self._clock, self._on_notebook = post, clock, on_notebook
        self._pages: dict[str, bool] = {}
        self._replacements: list[tuple[str, dict[str, Any]]] = []
        self._received_ids: deque[str] = deque(maxlen=MAX_REMEMBERED_IDS)
        self._receiving = threading.Lock()
        super().__init__(**listened_id(listen, self.receive), nonce=uuid4().hex, **traits)
        self.place = self.model_id or ""  # the page finds its own cell by this id

    def mimebundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what shows this widget in an output, and its metadata.

        The object itself must not be displayed: ipywidgets 7 would display it without an id, by which it is replaced.
        """
        data, metadata = self._repr_mimebundle_() or ({}, {})
        return dict(data), dict(metadata)

    def close(self) -> None:
        """Close, including the layout that ipywidgets creates for every widget and would never remove."""
        self._saved_form.stop()
        super().close()
        self.layout.close()

    def receive(self, content: object) -> bool:
        """Handle a message of the page, on any thread; return whether it was ours.

        A message that is not ours, not for this widget, invalid, or a duplicate is dropped without an answer. Two
        threads may receive the same message: the page sends some over the comm and the control channel.
        """
        message = self._parse(content)
        with self._receiving:
            if message is None or message.message_id in self._received_ids:
                return False
            self._received_ids.append(message.message_id)
        if message.kind in ("present", "hello", "resync"):
            self._pages.setdefault(_page(message), False)
        if message.notebook:
            self._on_notebook(message.session, message.notebook)
        if message.kind in REPORTS:
            self.turn_place.report(_page(message), message.kind)
        elif message.kind == "resync":  # a page that connects mid-stream may be answered before its hello
            self.turn_place.report(_page(message), "hello")
        self._post(partial(self._context.run, self._answer, message))
        return True

    def close_when_replaced(self, *replacements: tuple[str, dict[str, Any]]) -> None:
        """Close once every page shows the replacement.

        A page that was reloaded does not get an update of its output, nor does one that is loading now: it sends hello
        and gets the replacement then. `replacements` are the former outputs (a widget's id, or the plain text of an
        output), each with what replaces it.
        """
        self._saved_form.stop()
        self._replacements = list(replacements)
        if self._pages:
            self._announce_replacement()
        else:
            self.close()

    def _parse(self, content: object) -> PageMessage | None:
        """Return a message of the page, None if it is none of this widget's."""
        raise NotImplementedError

    def _dispatch(self, message: Any) -> None:
        """Do what the page requests; on the loop."""
        raise NotImplementedError

    def _send_snapshot(self) -> None:
        """Send all that the page shows; on the loop."""
        raise NotImplementedError

    def _prepare_form(self) -> Build:
        """Return what builds the output for a notebook that is saved now, on any thread; on the loop."""
        raise NotImplementedError

    def _renew_form(self, *, at_once: bool = False) -> None:
        """Renew the form for a notebook that is saved now, soon or immediately; on the loop."""
        if self._is_page_writing:
            self._saved_form.renew(0 if at_once else MESSAGE_SECONDS)
        elif self.update_output is not None:
            self._saved_form.renew(0 if at_once else DISPLAY_SECONDS)

    def _deliver_form(self, form: Form) -> None:
        if self._is_page_writing:
            self._send_message({"v": VERSION, "kind": "form", "data": form})
        elif self.update_output is not None:
            self.update_output(form)

    def _send_message(self, message: Any, buffers: Sequence[bytes] | None = None) -> None:
        self.send(message, buffers)

    def _answer(self, message: PageMessage) -> None:
        match message.kind:
            case "ping":
                self._send_message({"v": VERSION, "kind": "pong", "id": message.message_id})
            case "took":
                self._on_replaced(message)
            case kind:
                if message.notebook:
                    self._is_page_writing = True
                    self._renew_form(at_once=True)
                if kind in ("hello", "resync"):
                    self._on_hello()
                elif kind not in REPORTS:
                    self._dispatch(message)
                self._send_message({"v": VERSION, "kind": "ack", "id": message.message_id})

    def _on_hello(self) -> None:
        self.seen = True
        self._send_snapshot()
        if self._replacements:
            self._announce_replacement()

    def _announce_replacement(self) -> None:
        # The page that has shown the widget from its start has replaced its output already, and only records it;
        # not if its view went away meanwhile: an output that moved with its cell gets no update.
        has_others = len(self._pages) > 1 or self.turn_place.was_gone
        places: list[OutputReplacement] = [{"was": was, "data": data} for was, data in self._replacements]
        pages = list(reversed(self._pages))
        self._send_message({"v": VERSION, "kind": "left", "pages": pages, "places": places if has_others else []})

    def _on_replaced(self, message: PageMessage) -> None:
        """Record that a page shows the replacement; close after the last one, or when the older ones had time."""
        self._pages[_page(message)] = True
        if not self._replacements:
            return
        if all(self._pages.values()):
            self.close()
        elif list(self._pages.values())[-1]:
            clock = self._clock or asyncio.get_running_loop()
            clock.call_later(REPLACE_SECONDS * len(self._pages), self.close)


def _page(message: PageMessage) -> str:
    """Return the page that sent a message: message ids are the page's name and a counter."""
    return message.message_id.rpartition("-")[0]
