"""A login over several days: each a process of its own, with the package keyring as a person configures it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.settings import data_dir
from nbtool.tools.mcp.connection.token_store import FOLDER, KEYRING_SERVICE, TokenStore
from tests.tools.mcp.login_server import ProtectedServer, protected_server

pytest.importorskip("keyring")  # an optional package
ROOT = Path(__file__).parents[4]
OURS = "tests.tools.mcp.connection.file_keyring.FileKeyring"
NONE = "keyring.backends.fail.Keyring"


@pytest.fixture
def lab() -> Iterator[ProtectedServer]:
    with protected_server() as server:
        yield server


def run_day(lab: ProtectedServer, backend: str, passwords: Path, *words: str) -> dict[str, Any]:
    """Run a kernel's day in a process of its own, and return what came of it."""
    environment = {**os.environ, "PYTHON_KEYRING_BACKEND": backend, "KEYRING_FILE": str(passwords)}
    program = [sys.executable, "-m", "tests.tools.mcp.connection.login_user", lab.url, *words]
    ran = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    for secret in (*lab.authorization.tokens, *lab.authorization.refresh_tokens):
        assert secret not in ran.stdout + ran.stderr
    return said


def login_files() -> list[Path]:
    return list((data_dir() / FOLDER).glob("*"))


@pytest.mark.nightly
@pytest.mark.promise("logins")
def test_a_login_is_in_the_keyring_the_next_day_and_deleted_from_it_when_the_person_logs_out(
    lab: ProtectedServer, tmp_path: Path
) -> None:
    passwords = tmp_path / "passwords.json"
    first = run_day(lab, OURS, passwords, "yes")
    (stored,) = json.loads(passwords.read_text()).items()
    files = login_files()
    second = run_day(lab, OURS, passwords, "no", "logout")
    left = json.loads(passwords.read_text())
    third = run_day(lab, OURS, passwords, "no")

    assert first == {"keyring": "FileKeyring", "result": 8, "asked": 1}
    assert stored[0].startswith(KEYRING_SERVICE)
    assert json.loads(stored[1])["tokens"]["access_token"] in lab.authorization.tokens
    assert files == login_files() == []
    assert second == {"keyring": "FileKeyring", "result": 8, "asked": 0}
    assert left == {}
    assert (third["asked"], "result" in third, "failed" in third) == (1, False, True)


@pytest.mark.nightly
@pytest.mark.promise("logins")
def test_where_the_system_has_no_keyring_a_login_is_in_a_file_of_the_user_alone_until_the_person_logs_out(
    lab: ProtectedServer, tmp_path: Path
) -> None:
    first = run_day(lab, NONE, tmp_path / "none", "yes")
    path = TokenStore(lab.url).path
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent)]
    files = login_files()
    second = run_day(lab, NONE, tmp_path / "none", "no", "logout")
    left = login_files()
    third = run_day(lab, NONE, tmp_path / "none", "no")

    assert first == {"keyring": "", "result": 8, "asked": 1}
    assert (files, modes) == ([path], [0o600, 0o700])
    assert second == {"keyring": "", "result": 8, "asked": 0}
    assert left == []
    assert (third["asked"], "result" in third, "failed" in third) == (1, False, True)
