from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.server import PYTHON, Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not PYTHON.exists():
        pytest.skip("There is no .venv-servers with the servers of others in it; `make servers` makes it.")
    running = Server(tmp_path_factory.mktemp("llama"))
    running.start()
    yield running
    running.stop()
