"""CPU of many prompts, 8 at a time, over the loopback server: `Chat.map`, chatlas' `parallel_chat_text`, httpx by hand.

    python -m benchmarks.many_prompts NAME PORT COUNT      prints a line of JSON

Each runs in a process of its own, in the environment of its contestant; the answers are kept in memory. nbtool also
writes each turn to its journal, on the disk.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.environments import ROOT, python_of
from benchmarks.floors import ByHand
from benchmarks.server import MODEL, text_of

ACTIVE = 8
"""Prompts under way at a time."""

SCENARIO = "text-20"
"""Each reply has 20 deltas."""

WARM_UP = 50
"""Prompts that are sent before."""

Answer = Callable[[str, Sequence[str]], Sequence[str]]


def by_hand(base: str, prompts: Sequence[str]) -> Sequence[str]:
    """Send them with httpx, and parse the streams."""
    waiting, texts = list(enumerate(prompts)), [""] * len(prompts)

    async def work(player: ByHand) -> None:
        while waiting:
            index, prompt = waiting.pop()
            texts[index] = await player.answer(prompt)

    async def run() -> None:
        player = ByHand(base, {})
        await asyncio.gather(*(work(player) for _ in range(ACTIVE)))

    asyncio.run(run())
    return texts


def nbtool(base: str, prompts: Sequence[str]) -> Sequence[str]:
    """Send them with a map of a chat."""
    from nbtool import Chat  # noqa: PLC0415 - each contestant is imported in its own process

    chat = Chat(f"openai:{MODEL}", base_url=base, api_key="x", wire="chat")
    found: Sequence[str] = chat.map(list(prompts), concurrency=ACTIVE, progress=False).values
    return found


def chatlas(base: str, prompts: Sequence[str]) -> Sequence[str]:
    """Send them with chatlas, whose own limit of requests a minute is set so high that it does not count."""
    library = importlib.import_module("chatlas")
    os.environ["OPENAI_API_KEY"] = "x"
    chat = library.ChatOpenAICompletions(base_url=base, model=MODEL, api_key="x")
    found: Sequence[str] = asyncio.run(
        library.parallel_chat_text(chat, list(prompts), max_active=ACTIVE, rpm=10_000_000)
    )
    return found


PLAYERS: dict[str, Answer] = {"by hand": by_hand, "nbtool": nbtool, "chatlas": chatlas}


def run(name: str, port: str, count: int) -> float:
    """Send prompts in this process, and return the milliseconds of CPU a prompt."""
    os.environ["NBTOOL_HOME"] = tempfile.mkdtemp()
    base, player = f"http://127.0.0.1:{port}/{SCENARIO}/v1", PLAYERS[name]
    player(base, [f"warm {number}" for number in range(WARM_UP)])
    began = time.process_time()
    texts = player(base, [f"{number}?" for number in range(count)])
    cpu = time.process_time() - began
    if list(texts) != [text_of(SCENARIO)] * count:
        raise SystemExit(f"{name} returned other texts: {texts[:2]!r}")
    return cpu / count * 1000


def measure(port: int, *, count: int, rounds: int) -> dict[str, list[float]]:
    """Run all of them in each round, and return the figures by name."""
    found: dict[str, list[float]] = {name: [] for name in PLAYERS}
    for _ in range(rounds):
        for name, figures in found.items():
            command = [python_of(name), "-m", "benchmarks.many_prompts", name, str(port), str(count)]
            done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            figures.append(float(json.loads(done.stdout.splitlines()[-1])["ms"]))
    return found


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    name, port, count = arguments
    row: dict[str, Any] = {"name": name, "ms": run(name, port, int(count))}
    print(json.dumps(row), flush=True)  # noqa: T201 - read by the parent process


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # threads of some libraries delay the exit for seconds
