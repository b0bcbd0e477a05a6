"""Sessions that end badly, each in a process of its own, for tests: `python session.py FOLDER WHAT-NUMBER…`.

The shim in `crash.c` does WHAT at the write of that NUMBER; the home is `FOLDER/WHAT-NUMBER`. What a session says goes
to `FOLDER/WHAT-NUMBER.out`, a line for each thing as it happens, out before the next one is begun: `event TURN KIND`
when an event was acknowledged, `effect NAME` when a tool runs, `turn ID STATUS` when a turn has ended, `warning TEXT`,
and `seconds S` for the longest time between two events.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

from nbtool import Chat, tool
from nbtool.chat.journal import journal, keeping
from nbtool.errors import JournalError
from nbtool.events import DELTAS, Event
from nbtool.testing import ScriptedWire, call


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


@tool(run="auto")
def deliver(to: str) -> str:
    "Deliver something, once."
    say(f"effect {to}")
    return "delivered " * 200


class Watch:
    """Says each event as it is acknowledged, and remembers the longest wait."""

    def __init__(self) -> None:
        self.turn_id = ""
        self.last = time.monotonic()
        self.longest = 0.0

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        self.longest, self.last = max(self.longest, now - self.last), now
        if type(event) not in DELTAS:
            say(f"event {self.turn_id} {event.kind}")


def hold() -> None:
    """Hold a conversation of two turns, clean the journal, and close it."""
    warnings.showwarning = lambda message, *_, **__: say(f"warning {message}")
    replies = [
        call("deliver", to="Ada"),
        "Done. " * 300,
        [call("deliver", to="Bob"), call("deliver", to="Cy")],
        "Both.",
    ]
    chat, watch = Chat(wire=ScriptedWire(replies), tools=[deliver]), Watch()
    for prompt in ("First", "Second " * 200):
        turn = chat.compose(prompt)
        watch.turn_id, watch.last = turn.turn_id, time.monotonic()
        turn.listen(watch)
        turn.begin().done.result()
        say(f"turn {turn.turn_id} {turn.status}")
    say(f"seconds {watch.longest:.3f}")
    try:
        journal().change(lambda connection: keeping.vacuum(connection, keeping.Retention()))
        journal().close()
    except (JournalError, OSError) as error:
        say(f"error {error}")


def main(folder: Path, points: list[str]) -> None:
    """Hold one conversation for each point, in a child that was forked before any thread was made."""
    for point in points:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        os.dup2(os.open(folder / f"{point}.out", os.O_CREAT | os.O_WRONLY, 0o600), 1)
        what, _, number = point.partition("-")
        os.environ |= {"NBTOOL_HOME": str(folder / point), "CRASH_DO": what, "CRASH_AT": number}
        try:
            hold()
        finally:
            os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
