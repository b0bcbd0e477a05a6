"""The former place of `nbtool.view.standalone`, kept for code that imports it from here."""

from nbtool.view.standalone import by_click, turn_widget

__all__ = ["by_click", "turn_widget"]
