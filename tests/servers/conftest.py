from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.gateways import GATEWAYS, Gateway
from tests.servers.server import PYTHON, Server
from tests.servers.upstream import serve_upstream


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not PYTHON.exists():
        pytest.skip("There is no .venv-servers with the servers of others in it; `make lane LANE=servers` makes it.")
    running = Server(tmp_path_factory.mktemp("llama"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Gateway]]:
    """Give the gateways that are installed, by name."""
    with serve_upstream() as upstream:
        running: dict[str, Gateway] = {}
        try:
            for kind in GATEWAYS:
                if kind.PROGRAM.exists():
                    gateway = kind(tmp_path_factory.mktemp(kind.NAME), upstream)
                    gateway.start()
                    running[kind.NAME] = gateway
            yield running
        finally:
            for gateway in running.values():
                gateway.stop()
