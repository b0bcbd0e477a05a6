from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtool.errors import BadUsage
from nbtool.tools.mcp.catalog.tool_names import model_tool_name
from nbtool.tools.mcp.config import read_config


def test_a_file_says_what_a_mapping_says_and_disabled_servers_are_left_out(tmp_path: Path) -> None:
    servers = {
        "files": {"command": "npx", "args": ["-y", "files"], "autoApprove": ["*"], "cwd": "/data"},
        "off": {"command": "x", "disabled": True},
        "web": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "SECRET"}},
    }
    config = {"mcpServers": servers}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    specs = read_config(path)

    assert specs == read_config(str(path)) == read_config(config)
    assert [spec.name for spec in specs] == ["files", "web"]
    assert (specs[0].args, specs[0].folder) == (("-y", "files"), "/data")
    assert "SECRET" not in repr(specs)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({}, "The configuration has no MCP servers."),
        ([], "The configuration has no MCP servers."),
        ({"mcpServers": {"a": {}}}, "The MCP server 'a' needs either 'command' or 'url'."),
        ({"mcpServers": {"a": {"command": "x", "url": "y"}}}, "needs either 'command' or 'url'"),
        ({"mcpServers": {"a\n": {"command": "x"}}}, "is not a valid name of an MCP server"),
        ({"mcpServers": {"a": {"command": "x", "args": "y"}}}, "args a list of strings"),
        ({"mcpServers": {"a": {"command": "x\0"}}}, "command and cwd must be strings"),
        ({"mcpServers": {"a": {"command": "x", "env": {"A": 1}}}}, "env must be an object with string values"),
        ({"mcpServers": {"a": {"url": "file:///etc/passwd"}}}, "Unsupported scheme 'file'"),
        ({"mcpServers": {"a": {"url": 3}}}, "url must be an http or https URL"),
        ({"mcpServers": {"a": {"type": "sse", "url": "http://x/sse"}}}, "uses the deprecated SSE transport"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_one_line(config: Any, problem: str) -> None:
    with pytest.raises(BadUsage) as raised:
        read_config(config)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "A=B"]
)
def test_variables_that_run_other_code_are_refused(name: str) -> None:
    with pytest.raises(BadUsage, match="may not set"):
        read_config({"mcpServers": {"a": {"command": "x", "env": {name: "y"}}}})


def test_a_file_that_cannot_be_read_is_named_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    (tmp_path / "long.json").write_text(" " * 1_000_001, encoding="utf-8")

    for name, problem in [
        ("none.json", "No such file"),
        ("bad.json", "is not valid JSON"),
        ("long.json", "the maximum is 1000000"),
    ]:
        with pytest.raises(BadUsage, match=problem) as raised:
            read_config(tmp_path / name)
        assert str(tmp_path) not in str(raised.value)


def test_names_are_fitted_and_long_ones_stay_apart() -> None:
    long = [model_tool_name("server", "x" * 100 + end) for end in "ab"]

    assert model_tool_name("my server", "read.file/ä") == "my_server_read_file__"
    assert [len(name) for name in long] == [64, 64]
    assert long[0] != long[1]


@pytest.mark.parametrize("scheme", ["Bearer", "Basic", "Token", "ApiKey", "API-Key", "Key", "Digest"])
def test_a_key_is_removed_from_texts_without_its_scheme_too(scheme: str) -> None:
    server = {"url": "https://mcp.example", "headers": {"Authorization": f"{scheme} abc123secret"}}
    (config,) = read_config({"mcpServers": {"lab": server}})

    assert "abc123secret" not in config.without_secrets("The key abc123secret is wrong.")
