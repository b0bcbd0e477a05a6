from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.recording import file as files
from nbtool.chat.recording.file import RecordedCall, RecordedTurn, Recording
from nbtool.chat.recording.key_part import Part
from nbtool.errors import BadRecording, JournalError


def turn(name: str, **more: Any) -> RecordedTurn:
    return RecordedTurn("2026-11-21", "tiny", name, {Part("prompt"): name}, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notebook.nbtool.json"


def test_turns_are_read_back_as_they_were_written(path: Path) -> None:
    first = turn(
        "one", calls={"call-1": RecordedCall(has_value=True, value={"a": [1, None, "ä"]})}, events=[{"kind": "x"}]
    )
    for one in (first, turn("two")):
        Recording(path, writes=True).add(one)

    assert Recording(path).turns() == (first, turn("two"))


def test_a_turn_recorded_again_takes_its_former_place(path: Path) -> None:
    recording = Recording(path, writes=True)
    for one in (turn("one"), turn("two"), turn("one", events=[{"kind": "new"}])):
        recording.add(one)

    assert [one.prompt for one in recording.turns()] == ["one", "two"]
    assert recording.turns()[0].events == [{"kind": "new"}]


def test_the_same_turn_recorded_on_another_day_changes_nothing(path: Path) -> None:
    Recording(path, writes=True).add(turn("one"))
    before = path.read_bytes()
    Recording(path, writes=True).add(replace(turn("one"), recorded="2026-11-22"))

    assert path.read_bytes() == before


def test_the_file_can_be_read_by_a_person_and_is_the_same_each_time(path: Path) -> None:
    Recording(path, writes=True).add(turn("Wie heißt du?"))
    once = path.read_text(encoding="utf-8")
    Recording(path, writes=True).add(turn("Wie heißt du?"))

    assert path.read_text(encoding="utf-8") == once
    assert '   "prompt": "Wie heißt du?",\n' in once
    assert once.endswith("}\n")


def test_a_file_that_another_kernel_changed_is_read_again(path: Path) -> None:
    here, there = Recording(path), Recording(path, writes=True)
    assert here.turns() == ()

    there.add(turn("one"))

    assert here.turns() == (turn("one"),)


KERNEL = """
import sys
from nbtool.chat.recording.file import RecordedTurn, Recording
from nbtool.chat.recording.key_part import Part

recording = Recording(sys.argv[1], writes=True)
for number in range(6):
    name = f"{sys.argv[2]} {number}"
    recording.add(RecordedTurn("2026-11-21", "tiny", name, {Part("prompt"): name}))
"""


def test_several_kernels_write_one_file_and_nothing_is_lost(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    kernels = [
        subprocess.Popen([sys.executable, "-c", KERNEL, path, name], env=environment) for name in ("a", "b", "c")
    ]
    ended = [kernel.wait() for kernel in kernels]

    names = {one.prompt for one in Recording(path).turns()}
    assert ended == [0, 0, 0]
    assert names == {f"{name} {number}" for name in "abc" for number in range(6)}
    assert [other.name for other in path.parent.iterdir()] == [path.name]


def test_a_kernel_that_holds_the_file_for_too_long_is_named(path: Path) -> None:
    said = pytest.raises(JournalError, match=r"Another kernel is writing notebook\.nbtool\.json")
    with files.file_lock(path), said, files.file_lock(path, 0.05):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_that_was_forked_during_a_write_does_not_keep_the_file_locked(path: Path) -> None:
    end_child, ended = os.pipe()
    with files.file_lock(path):
        child = os.fork()
        if child == 0:
            os.close(ended)
            os.read(end_child, 1)  # returns when the parent closes its end
            os._exit(0)
    try:
        Recording(path, writes=True).add(turn("one"))
    finally:
        os.close(ended)
        os.waitpid(child, 0)
        os.close(end_child)

    assert Recording(path).turns() == (turn("one"),)


def test_a_write_that_fails_leaves_the_former_file_and_no_draft(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording(path, writes=True)
    recording.add(turn("one"))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadRecording, match="cannot be written \\(No space left on device\\)"):
        recording.add(turn("two"))

    assert [other.name for other in path.parent.iterdir()] == [path.name]
    assert Recording(path).turns() == (turn("one"),)


@pytest.mark.parametrize("broken", ["open", "write", "fsync", "replace"])
def test_after_a_crash_at_any_step_the_file_is_the_former_or_the_new_one(
    path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Recording(path, writes=True).add(turn("one"))

    class Crash(BaseException):
        pass

    def crash(*_: Any, **__: Any) -> Any:
        raise Crash

    where: Any = files if broken == "write" else os
    monkeypatch.setattr(where, "serialize_turns" if broken == "write" else broken, crash)
    with pytest.raises(Crash):
        Recording(path, writes=True).add(turn("two"))

    monkeypatch.undo()
    assert Recording(path).turns() == (turn("one"),)


def test_a_file_keeps_its_mode_and_its_place_behind_a_link(path: Path, tmp_path: Path) -> None:
    Recording(path, writes=True).add(turn("one"))
    path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(path)

    Recording(link, writes=True).add(turn("two"))

    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert len(Recording(path).turns()) == 2


WHOLE = {"nbtool_recording": 2, "turns": []}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the file"),
        ("[]", "the file"),
        ("{}", "nbtool_recording: Field required"),
        (json.dumps({**WHOLE, "nbtool_recording": files.FORMAT + 1}), f"it has format {files.FORMAT + 1}"),
        (json.dumps({**WHOLE, "nbtool_recording": "1"}), "valid integer"),
        (json.dumps({**WHOLE, "more": 1}), "more: Unexpected"),
        (json.dumps({**WHOLE, "turns": [{"recorded": "2026-11-21"}]}), r"turns\.0\.model: Field required"),
        ("[" * 100_000, "the file"),
        ('{"nbtool_recording": 1, "turns": [NaN]}', "turns"),
    ],
)
def test_what_is_no_recording_is_reported_in_one_line_and_kept(path: Path, text: str, why: str) -> None:
    path.write_text(text)

    with pytest.raises(BadRecording, match=why) as caught:
        Recording(path).turns()
    with pytest.raises(BadRecording):
        Recording(path, writes=True).add(turn("one"))

    assert "\n" not in str(caught.value)
    assert path.read_text() == text


def test_a_date_that_is_none_is_refused(path: Path) -> None:
    Recording(path, writes=True).add(turn("one"))
    path.write_text(path.read_text().replace("2026-11-21", "<b>today</b>"))

    with pytest.raises(BadRecording, match="without a date"):
        Recording(path).turns()


def test_the_bounds_of_a_recording_are_reported(path: Path) -> None:
    path.write_bytes(files.serialize_turns([turn(str(number)) for number in range(files.MAX_TURNS)]))
    full = path.read_bytes()

    with pytest.raises(BadRecording, match="is full"):
        Recording(path, writes=True).add(turn("two"))
    with pytest.raises(BadRecording, match="larger than 16 MiB and was not recorded"):
        Recording(path, writes=True).add(turn("2" * files.MAX_TURN_BYTES))
    assert path.read_bytes() == full
    os.truncate(path, files.MAX_BYTES + 1)
    with pytest.raises(BadRecording, match="it is larger than 64 MiB"):
        Recording(path).turns()

    assert path.stat().st_size > files.MAX_BYTES


def test_threads_of_one_kernel_write_one_file(path: Path) -> None:
    recording = Recording(path, writes=True)
    threads = [threading.Thread(target=recording.add, args=(turn(str(number)),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {one.prompt for one in Recording(path).turns()} == set("01234567")


def test_a_folder_in_the_place_of_a_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadRecording):
        Recording(tmp_path, writes=True).turns()
