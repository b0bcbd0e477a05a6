from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as processes:
        yield processes


@pytest.fixture
def own_pool() -> Iterator[ProcessPoolExecutor]:
    """A pool that a test may break, and whose workers have the environment of the test."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as processes:
        yield processes


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The client of a cluster of two processes with a home of their own, as on another machine."""
    from distributed import Client, LocalCluster

    folder = tmp_path_factory.mktemp("dask")
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        local_directory=str(folder),
        env={"NBTOOL_HOME": str(folder)},  # of a worker that is started again too
    )
    with cluster, Client(cluster) as of_cluster:
        yield of_cluster
