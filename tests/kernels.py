"""Kernels of the tests, in processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

READY_SECONDS = 60
TRIES = 3


def start_kernel(python: str = sys.executable, env: Mapping[str, str] | None = None) -> KernelManager:
    """Start a kernel that answers.

    Its ports are chosen before it binds them, so that another process may take one: then it ends, and another is
    started (https://github.com/jupyter/jupyter_client/issues/487).
    """
    for _ in range(TRIES - 1):
        manager = _start(python, env)
        client = connect(manager)
        try:
            client.wait_for_ready(timeout=READY_SECONDS)
        except RuntimeError:
            if manager.is_alive():
                raise
        else:
            return manager
        finally:
            client.stop_channels()
    return _start(python, env)


def connect(manager: KernelManager) -> BlockingKernelClient:
    """Open the channels to a kernel."""
    client: BlockingKernelClient = manager.blocking_client()
    client.start_channels()
    return client


def _start(python: str, env: Mapping[str, str] | None) -> KernelManager:
    manager = KernelManager(kernel_name="python3")
    assert manager.kernel_spec
    manager.kernel_spec.argv[0] = python
    manager.kernel_spec.env.update(env or {})
    manager.start_kernel()
    return manager
