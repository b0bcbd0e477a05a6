"""Files that are replaced as a whole, and locks between processes."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from nbtool.files import locked, replace_file, replaced, take_lock

HOLD = """
import sys
from pathlib import Path
from nbtool.files import take_lock
lock = take_lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"former")
    path.chmod(0o640)

    replace_file(path, b"new", is_durable=True)

    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
    assert list(tmp_path.iterdir()) == [path]


def test_a_private_file_is_one_also_if_it_was_none(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"former")
    path.chmod(0o644)

    replace_file(path, b"new", is_private=True)

    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_whose_replacement_fails_is_as_it_was_and_no_draft_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"former")

    with suppress(ValueError), replaced(path) as draft:
        draft.write_bytes(b"half")
        raise ValueError

    assert path.read_bytes() == b"former"
    assert list(tmp_path.iterdir()) == [path]


def test_a_lock_of_another_process_is_not_taken_until_that_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert take_lock(path) is None
        with pytest.raises(TimeoutError, match=r"a\.lock"), locked(path, 0.0):
            pass
        other.kill()
        other.wait(240)
    with locked(path, 240):
        assert take_lock(path) is None

    lock = take_lock(path)
    assert lock is not None
    lock.release()
