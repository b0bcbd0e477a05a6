"""`python -m nbtool.policy`, as an administrator runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WHOLE = """
[hosts]
models = ["api.openai.com", "*.openai.azure.com"]
mcp_commands = ["/opt/mcp/tickets"]
[values]
may_leave = false
[approval]
never = ["drop_*", "tickets.close"]
always_ask = ["delete_*", "nbtool.files.*"]
automatic = false
[budget]
usd = 2.5
tokens = 1_000_000
[serve]
allowed = false
[journal]
storage = "memory"
days = 30
"""

MEANING = """\
  models: only at api.openai.com, *.openai.azure.com.
  MCP servers: none by HTTP.
  MCP commands: only /opt/mcp/tickets.
  agents: none.
  web pages: none.
  proxies: none.
  values: none is sent: of variables and results only names, types and shapes.
  tools that never run: drop_*, tickets.close: no call of them runs, approved or not.
  tools that always ask: delete_*, nbtool.files.*: a person decides before every call.
  approval: only by a person: `--approve auto` and approvers in Python cannot approve.
  budget: at most 2.5 USD and 1,000,000 tokens in one kernel.
  %chat serve: is refused.
  journal: in memory only.
  journal days: turns older than 30 days are deleted.
"""


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nbtool.policy", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_a_valid_file_is_described_rule_by_rule(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(WHOLE)

    checked = run(str(path))

    assert checked.returncode == 0
    assert checked.stdout.startswith(f"{path} is valid. It means:\n{MEANING}")
    assert "does not bind you" in checked.stdout


def test_an_invalid_file_is_named_in_one_line_with_status_1(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("[hosts]\nmodel = ['a']")

    checked = run(str(path))

    assert (checked.returncode, checked.stdout) == (1, "")
    assert str(path) in checked.stderr
    assert "hosts.model: " in checked.stderr
    assert checked.stderr.count("\n") == 1


def test_without_a_file_the_policy_in_force_is_described(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("[serve]\nallowed = false")

    assert "%chat serve: is refused." in run(NBTOOL_POLICY=str(path)).stdout
    assert "limits nothing" in run(str(_empty(tmp_path))).stdout
    assert run(NBTOOL_POLICY=str(tmp_path / "missing")).returncode == 1


def _empty(folder: Path) -> Path:
    (folder / "empty.toml").touch()
    return folder / "empty.toml"
