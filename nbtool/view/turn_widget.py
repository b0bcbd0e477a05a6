"""The widget of a running turn: sends patches to the page and receives the person's clicks.

One thread writes: nbtool's own loop. The authoritative state is the transcript here; the page holds a copy and requests
a new one if it has missed a message.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, get_args

import traitlets

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.media import displayable_bytes
from nbtool.blocks.protocol import VERSION, Document, Patch
from nbtool.blocks.render.mimebundle import embedded_turn, turn_mimebundle, unfinished_mimebundle
from nbtool.blocks.render.static_html import COLLAPSED_QUESTION
from nbtool.errors import NbtoolError
from nbtool.events import CallAsked, Event, TurnEnded, TurnParked, TurnStarted
from nbtool.threads.loop import run_sync
from nbtool.view.actions import ActionId
from nbtool.view.assets import read_asset
from nbtool.view.lazy_module import LazyName, load_lazy_module
from nbtool.view.live_widget import LiveWidget
from nbtool.view.page_messages import BindRequest, TurnMessage, parse_message
from nbtool.view.patch_batching import PatchQueue, Throttle, encode_patch
from nbtool.view.protocol import AddedMessage, BoundMessage, DecidedMessage
from nbtool.view.saved_form import Build


class TurnWidget(LiveWidget):
    """Shows one turn while it runs, with its questions and a Stop button.

    `decide(digest, verdict)` is called on the loop for every decision that the page sends. `verdict` holds
    `verdict` (`approved`, `denied`, `released`, `withheld`) and, where they belong, `remember` (`call`, `tool` or
    None), `arguments` (edited, or None), `reason` and `text` (edited, or None). It raises an `NbtoolError` to refuse,
    `AlreadyDecided` above all. `stop()` requests the end of the turn, `stop_call(call_id)` that of
    one running call. `bind(binding)` binds a result, returns the name, and raises an `NbtoolError` to refuse.
    `run_action(action)` returns the source of a cell, which the page inserts below and only the person runs; the page
    offers the actions listed in the head under `acts`. `add(text)` adds a text to the running turn, and raises an
    `NbtoolError` to refuse. `on_shown(digest)` is called for each question that a connected
    page was sent. `options` are those of a `LiveWidget`.

    A widget that replaces another one, when the turn outlives its cell, gets that one's `transcript`, and shows the
    blocks from `first_block` on; `document` is its initial state.
    """

    _esm = read_asset("widget.js")
    _css = read_asset("widget.css")

    turn_id = traitlets.Unicode().tag(sync=True)
    rich: Any = traitlets.List().tag(sync=True)

    def __init__(  # noqa: PLR0913 - the callbacks of a widget, by keyword
        self,
        turn_id: str,
        *,
        decide: Callable[[str, dict[str, Any]], object],
        stop: Callable[[], object],
        stop_call: Callable[[str], object] = lambda _: None,
        bind: Callable[[BindRequest], str] | None = None,
        run_action: Callable[[ActionId], str] | None = None,
        add: Callable[[str], object] | None = None,
        on_shown: Callable[[str], object] = lambda _: None,
        transcript: Transcript | None = None,
        first_block: int = 0,
        document: Document | None = None,
        **options: Any,
    ) -> None:
        self._decide, self._stop, self._bind = decide, stop, bind
        self._run_action, self._stop_call, self._on_shown = run_action, stop_call, on_shown
        self._add = add
        self._transcript = transcript or Transcript()
        self._first_block = first_block
        self._queue = PatchQueue()
        self._throttle = Throttle(self._send_patches, options.get("clock"))
        self._seq = 0
        super().__init__(turn_id=turn_id, snapshot=document or self.document, **options)

    def __repr__(self) -> str:
        """Return the text of the output while the turn runs, also where it is collapsed or without widgets."""
        return (
            f"{COLLAPSED_QUESTION}\n"  # JupyterLab shows the first line of a collapsed output
            "Without widgets it is shown when it has ended. If it had not ended when this was saved: "
            f"`%chat open {self.turn_id}`."
        )

    @property
    def transcript(self) -> Transcript:
        """The turn as blocks."""
        return self._transcript

    def feed(self, event: Event) -> None:
        """Show the next event of the turn; on the loop only. A question and the end are sent immediately."""
        self._show(self._transcript.feed(event), event)

    def _show(self, patches: list[Patch], event: Event) -> None:
        """Send what an event changed."""
        if not patches:
            return
        self._queue.add(patches)
        self._renew_after(event)
        if isinstance(event, (TurnStarted, CallAsked, TurnParked, TurnEnded)):
            self.flush()
            if isinstance(event, CallAsked) and self.turn_place.state == "seen":
                self._on_shown(event.digest)
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

    def finish(self) -> dict[str, Any]:
        """Return the final output in place of the widget, as built by `blocks.render.mimebundle`.

        Replace the output with it first, then call `close_when_replaced`.
        """
        return turn_mimebundle(self.document, self._transcript.media)

    @property
    def document(self) -> Document:
        """The current document."""
        document = self._transcript.document()
        document["blocks"] = document["blocks"][self._first_block :]
        return document

    def _get_embed_state(self, drop_defaults: bool = False) -> dict[str, Any]:
        """Return the state for a page without a kernel (`ipywidgets.embed`), which shows what has come so far."""
        state: dict[str, Any] = super()._get_embed_state(drop_defaults)
        state["state"]["snapshot"] = embedded_turn(run_sync(self._document_now()), self.turn_id)
        return state

    async def _document_now(self) -> Document:
        return self.document

    def _parse(self, content: object) -> TurnMessage | None:
        return parse_message(content, turn_id=self.turn_id, nonce=self.nonce)

    def _dispatch(self, message: TurnMessage) -> None:
        match message.kind:
            case "stop":
                self._stop()
            case "stop_call":
                self._stop_call(message.call_id)
            case "bind":
                self._on_bind(message)
            case "rich" | "formulas":
                self._send_lazy_module(message.kind)
            case "act":
                self._on_action(message)
            case "add":
                self._on_addition(message)
            case "media":
                self._send_media(message.key)
            case _:
                self._on_decision(message)

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

    def _on_addition(self, message: TurnMessage) -> None:
        """Add a text to the running turn, and report whether it was added."""
        problem = ""
        try:
            if self._add is None:
                raise NbtoolError("Nothing can be added to this turn.")
            self._add(message.text)
        except NbtoolError as error:
            problem = str(error)
        outcome: AddedMessage = {
            "v": VERSION,
            "kind": "added",
            "id": message.message_id,
            "ok": not problem,
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

    def _prepare_form(self) -> Build:
        return partial(unfinished_mimebundle, self.document, dict(self._transcript.media), self.turn_id)

    def _renew_after(self, event: Event) -> None:
        """Renew what a notebook that is saved now keeps: a question immediately, nothing while somebody may answer it.

        An update of the display could take the focus from a card, so there is none until the decision.
        """
        if isinstance(event, TurnEnded):
            self._saved_form.stop()  # the final output replaces it
        is_asking = self._transcript.head["status"] in ("waiting", "parked")
        if isinstance(event, CallAsked):
            self._renew_form(at_once=True)
        elif self._is_page_writing or not is_asking:
            self._renew_form()

    def _send_patches(self) -> None:
        if self._queue:
            self._seq += 1
            patches = [encode_patch(patch) for patch in self._queue.pop_all()]
            self._send_message({"v": VERSION, "kind": "patches", "seq": self._seq, "patches": patches})

    def _send_snapshot(self) -> None:
        self._queue.pop_all()  # the document already contains them
        document = self.document
        self._send_message({"v": VERSION, "kind": "snapshot", "seq": self._seq, "document": document})
        for block in document["blocks"]:
            if block["kind"] == "call" and block["question"]:
                self._on_shown(block["question"]["digest"])

    def embed_lazy_modules(self) -> None:
        """Include the later modules with this widget: for a page that cannot send requests."""
        with suppress(OSError):
            modules = [load_lazy_module(name) for name in get_args(LazyName)]
            self.rich = [{"version": module.version, "packed": module.gzipped} for module in modules]

    def _send_lazy_module(self, name: LazyName) -> None:
        """Send a module; without it the page shows plain text."""
        with suppress(OSError):
            module = load_lazy_module(name)
            self._send_message({"v": VERSION, "kind": "rich", "version": module.version}, [module.gzipped])

    def _send_media(self, key: str) -> None:
        """Send the bytes of an image or a sound; without them the page shows its description."""
        if data := displayable_bytes(self._transcript.find_media(key)):
            self._send_message({"v": VERSION, "kind": "media", "key": key}, [data])
