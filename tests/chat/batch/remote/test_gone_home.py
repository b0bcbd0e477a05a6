"""No call of a map starts on a worker once the process of the map is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from nbtool import Chat
from nbtool.testing import call
from tests.chaos import AwaitFlag, Received, Step, serve_by
from tests.chat.batch.remote.far_tools import ask_for, note, prompt_of, result_in, say

SCRIPT = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from nbtool import Chat
from tests.chat.batch.remote.far_tools import note

if __name__ == "__main__":
    with ProcessPoolExecutor(2, multiprocessing.get_context(sys.argv[2])) as pool:
        chat = Chat("tiny", base_url=sys.argv[1], tools=[note])
        chat.map([f"p{n}" for n in range(6)], on=pool, concurrency=2, progress=False)
"""


@pytest.mark.sampled(1)
@pytest.mark.promise("maps-once")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_workers_of_a_killed_process_run_no_call_that_the_next_map_runs(tmp_path: Path, method: str) -> None:
    notes, script, are_two, asked = tmp_path / "notes", tmp_path / "script.py", threading.Event(), list[str]()
    script.write_text(SCRIPT)

    def respond(request: Received) -> Sequence[Step]:
        result = result_in(request)
        asked.append(prompt_of(request))
        if len(asked) == 2:
            are_two.set()
        reply = say(result) if result else ask_for(call("note", path=str(notes), n=int(prompt_of(request)[1:])))
        return [AwaitFlag(), *reply]

    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    with serve_by(respond) as server:
        command = [sys.executable, str(script), server.url, method]
        process = subprocess.Popen(command, env=env, start_new_session=True)
        try:
            assert are_two.wait(240)
            process.kill()
            process.wait()
            server.flag.set()
            batch = Chat("tiny", base_url=server.url, tools=[note]).map([f"p{n}" for n in range(6)])
        finally:
            server.flag.set()
            os.killpg(process.pid, signal.SIGKILL)  # the workers wait for a pool that is gone, as Python leaves them

    assert batch.values == [f"noted {n}" for n in range(6)]
    assert sorted(notes.read_text().split()) == [str(n) for n in range(6)]
