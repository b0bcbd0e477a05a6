"""The view of a map of many prompts in a page: a widget while it runs, and static output at its end."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtool.blocks.render.map_output import map_mimebundle
from nbtool.magics.kernel.cell_messages import cell_id, has_front_end
from nbtool.magics.views.map_facts import describe_map
from nbtool.magics.views.page_link import PageLink, close_former, display_widget
from nbtool.map_progress import MapProgress

if TYPE_CHECKING:
    from nbtool.view.map_widget import MapWidget


class MapView:
    """Shows one map in the output of the running cell; see `nbtool.map_progress.ProgressView`."""

    def __init__(self, shell: Any, progress: MapProgress, stop: Callable[[], object]) -> None:
        # Imported here, so that only cells that show a widget pay for it.
        from nbtool.view.map_widget import MapWidget  # noqa: PLC0415

        self._link, self._context = PageLink(shell.kernel), copy_context()
        cell = cell_id(shell)
        close_former(cell)
        self._widget: MapWidget = MapWidget(
            describe_map(progress), stop=stop, cell=cell, **self._link.options(in_cell=False)
        )
        self._link.connect(self._widget)
        self._handle: Any = display_widget(self._widget)

    def show(self, progress: MapProgress) -> None:
        """Show how far it is."""
        self._widget.show(describe_map(progress))

    def poll(self) -> None:
        """Process messages of the page."""
        self._link.poll()

    def set_waiting(self, *, is_waiting: bool) -> None:
        """Note whether the running cell waits for the map: then a click does not make the page think that it ended."""
        self._link.set_in_cell(self._widget, in_cell=is_waiting)

    def end(self, progress: MapProgress) -> None:
        """Replace the widget by static output, in its cell, whatever thread this is and whatever cell runs."""
        replace = partial(self._context.copy().run, self._replace, progress)
        self._link.when_rendered(self._widget, replace)

    def _replace(self, progress: MapProgress) -> None:
        data = describe_map(progress)
        self._widget.show(data)  # the page announces the end
        bundle = map_mimebundle(data)
        self._handle.update(bundle, raw=True)
        self._link.replace_when_loaded(self._widget, (self._widget.place, bundle))


def show_map(shell: Any, progress: MapProgress, stop: Callable[[], object]) -> MapView | None:
    """Show a map that begins in the running cell; None where nobody sees a page."""
    if getattr(shell, "kernel", None) is None or not has_front_end(shell):
        return None
    return MapView(shell, progress, stop)
