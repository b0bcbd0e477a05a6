"""A turn's view in a page: the widget, its clicks, and the static output at the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.display import display

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.protocol import Document, NoticeBlock
from nbtool.blocks.render.mimebundle import TURN_MIME, folded, turn_mimebundle
from nbtool.chat.chat import Chat
from nbtool.clock import monotonic
from nbtool.events import Event
from nbtool.magics.kernel.cell_messages import cell_of_turn, routes_output_by_context
from nbtool.magics.names.result_binding import bind_result
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.notebook.turn_code import turn_code
from nbtool.magics.notebook.turn_output import chat_field, host_fields, version_fields
from nbtool.magics.views.cleared_output import capturing_outputs, not_captured, show_in_outputs
from nbtool.magics.views.next_cell import say_in_next_cell
from nbtool.magics.views.page_link import PageLink, close_former, display_widget
from nbtool.magics.views.pageless_views import OutputView
from nbtool.magics.views.shown_turns import ShownTurn, shown_turns
from nbtool.threads.loop import background_loop, run_sync
from nbtool.turn_place import REMOVED_SECONDS
from nbtool.view.actions import ActionId, actions_at
from nbtool.view.page_messages import decide_by_click

if TYPE_CHECKING:
    from nbtool.chat.turn import Turn
    from nbtool.messages import Media
    from nbtool.view.turn_widget import TurnWidget

PARKED = "Waiting for you; other cells can run."
PARKED_UNSEEN = (
    "A turn waits for a decision, and its output is no longer there: `%chat approvals` shows the call, `%chat approve` "
    "and `%chat deny` decide it."
)
NOTHING = {"text/html": "", "text/plain": ""}
"""In the place of a card that was decided: its turn is above it."""

REDRAW_SECONDS = 10.0
"""Seconds in which a page that shows the notebook draws an output, also where it is busy."""


class WidgetView(OutputView):
    """Shows a turn in the page, receives its clicks, and replaces the widget by static output at the end.

    When the turn is parked, the output becomes the static transcript so far, and a live card is shown below it.
    """

    def __init__(
        self,
        shell: Any,
        turn: Turn,
        chat: Chat,
        cells: CellSource | None = None,
        *,
        on_rerun: Callable[[], object] | None = None,
    ) -> None:
        """Show the turn in the output of the running cell; `on_rerun` is called when the front end runs that again."""
        super().__init__(chat.approvals.mark_shown)
        self._shell, self._kernel, self._turn, self._chat, self._names = shell, shell.kernel, turn, chat, shell.user_ns
        self._cells, self._is_introduced = cells or CellSource(), False
        self._link = PageLink(shell.kernel, on_rerun=on_rerun)
        self._is_parked = False
        self._above: dict[str, Any] = {}
        self._gone_since: float | None = None
        self._awaited_view, self._shown_again_at = 0, 0.0
        self._outputs = capturing_outputs()
        self._folded: Any = None
        close_former(turn.cell_id)
        self._widget = self._create_widget()
        self.turn_place = self._widget.turn_place
        self._handle = self._card = display_widget(self._widget)

    def feed(self, event: Event) -> None:
        """Show the next event; after the first one, with the turn in the tree, also head fields that events lack."""
        self._widget.feed(event)
        if event.kind != "turn_started" and not self._is_introduced:
            self._is_introduced = True
            fields = {**_head_fields(self._turn, self._chat), **chat_field(self._cells.chat)}
            fields |= {"fixes": self._cells.fixes} if self._cells.fixes else {}
            fields |= {} if self._turn.additions.refusal else {"adds": True}
            self._widget.update_head(**fields, prompt_line=self._cells.cell_magic, acts=list(actions_at("live")))

    def poll(self) -> None:
        """Process received messages, and show a turn again whose output is gone; the approver does for a question."""
        self._link.poll()
        if self._widget.turn_place.state != "gone":
            self._gone_since = None
        elif self._gone_since is None:
            self._gone_since = monotonic()
        elif monotonic() - self._gone_since > REMOVED_SECONDS and self._turn.status == "running":
            self._gone_since = math.inf  # once: where the cell is gone too, nothing would draw it
            self.show_again()

    def show_again(self, *, is_cleared: bool = False) -> None:
        """Show the turn again, under the same display id, so that its end replaces this output too.

        It is not shown a second time while a page may have yet to draw it, unless that output was cleared as well.
        """
        if self._is_parked or self._turn.done.done():
            return
        if self._is_view_awaited() and not is_cleared and monotonic() - self._shown_again_at < REDRAW_SECONDS:
            return
        display_widget(self._widget, display_id=self._handle.display_id)
        self._awaited_view, self._shown_again_at = self._widget.turn_place.drawn_views + 1, monotonic()

    def _is_view_awaited(self) -> bool:
        """Whether no page has drawn the output in which the turn was shown again."""
        return self._widget.turn_place.drawn_views < self._awaited_view

    def show_changes(self, text: str, *, can_undo: bool) -> None:
        """Show it below the turn, before its widget is replaced."""
        show = partial(self._widget.show_changes, text, can_undo=can_undo)
        if self._turn.done.done():
            run_sync(_called(show))
        else:  # parked, or stopped while the loop is blocked: nothing waits for it
            background_loop().call_soon(show)

    def show_deadline(self, at: float) -> None:
        """Show until when a question waits, in seconds since the epoch; on the loop."""
        self._widget.update_head(answer_by=at)

    def on_parked(self, turn: Turn) -> None:
        """Replace the output by the transcript so far, and a live card of the question and what follows."""
        self._link.when_rendered(self._widget, partial(self._park, turn))

    def _park(self, turn: Turn) -> None:
        before, self._is_parked = self._widget, True
        document, since = run_sync(_snapshot(before.transcript))
        above, below = document["blocks"][:since], document["blocks"][since:]
        lower: Document = {**document, "blocks": below}
        card = self._create_widget(in_cell=False, transcript=before.transcript, first_block=since, document=lower)
        note = _notice_block(PARKED)
        part: Document = {**document, "blocks": [*above, note]}
        self._above = _partial_bundle(part, before.transcript.media, has_question=True)
        self._replace(self._handle, self._above)
        self._keep_in_file(self._above)
        run_sync(self._switch_to(card))
        self.turn_place = card.turn_place
        self._card = display_widget(card)
        if before.turn_place.state == "gone":
            say_in_next_cell(self._shell, PARKED_UNSEEN, lambda: not turn.done.done())
        self._link.replace_when_loaded(before, (before.place, self._above), key=turn.cell_id)

    def on_finished(self, turn: Turn) -> None:
        """Replace the output by the static one, and release the widget."""
        if not self._is_parked:
            self._link.when_rendered(self._widget, partial(self._finish, turn))
            return
        transcript = self._widget.transcript
        document = transcript.document()
        bundle, rest = turn_mimebundle(document, transcript.media), dict(NOTHING)
        self._replace(self._handle, bundle)
        self._replace(self._card, rest)
        self._keep_in_file(bundle)
        replaced = (self._above["text/plain"], bundle), (self._widget.place, rest)
        self._link.replace_when_loaded(self._widget, *replaced, key=turn.cell_id)

    def _finish(self, turn: Turn) -> None:
        """Replace the output of a turn that ends with its cell."""
        bundle = self._widget.finish()
        is_gone = self._widget.turn_place.state == "gone" and not self._is_view_awaited()
        if is_gone and not self._outputs:  # an update of what was cleared has no effect
            display(bundle, raw=True, display_id=self._handle.display_id)  # type: ignore[no-untyped-call]  # IPython ships no types for it
        else:
            self._replace(self._handle, bundle)
        self._keep_in_file(bundle)
        self._link.replace_when_loaded(self._widget, (self._widget.place, bundle), key=turn.cell_id)
        shown_turns.add(ShownTurn(turn, self._handle, self._widget.transcript, self._cells))
        shown_turns.update_others(turn, self._chat)

    def _replace(self, handle: Any, bundle: dict[str, Any]) -> None:
        """Replace what a display shows; an Output widget takes no update, so there it comes after it."""
        if self._outputs:
            show_in_outputs(self._outputs, bundle)
        else:
            handle.update(bundle, raw=True)

    def _keep_in_file(self, bundle: dict[str, Any]) -> None:
        """Keep a turn that was shown in an Output widget, whose content no notebook saves, folded in its cell."""
        if self._folded is not None:  # it was parked there, and its cell has ended
            self._folded.update(folded(bundle), raw=True)
        elif self._outputs and self._widget.cell:
            with not_captured(self._outputs):
                self._folded = display(folded(bundle), raw=True, display_id=True)  # type: ignore[no-untyped-call]  # the same

    def show_media(self, media: Any) -> None:
        """Show each as an output of the cell; after the cell only if the kernel can find the cell."""
        if not self._is_parked or routes_output_by_context(self._kernel):
            super().show_media(media)

    def _create_widget(self, *, in_cell: bool = True, **options: Any) -> TurnWidget:
        # Imported here, so that only cells that show a widget pay for it.
        from nbtool.view.turn_widget import TurnWidget  # noqa: PLC0415

        widget = TurnWidget(
            self._turn.turn_id,
            decide=partial(decide_by_click, self._chat.approvals),
            stop=self._turn.abort,
            stop_call=self._turn.stop_call,
            bind=lambda binding: bind_result(self._chat, binding, self._names),
            run_action=self._cell_source,
            add=self._turn.steer,
            on_shown=self._on_shown,
            cell=cell_of_turn(self._turn.cell_id),
            **self._link.options(in_cell=in_cell),
            **options,
        )
        self._link.connect(widget)
        if not self._link.has_listener:
            widget.embed_lazy_modules()  # the page may not be able to request it
        return widget

    def _cell_source(self, action: ActionId) -> str:
        """Return the source of the cell that the page requests."""
        if action == "code":
            return turn_code(self._turn, self._chat, self._names).text
        return self._cells.action(action, self._turn)

    async def _switch_to(self, card: TurnWidget) -> None:
        self._widget = card
        card.resume()


def _head_fields(turn: Turn, chat: Chat) -> dict[str, Any]:
    """Return the reason for the model where it changed, its host if that is foreign, and the turn's version number."""
    node = chat.tree.find(turn.turn_id)
    former = node.parent.turn if node.parent else None
    is_reported = former is not None and former.model == turn.model
    reason = chat.model.reason if turn.model == chat.model.name and not is_reported else ""
    return ({"why": reason} if reason else {}) | host_fields(turn, chat) | version_fields(turn, chat)


async def _called(work: Callable[[], object]) -> None:
    """Call a function on the loop."""
    work()


async def _snapshot(transcript: Transcript) -> tuple[Document, int]:
    """Return the current document of a turn, and the index of its first pending block; on the loop."""
    document = transcript.document()
    blocks = document["blocks"]
    waiting = (at for at, block in enumerate(blocks) if block["kind"] == "call" and block["question"])
    return document, next(waiting, len(blocks))


def _partial_bundle(
    document: Document, media: Mapping[str, Media] | None = None, *, has_question: bool = False
) -> dict[str, Any]:
    """Return a part of a turn as a notebook saves it: without totals, and not as data of a turn."""
    head: Any = {**document["head"], "model": "", "status": "completed", "round": 0, "calls": 0, "seconds": None}
    head["usage"] = {**head["usage"], "input_tokens": 0, "output_tokens": 0, "cost": None}
    bundle = turn_mimebundle({**document, "head": head}, media, has_question=has_question)
    return {kind: form for kind, form in bundle.items() if kind != TURN_MIME}


def _notice_block(text: str) -> NoticeBlock:
    return {"id": "parked", "kind": "notice", "text": text, "level": "info"}
