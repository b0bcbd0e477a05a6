"""Why Codex is refused: what it offers its model with all switched off that can be (`make lane LANE=acp-agents`)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.providers.replies import Answer
from tests.providers.simulator import simulate
from tests.wire.agents.claude_program import INSTALLED, NODE, NOWHERE

ADAPTER = INSTALLED.parent / "node_modules" / "@agentclientprotocol" / "codex-acp" / "dist" / "index.js"
OFF = (
    "apps", "browser_use", "code_mode", "code_mode_host", "computer_use", "goals", "hooks", "image_generation",
    "memories", "multi_agent", "plugins", "shell_tool", "sleep_tool", "tool_suggest", "unified_exec", "view_image",
)  # fmt: skip
"""All of its features that are tools, or that run something."""

NEITHER_FILES_NOR_PROGRAMS = {
    "list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "request_user_input"
}  # fmt: skip

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not INSTALLED.exists(), reason="make lane LANE=acp-agents installs it"),
]


@pytest.mark.parametrize(
    ("model", "own"),
    [
        ("gpt-5.1", set()),  # it does not know this one
        ("gpt-5.5", {"apply_patch"}),
        ("gpt-6.1-terra", {"exec", "spawn_agent"}),
    ],
)
def test_the_models_that_codex_knows_bring_tools_with_them(tmp_path: Path, model: str, own: set[str]) -> None:
    body = first_request(tmp_path, model)

    names = set(names_of(body.get("tools", []))) | {
        name for item in body["input"] for name in names_of(item.get("tools", []))
    }
    assert names - NEITHER_FILES_NOR_PROGRAMS >= own
    assert own or names <= NEITHER_FILES_NOR_PROGRAMS
    assert "view_image" not in names


def first_request(home: Path, model: str) -> dict[str, Any]:
    """Prompt Codex once, in its mode that only reads, and return what its model is sent."""
    with simulate("openai", Answer("Done."), behaviours=()) as provider:
        config = {
            "model": model, "sandbox_mode": "read-only", "web_search": "disabled", "analytics": {"enabled": False},
            "check_for_update_on_startup": False, "features": dict.fromkeys(OFF, False),
            "model_providers": {"double": {
                "name": "double", "base_url": provider.url, "env_key": "OPENAI_API_KEY", "wire_api": "responses",
                "request_max_retries": 0, "stream_max_retries": 0,
            }},
        }  # fmt: skip
        environment = {
            "HOME": str(home), "CODEX_HOME": str(home), "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}",
            "CODEX_CONFIG": json.dumps(config), "MODEL_PROVIDER": "double", "OPENAI_API_KEY": provider.key,
            "INITIAL_AGENT_MODE": "read-only", "NO_BROWSER": "1",
            "HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1",
        }  # fmt: skip
        requests = [
            ("initialize", {"protocolVersion": 1, "clientCapabilities": {}}),
            ("session/new", {"cwd": str(home), "mcpServers": []}),
            ("session/prompt", {"prompt": [{"type": "text", "text": "Hello."}]}),
        ]
        with subprocess.Popen(
            [str(NODE), str(ADAPTER)], cwd=home, env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            session: dict[str, str] = {}
            for number, (method, params) in enumerate(requests):
                answer = ask(process, number, method, {**params, **session})
                session = {"sessionId": answer["sessionId"]} if "sessionId" in answer else {}
            process.kill()
        return provider.bodies[0]


def ask(process: subprocess.Popen[str], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request, and return its answer."""
    assert process.stdin
    assert process.stdout
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    process.stdin.write(f"{json.dumps(request)}\n")
    process.stdin.flush()
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == number and "method" not in message:
            return dict(message["result"])
    pytest.fail(f"Codex ended without an answer to {method}.")


def names_of(tools: list[dict[str, Any]]) -> Iterator[str]:
    """Give the names of tools, also of those in a namespace."""
    for tool in tools:
        if "tools" in tool:
            yield from names_of(tool["tools"])
        else:
            yield str(tool.get("name") or tool["type"])
