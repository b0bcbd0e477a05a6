"""`%chat models`: what a key can use, with price, context and abilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.model import Model
from nbtool.magics.commands.state.model_table import list_models
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from tests.beats import run_without_stall
from tests.chaos import serve, whole
from tests.magics.commands.saying import run_command

LIST = {
    "data": [
        {"id": "gpt-6.1-terra"},
        {"id": "gpt-5-mini", "shutdown_date": "2026-12-11"},
        {"id": "never-heard-of", "context_length": 4096, "supported_parameters": ["tools", "seed"]},
    ]
}


@pytest.fixture
def listed(shell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    with serve(whole(200, LIST)) as server:
        (tmp_path / "providers.toml").write_text(f'[openai]\nbase_url = "{server.url}"\n')
        yield shell


def lines_of(output: str) -> dict[str, str]:
    return {line.split()[0]: line for line in output.splitlines() if line.startswith("openai:")}


def test_models_are_listed_with_price_context_abilities_and_end(
    listed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    listed.run_cell("%chat config model openai:gpt-6.1-terra")
    lines = lines_of(run_command(listed, "models", capsys))

    assert list(lines) == ["openai:gpt-5-mini", "openai:gpt-6.1-terra", "openai:never-heard-of"]
    assert "$" in lines["openai:gpt-6.1-terra"]
    assert "tokens of context" in lines["openai:gpt-6.1-terra"]
    assert "ends on 2026-12-11" in lines["openai:gpt-5-mini"]
    assert "4,096 tokens of context; tools, seed" in lines["openai:never-heard-of"]
    assert "$" not in lines["openai:never-heard-of"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("mini", ["openai:gpt-5-mini"]),
        ("gpt-*", ["openai:gpt-5-mini", "openai:gpt-6.1-terra"]),
        ("TERRA", ["openai:gpt-6.1-terra"]),
        ("x", []),
    ],
)
def test_a_pattern_selects_models(
    pattern: str, names: list[str], listed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    listed.run_cell("%chat config model openai:gpt-6.1-terra")
    output = run_command(listed, f"models {pattern}", capsys)

    assert list(lines_of(output)) == names
    if not names:
        assert "'x'" in output


def test_two_patterns_are_refused(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%chat models a b")
    printed = capsys.readouterr()

    assert "%chat models" in printed.out + printed.err


def test_a_long_list_of_models_is_priced_with_one_endpoint_and_parsed_off_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoints: list[str] = []

    def make(name: str, **options: Any) -> HttpEndpoint:
        endpoints.append(name)
        return make_endpoint(name, **options)

    monkeypatch.setattr("nbtool.chat.model.model.make_endpoint", make)
    body = {"data": [{"id": f"model-{number}", "description": "x" * 300} for number in range(10_000)]}
    with serve(whole(200, body)) as server:

        def list_names() -> list[str]:
            names: list[str] = []
            endpoints.clear()
            list_models(Model("m", base_url=server.url), "model-99", names)
            return names

        names = run_without_stall(list_names)

    assert len(names) == 10_000
    assert len(endpoints) <= 3, "to fetch the list, to name its models, and to price them"
