"""Former location of `nbtool.view.standalone`; kept for existing imports."""

from nbtool.view.standalone import by_click, turn_widget

__all__ = ["by_click", "turn_widget"]
