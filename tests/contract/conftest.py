from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.notebook import Kernel, Notebook, end_shell, start_kernel
from tests.contract.simulator import MODEL, Provider, simulate
from tests.contract.tools import paying


def pytest_itemcollected(item: pytest.Item) -> None:
    """Run every case of a contract in the normal lane."""
    item.add_marker("every_case")


@pytest.fixture
def model() -> Iterator[Provider]:
    """Give a provider on loopback; a test says with `say` what it answers."""
    with simulate() as provider:
        yield provider


@pytest.fixture
def paid() -> list[Any]:
    """Give the list of what `pay` paid."""
    return []


@pytest.fixture
def pay(paid: list[Any]) -> Any:
    """Give a tool that asks, and pays."""
    return paying(paid)


@pytest.fixture
def home(own_journal: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give the folder of this person's history, settings and logins."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("NBTOOL_HOME", str(folder))
    return folder


@pytest.fixture
def notebook(model: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    """Give a notebook with nbtool loaded, whose model is the provider."""
    monkeypatch.setenv("OLLAMA_HOST", model.host)
    monkeypatch.setenv("NBTOOL_MODEL", f"ollama:{MODEL}")
    notebook = Notebook()
    assert not notebook.run("%load_ext nbtool").error
    yield notebook
    end_shell()


@pytest.fixture(scope="session")
def shared_model() -> Iterator[Provider]:
    """Give the provider of the kernel, which all tests with a kernel share."""
    with simulate() as provider:
        yield provider


@pytest.fixture
def kernel_model(shared_model: Provider) -> Provider:
    """Give the provider of the kernel, without anything of an earlier test."""
    shared_model.begin_again()
    return shared_model


@pytest.fixture(scope="session")
def kernel(shared_model: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """Give a kernel of its own with a person at it; each test begins a chat of its own (`%%chat --new`)."""
    home = tmp_path_factory.mktemp("kernel")
    with start_kernel(home, OLLAMA_HOST=shared_model.host, NBTOOL_MODEL=f"ollama:{MODEL}") as kernel:
        yield kernel
