"""One turn, while it runs and after it ended.

turn.py            the turn: status, events, result    compact.py       its form in later requests
open_questions.py  its open approval questions         version_diff.py  what it changes of an earlier version
event_queue.py     its events for a reader elsewhere   reply_deltas.py  finished replies as deltas
"""

from nbtool.chat.turn.turn import Turn, running_turn_ids
from nbtool.chat.turn.turn_messages import Messages, Stats

__all__ = ["Messages", "Stats", "Turn", "running_turn_ids"]
