"""One turn, while it runs and after it ended.

turn.py            the turn: its run and its state     compact.py       its form in later requests
waiting_time.py    how long it waited                  version_diff.py  what it changes of an earlier version
event_queue.py     its events for a reader elsewhere   reply_deltas.py  finished replies as deltas
"""

from nbtool.chat.turn.turn import Messages, Turn, running_turn_ids
from nbtool.turn_state import Stats

__all__ = ["Messages", "Stats", "Turn", "running_turn_ids"]
