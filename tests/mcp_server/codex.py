"""Runs Codex in a folder of its own: its model is a double on loopback, its tools are those of a notebook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.providers.simulator import Provider

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "build" / "mcp-clients"
INSTALLED = CLIENTS / ".installed"
NAMESPACE = "mcp__notebook"
"""What Codex calls the tools of the server `notebook`."""

SECONDS = 100
SETTINGS = """
model = "gpt-5.4"
model_provider = "double"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.double]
name = "double"
base_url = "{model}"
env_key = "DOUBLE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[mcp_servers.notebook]
{server}
tool_timeout_sec = {tool_seconds}
startup_timeout_sec = {startup_seconds}
required = true
"""
OVER_HTTP = """url = "{url}"
bearer_token_env_var = "NOTEBOOK_TOKEN\""""
OVER_STDIO = """command = "{python}"
args = ["-m", "nbtool.mcp_server.bridge"]
env = {{ NBTOOL_HOME = "{home}" }}"""
NOWHERE = "http://127.0.0.1:9"
"""A proxy that nobody runs: whatever is not on loopback is refused."""


def start_codex(
    home: Path, provider: Provider, url: str, token: str, *, tool_seconds: float = SECONDS
) -> subprocess.Popen[str]:
    """Start Codex on one prompt; its model answers what the double is told to.

    Without a `url` it starts the command `nbtool-mcp`, which finds the served notebook and its token.
    """
    over_stdio = OVER_STDIO.format(python=sys.executable, home=os.environ["NBTOOL_HOME"])
    server = OVER_HTTP.format(url=url) if url else over_stdio
    settings = SETTINGS.format(model=provider.url, server=server, tool_seconds=tool_seconds, startup_seconds=SECONDS)
    (home / "config.toml").write_text(settings, encoding="utf-8")
    environment = {
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE),
        "NO_PROXY": "127.0.0.1",
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CODEX_HOME": str(home),
        "DOUBLE_KEY": provider.key,
        "NOTEBOOK_TOKEN": token,
    }
    (binary,) = CLIENTS.glob("node_modules/@openai/codex-*/vendor/*/bin/codex")
    return subprocess.Popen(
        [str(binary), "exec", "--skip-git-repo-check", "--json", "Use the notebook."],
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finished_calls(process: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
    """Wait until Codex has ended, and return its finished calls of the notebook by the name of the tool."""
    said, complaints = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, f"{said}\n{complaints}"
    events = [json.loads(line) for line in said.splitlines()]
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    return {item["tool"]: item for item in items if item["type"] == "mcp_tool_call"}


def texts_of(item: dict[str, Any]) -> list[str]:
    """Return the texts of the result of a call."""
    return [part["text"] for part in item["result"]["content"] if part["type"] == "text"]
