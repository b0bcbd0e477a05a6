"""The link of a widget to its page: its messages while cells run, and the end of its output."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from nbtool.clock import monotonic
from nbtool.magics.kernel.broadcast import BroadcastListener
from nbtool.magics.kernel.cell_messages import listener_for
from nbtool.magics.kernel.cell_notebooks import cell_notebooks
from nbtool.magics.kernel.control_channel import control_channel_for
from nbtool.magics.kernel.editor_cells import is_editor_cell
from nbtool.threads.loop import POLL_SECONDS, background_loop
from nbtool.turn_place import PlaceState, TurnPlace

if TYPE_CHECKING:
    from nbtool.view.live_widget import LiveWidget

MAX_CLOSING = 16
"""How many widgets that have ended wait for a disconnected page; beyond that, the oldest is closed."""

RENDERED: frozenset[PlaceState] = frozenset(("seen", "gone"))
"""The states of a place in which the widget is drawn, or was."""


@dataclass(frozen=True, slots=True)
class RenderingSeconds:
    """How long VS Code may take to draw a widget before its output is replaced, from when it is displayed.

    It measures an output when what draws it returns. An output that has become another one meanwhile gets the height
    of the former one, which is none: it is there and cannot be seen. `loading`: until the page has the widget.
    `rendering`: from then on; a cell that is out of view is not drawn.
    """

    loading: float = 4.0
    rendering: float = 1.0


_closing_widgets: dict[str, LiveWidget] = {}
"""Those widgets, by their cells."""


class PageLink:
    """The ways of pages to the widgets of one kernel while a cell runs; `on_rerun` is called if it is run again."""

    def __init__(self, kernel: Any, *, on_rerun: Callable[[], object] | None = None) -> None:
        self._listener, self._control = listener_for(kernel), control_channel_for(kernel)
        self._on_rerun = on_rerun

    @property
    def has_listener(self) -> bool:
        """Whether the messages of a page are heard while a cell runs; if not, a page may not be able to request."""
        return self._listener is not None

    def options(self, *, in_cell: bool) -> dict[str, Any]:
        """Return the options of a widget that make it listen; `in_cell` is whether the running cell waits for it."""
        return {
            "post": background_loop().call_soon,
            "broadcasts": isinstance(self._listener, BroadcastListener),
            "control": self._control is not None,
            "listen": partial(self._listen, in_cell=in_cell),
            "on_notebook": cell_notebooks.note_page,
        }

    def connect(self, widget: LiveWidget) -> None:
        """Receive the messages of a new widget also between cells, and over the control channel until it is closed."""
        widget.on_msg(lambda _widget, content, _buffers: widget.receive(content))
        if control := self._control:
            widget.observe(lambda change: control.close(change.old.comm_id), "comm")

    def set_in_cell(self, widget: LiveWidget, *, in_cell: bool) -> None:
        """Note whether the running cell waits for a widget."""
        if self._listener and widget.comm:
            self._listener.open(widget.comm.comm_id, widget.receive, in_cell=in_cell)

    def poll(self) -> None:
        """Process received messages; on the waiting thread."""
        if self._listener:
            self._listener.poll()

    def when_rendered(
        self, widget: LiveWidget, replace: Callable[[], object], seconds: RenderingSeconds | None = None
    ) -> None:
        """Call what replaces the output of a widget, in VS Code once that is drawn or its time is over.

        This thread waits for it, unless it is nbtool's own: then it is called there later.
        """
        seconds = seconds or RenderingSeconds()
        ends = widget.created_at + seconds.loading + seconds.rendering
        if not is_editor_cell(widget.cell) or widget.turn_place.state in RENDERED or ends <= monotonic():
            replace()
            return
        rendered = background_loop().submit(_wait_until_rendered(widget.turn_place, widget.created_at, seconds))
        if background_loop().is_current():
            context = copy_context()
            rendered.add_done_callback(lambda _: context.run(replace))
            return
        while not background_loop().wait(rendered, POLL_SECONDS) and monotonic() < ends:
            self.poll()
        replace()

    def replace_when_loaded(
        self, widget: LiveWidget, *replacements: tuple[str, dict[str, Any]], key: str | None = None
    ) -> None:
        """Stop listening, and replace these outputs also in a page that is reloaded.

        The widget is closed early if another one with its `key` is shown, by default the id of its cell.
        """
        key = widget.cell if key is None else key
        if self._listener and widget.comm:
            self._listener.close(widget.comm.comm_id)
        widget.close_when_replaced(*replacements)
        close_former(key)
        _closing_widgets[key] = widget
        while len(_closing_widgets) > MAX_CLOSING:
            _closing_widgets.pop(next(iter(_closing_widgets))).close()

    def _listen(self, comm_id: str, receive: Callable[[object], bool], *, in_cell: bool) -> None:
        """Receive a widget's messages while cells run: over its comm, and, until it is closed, the control channel."""
        if self._listener:
            self._listener.open(comm_id, receive, in_cell=in_cell, on_rerun=self._on_rerun if in_cell else None)
        if self._control:
            self._control.open(comm_id, receive)


async def _wait_until_rendered(place: TurnPlace, since: float, seconds: RenderingSeconds) -> None:
    if await place.wait_for({"present", *RENDERED}, max(0.0, since + seconds.loading - monotonic())):
        await place.wait_for(RENDERED, seconds.rendering)


def close_former(cell_id: str) -> None:
    """Close the widget of a cell that shows something else now."""
    if former := _closing_widgets.pop(cell_id, None):
        former.close()


def display_widget(widget: LiveWidget, *, display_id: str | bool = True) -> Any:
    """Show a widget in the output of the running cell; return the handle of its display, a new one without an id."""
    data, metadata = widget.mimebundle()
    handle: Any = display(data, raw=True, metadata=metadata, display_id=display_id)  # type: ignore[no-untyped-call]  # IPython ships no types for it
    widget.update_output = _output_update(data, metadata, handle.display_id)
    return handle


def _output_update(data: dict[str, Any], metadata: dict[str, Any], display_id: str) -> Callable[[dict[str, Any]], None]:
    """Return what updates the display of a widget by static forms beside the widget; on any thread.

    It has the publisher of now: while a tool captures what is displayed, another one takes all displays.
    """
    publisher = InteractiveShell.instance().display_pub
    context = copy_context()  # ipykernel 7 takes the cell from it

    def update(form: dict[str, Any]) -> None:
        publish = partial(publisher.publish, {**data, **form}, metadata, update=True)
        context.run(publish, transient={"display_id": display_id})

    return update
