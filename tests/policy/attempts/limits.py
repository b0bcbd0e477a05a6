"""`[serve]` and `[journal]`: no server starts, and history is kept where the policy says."""

from __future__ import annotations

import os
import time
from pathlib import Path

from nbtool import Chat
from nbtool.chat.journal import journal
from nbtool.chat.journal.process_journal import Journal
from nbtool.chat.journal.retention import Retention
from nbtool.events import TurnStarted
from nbtool.mcp_server.handlers import Handlers
from nbtool.mcp_server.http_server import KernelServer
from nbtool.messages import user
from nbtool.threads.loop import run_sync
from tests.policy.attempts.world import World, attempt, main, outcome_of

DAY = 86_400


def policy(world: World) -> str:
    """Write a journal with an old turn and a new one before the policy is read."""
    path = world.folder / "home" / "journal.sqlite"
    book = Journal(path)
    run_sync(book.write("chat", "old", [TurnStarted("old", "m", user("Long ago."), 0.0)]))
    run_sync(book.write("chat", "new", [TurnStarted("new", "m", user("Today."), 0.0)]))
    book.execute(_make_old)
    book.close()
    os.environ |= {"NBTOOL_JOURNAL": "off", "NBTOOL_JOURNAL_DAYS": "9999"}
    return "[serve]\nallowed = false\n[journal]\nstorage = 'disk'\ndays = 30\n"


def _make_old(connection: object) -> None:
    connection.execute("UPDATE events SET at = ? WHERE turn_id = 'old'", (time.time() - 40 * DAY,))  # type: ignore[attr-defined]  # sqlite3's


@attempt
def serving_by_the_command(world: World) -> str:
    world.cell("def look() -> str:\n    'Look.'\n    return ''")
    return world.cell("%chat serve -t look") + world.cell("%chat serve")


@attempt
def serving_by_hand(_: World) -> str:
    server = KernelServer(Handlers(lambda _: None, "1"))  # type: ignore[arg-type,return-value]  # no client comes
    return f"serves at {server.port}"


@attempt
def the_journal_is_on_disk_and_without_older_turns(world: World) -> str:
    turn = Chat("practice:fast").send("Hello.")
    book = journal()
    rows = book.read(lambda connection: connection.execute("SELECT DISTINCT turn_id FROM events").fetchall())
    world.notes["turns"] = sorted(str(row[0]) for row in rows if row[0] in ("old", "new"))
    world.notes["has this turn"] = turn.turn_id in {row[0] for row in rows}
    world.notes["path"] = str(book.path)
    world.notes["is file"] = Path(str(book.path)).is_file()
    return outcome_of(turn)


@attempt
def the_days_of_the_environment(world: World) -> str:
    world.notes["days"] = Retention.from_environment().days
    return "done"


@attempt
def the_status_says_what_is_in_force(world: World) -> str:
    return world.cell("%chat status")


if __name__ == "__main__":
    main(policy)
