"""Commands end without a word when the reader of their output has ended before them, as `head -1` does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbtool import Chat
from nbtool.settings import data_dir
from tests.mcp_server.clients import serve

POLICY, BRIDGE = "nbtool.policy", "nbtool.mcp_server.bridge"


def run_unread(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run a module whose output nobody reads; return its exit status and what it says on stderr."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            stdout=write_end, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, **environment},
        )  # fmt: skip
    finally:
        os.close(write_end)
    return done.returncode, done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [(POLICY,), (POLICY, "--help"), (BRIDGE, "--help")])
def test_a_command_whose_output_nobody_reads_ends_quietly(arguments: tuple[str, ...], unbuffered: str) -> None:
    assert run_unread(*arguments, PYTHONUNBUFFERED=unbuffered) == (0, "")


def test_the_token_that_nobody_reads_is_no_error() -> None:
    with serve(Chat):
        assert run_unread(BRIDGE, "--token", NBTOOL_HOME=str(data_dir())) == (0, "")


def test_an_invalid_policy_keeps_its_line_and_its_status(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("[hosts")

    status, said = run_unread(POLICY, str(tmp_path / "policy.toml"))

    assert status == 1
    assert said.count("\n") == 1
