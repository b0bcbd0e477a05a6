"""A turn: what it holds while it runs and after it ended, and its compact form for later requests."""

from nbtool.chat.turn.turn import Messages, Stats, Turn

__all__ = ["Messages", "Stats", "Turn"]
