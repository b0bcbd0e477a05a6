"""Notebooks as tests (nbmake), with recordings: the first run asks a real server, later ones ask nobody."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.chaos import Received, Step, serve_by
from tests.compat.processes import find_overlay, start_command, write_notebook
from tests.providers.replies import Answer, encode_answer

pytestmark = pytest.mark.nightly

CELLS = [
    '%load_ext nbtool\n%config NbTool.base_url = "{url}"\n%config NbTool.model = "lab-model"\n{record}',
    "%%chat -o answer\nWhich ticker is cheaper?",
    "assert answer.text == 'NVDA is.'",
]


def respond(request: Received) -> Sequence[Step]:
    return encode_answer("chat", Answer("NVDA is."), stream=request.json.get("stream") is True)


@pytest.mark.parametrize("record", ["%chat record shop.nbtool.json", ""])
def test_a_notebook_is_a_test_that_replays_its_recording(tmp_path: Path, record: str) -> None:
    named = {} if record else {"NBTOOL_RECORDING": str(tmp_path / "shop.nbtool.json")}

    def run(replay: str) -> tuple[int, str]:
        command = ("-m", "pytest", "--nbmake", "-p", "no:cacheprovider", "-p", "no:nbtool", "shop.ipynb")
        tools = find_overlay("tools")
        done = start_command(*command, cwd=tmp_path, overlay=tools, LAB_API_KEY="k", NBTOOL_REPLAY=replay, **named)
        return done.returncode, done.stdout + done.stderr

    with serve_by(respond) as server:
        cells = [cell.replace("{url}", server.url).replace("{record}", record) for cell in CELLS]
        write_notebook(tmp_path / "shop.ipynb", *cells)
        recorded = run("auto")
        sent = len(server.requests)
        replayed = run("only")
        write_notebook(tmp_path / "shop.ipynb", cells[0], cells[1].replace("cheaper", "dearer"), cells[2])
        changed = run("only")

    assert (recorded[0], replayed[0], changed[0]) == (0, 0, 1), (recorded, replayed, changed)
    assert (sent, len(server.requests)) == (1, 1)
    assert "This prompt is not in shop.nbtool.json." in changed[1]
