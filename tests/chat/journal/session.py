"""Sessions that end badly, each in a process of its own, for tests: `python session.py PLOT FOLDER WHAT-NUMBER…`.

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
from typing import Any

from nbtool import Approved, Chat, Denied, Released, Withheld, tool
from nbtool.chat.chat import TurnSettings
from nbtool.chat.journal import journal, retention
from nbtool.chat.rerun.operations import Edit, Rerun
from nbtool.errors import JournalError
from nbtool.events import DELTAS, CallStarted, Event
from nbtool.messages import Media, user
from nbtool.testing import ScriptedApprover, ScriptedWire, call


def write_line(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def deliver(to: str) -> str:
    "Deliver something, once."
    write_line(f"effect {to}")
    return "delivered " * 200


ANNOUNCED_START = "announced_start"

free = tool(deliver, run="auto")
asking = tool(deliver, run="ask_once", result="always")


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
            write_line(f"event {self.turn_id} {kind_of(event)}")


def kind_of(event: Event) -> str:
    """Return the kind of an event; of a start that is on the disk with an earlier one, another."""
    return ANNOUNCED_START if isinstance(event, CallStarted) and event.announced else event.kind


def hold_session(plot: str) -> None:
    """Hold a conversation, clean the journal, and close it."""
    warnings.showwarning = lambda message, *_, **__: write_line(f"warning {message}")
    watch = Watch()
    PLOTS[plot](watch)
    write_line(f"seconds {watch.longest:.3f}")
    clean()


def send_prompt(chat: Chat, watch: Watch, prompt: Any, **how: Any) -> None:
    """Say something and watch the turn."""
    turn = chat.compose(prompt, approver=chat.approver, **how)
    watch.turn_id, watch.last = turn.turn_id, time.monotonic()
    turn.add_listener(watch)
    turn.start().done.result()
    write_line(f"turn {turn.turn_id} {turn.status}")


def two_turns(watch: Watch) -> None:
    """Make calls, one after another and at once."""
    both = [call("deliver", to="Bob"), call("deliver", to="Cy")]
    replies = [call("deliver", to="Ada"), "Done. " * 300, both, "Both."]
    chat = Chat(wire=ScriptedWire(replies), tools=[free])
    send_prompt(chat, watch, "First")
    send_prompt(chat, watch, "Second " * 200)


def next_to_each_other(watch: Watch) -> None:
    """Make calls at once, most of which ask nothing."""
    names = ("Ada", "Bob", "Cy", "Di", "Ed", "Fay")
    calls = [call("ask_and_deliver" if name == "Cy" else "deliver", to=name) for name in names]
    asks_first = tool(deliver, name="ask_and_deliver", run="ask_always")
    wire, approver = ScriptedWire([calls, "All.", "Nothing else."]), ScriptedApprover([Approved()])
    chat = Chat(wire=wire, tools=[free, asks_first], approver=approver)
    send_prompt(chat, watch, "First")
    send_prompt(chat, watch, "Second")


def at_the_gates(watch: Watch) -> None:
    """Approve with a memory, edit, deny, release another text, and withhold."""
    names = ("Ada", "Bob", "Cy", "Di")
    decisions = [Approved(remember="call"), Released("other"), Approved({"to": "Eve"}), Withheld("no"), Denied("no")]
    approver = ScriptedApprover([*decisions, Approved(), Released()])
    replies = [reply for name in names for reply in (call("deliver", to=name), f"So much for {name}.")]
    chat = Chat(wire=ScriptedWire(replies), tools=[asking], approver=approver)
    for name in names:
        send_prompt(chat, watch, f"Ask {name}.")


def back_and_forth(watch: Watch) -> None:
    """Say things anew, elsewhere and again; hide, delete and restore."""
    names = ("Ada", "Bob", "Cy", "Di")
    replies = [reply for name in names for reply in (call("deliver", to=name), f"Told {name}.")]
    chat = Chat(wire=ScriptedWire(replies), tools=[free])
    send_prompt(chat, watch, "First")
    send_prompt(chat, watch, "Second")
    first, second = chat.tree.active_path
    send_prompt(chat, watch, "First, in other words", settings=TurnSettings(operation=Edit(first.turn)))
    chat.hide()
    chat.delete(second.turn)
    chat.undo()
    send_prompt(chat, watch, "", settings=TurnSettings(operation=Rerun()))


def with_attachments(watch: Watch) -> None:
    """Attach what is kept apart, the same thing twice, and clean up in between."""
    picture, other = Media("image/png", bytes(range(256)) * 40), Media("image/png", bytes(9_000))
    replies = ["Seen.", call("deliver", to="Ada"), "Sent. " * 2_000, "Again."]
    chat = Chat(wire=ScriptedWire(replies), tools=[free])
    send_prompt(chat, watch, user("Look", picture, other))
    journal().execute(lambda connection: retention.vacuum(connection, retention.Retention()))
    send_prompt(chat, watch, "Deliver " * 900)
    send_prompt(chat, watch, user("Once more", picture))


def on_and_on(watch: Watch) -> None:
    """Hold a longer conversation, two calls at once in each turn."""
    pairs = [(f"Ada{number}", f"Bob{number}") for number in range(6)]
    replies = [reply for pair in pairs for reply in ([call("deliver", to=name) for name in pair], "Done. " * 50)]
    chat = Chat(wire=ScriptedWire(replies), tools=[free])
    for first, _ in pairs:
        send_prompt(chat, watch, f"For {first}")


PLOTS = {
    "long": on_and_on,
    "calls": two_turns,
    "neighbours": next_to_each_other,
    "gates": at_the_gates,
    "tree": back_and_forth,
    "media": with_attachments,
}
"""What happens in a session."""


def clean() -> None:
    """Clean the journal and close it, as far as that goes."""
    try:
        journal().execute(lambda connection: retention.vacuum(connection, retention.Retention()))
        journal().close()
    except (JournalError, OSError) as error:
        write_line(f"error {error}")


def main(plot: str, folder: Path, points: list[str]) -> None:
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
            hold_session(plot)
        except BaseException as error:
            write_line(f"error {error!r}")
            raise
        finally:
            os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
