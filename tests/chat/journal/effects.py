"""Sessions whose calls have effects, killed and resumed until they are through: `python effects.py FOLDER TOTAL NAME…`.

The model asks for effects 0, 1, 2 … up to TOTAL, some at once, and some of its replies break. Two clients approve each
of them at the same time. An effect is a line in `FOLDER/NAME.ledger`, out before the call goes on. A session is killed
at two of its writes, by the shim of `crash.c`; a new process opens the journal and resumes what broke off.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from nbtool import Chat, tool
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal, queries
from nbtool.chat.turn import Turn
from nbtool.errors import ApprovalError, NbtoolError, ServerOverloaded
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Approved, Undecided
from nbtool.wire import Prompt

AT_ONCE = 5
"""Effects that a reply asks for."""

WRITES = 8
"""Writes that an effect takes, about: where a session is killed lies within so many times its effects."""

ATTEMPTS = 200
"""Resumptions after which a session is given up."""

NUMBERS = re.compile(r'\\?"n\\?": (\d+)')


def main(folder: Path, total: int, names: list[str]) -> None:
    """Hold each session, every attempt of it in a child of its own."""
    for name in names:
        chance = random.Random(name)
        kills = sorted(chance.randrange(1, total * WRITES) for _ in range(2))
        for at in [*kills, 0]:
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                continue
            os.environ |= {"NBTOOL_HOME": str(folder / name), "CRASH_DO": "kill" if at else "", "CRASH_AT": str(at)}
            try:
                hold_conversation(folder / f"{name}.ledger", total, chance)
            except BaseException as error:
                os.write(2, f"{name}: {error!r}\n".encode())
                raise
            finally:
                os._exit(0)


def hold_conversation(traffic: Path, total: int, chance: random.Random) -> None:
    """Begin the conversation, or go on with it, until the model has no effect left to ask for."""
    warnings.simplefilter("ignore")
    lines = os.open(traffic, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    chat = Chat(wire=ScriptedWire([partial(ask, total, chance)] * ATTEMPTS * 2), tools=tools(lines), max_rounds=10_000)
    clients = approving(chat)
    turn = open_chat(chat) or chat.send("Go.")
    for _ in range(ATTEMPTS):
        if turn.status == "completed":
            break
        turn = chat.resume()
    clients()
    journal().close()


def ask(total: int, chance: random.Random, prompt: Prompt) -> Any:
    """Ask for the next effects; one reply in twelve breaks in the middle, and one in twelve before it."""
    known = max(map(int, NUMBERS.findall(repr(prompt.messages))), default=-1)
    wanted = [call(("act", "slow", "late")[n % 3], n=n) for n in range(known + 1, min(total, known + 1 + AT_ONCE))]
    match chance.randrange(12):
        case 0:
            return [*wanted[:1], ServerOverloaded("busy")]
        case 1:
            return ServerOverloaded("busy")
    return wanted or "Done."


def tools(lines: int) -> list[Any]:
    """Give three tools that do the same: on a thread, on the loop, and beyond the time they have."""

    def act(n: int) -> str:
        """Have an effect."""
        os.write(lines, f"{n}\n".encode())
        return f"did {n}"

    async def slow(n: int) -> str:
        """Have an effect, and take a step."""
        os.write(lines, f"{n}\n".encode())
        await asyncio.sleep(0)
        return f"did {n}"

    async def late(n: int) -> str:
        """Have an effect, and outlast the time there is for it."""
        os.write(lines, f"{n}\n".encode())
        await asyncio.Event().wait()
        return ""

    return [tool(act), tool(slow), tool(late, timeout=0.005)]


def approving(chat: Chat) -> Callable[[], None]:
    """Let two clients approve everything at once, each on its own thread; gives what ends them."""
    chat.approver = lambda _: Undecided()  # the decision comes by another road
    over, asked = threading.Event(), threading.Condition()

    def client(name: str) -> None:
        while not over.is_set():
            with asked:
                asked.wait_for(lambda: chat.approvals.pending() or over.is_set(), 1)
            for question in chat.approvals.pending():
                with suppress(ApprovalError):  # the other one was first
                    chat.approvals.decide(question.digest, Approved(), by=name)

    def tell(_: object) -> None:
        with asked:
            asked.notify_all()

    chat.approvals.add_listener(tell)
    threads = [threading.Thread(target=client, args=(name,), daemon=True) for name in ("one", "two")]
    for thread in threads:
        thread.start()

    def end() -> None:
        over.set()
        tell(None)

    return end


def open_chat(chat: Chat) -> Turn | None:
    """Go on with the conversation that the journal holds, if it holds one."""
    book = journal()
    found = book.read(lambda connection: queries.list_chats(connection, 100))
    if not found:
        return None
    events = book.read(lambda connection: queries.chat_events(connection, found[0].chat_id))
    restore.restore_into(chat, chat.variables, found[0].chat_id, events)
    last = chat.tree.active_path[-1].versions[-1] if chat.tree.active_path else None
    with suppress(NbtoolError):
        return last if last is None or last.status == "completed" else chat.resume()
    return None


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
