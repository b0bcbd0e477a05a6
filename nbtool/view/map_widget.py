"""The widget of a running map: sends its progress to the page, and receives the click on Stop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nbtool.blocks.map_protocol import MapData
from nbtool.blocks.protocol import VERSION
from nbtool.blocks.render.map_output import unfinished_map_mimebundle
from nbtool.view.assets import read_asset
from nbtool.view.live_widget import LiveWidget
from nbtool.view.map_messages import MapMessage, MapStateMessage, parse_message
from nbtool.view.saved_form import Build


class MapWidget(LiveWidget):
    """Shows how far a map is, with a Stop button that calls `stop()`; `options` are those of a `LiveWidget`."""

    _esm = read_asset("map.js")
    _css = read_asset("map.css")

    def __init__(self, data: MapData, *, stop: Callable[[], object], **options: Any) -> None:
        self._stop, self._data = stop, data
        super().__init__(snapshot=dict(data), **options)

    def __repr__(self) -> str:
        """Return the text that front ends without widgets show while the map runs."""
        return "What came of the prompts is shown here when they have ended."

    def show(self, data: MapData) -> None:
        """Show the map as it is now, if anything has changed; on the loop only."""
        if data != self._data:
            self._data = data
            self._send_snapshot()
            self._renew_form()

    def _parse(self, content: object) -> MapMessage | None:
        return parse_message(content, nonce=self.nonce)

    def _dispatch(self, message: MapMessage) -> None:
        if message.kind == "stop":
            self._stop()

    def _prepare_form(self) -> Build:
        return partial(unfinished_map_mimebundle, self._data)

    def _send_snapshot(self) -> None:
        message: MapStateMessage = {"v": VERSION, "kind": "map", "map": self._data}
        self._send_message(message)
