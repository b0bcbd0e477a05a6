"""A patch of ipykernel 7.0 to 7.3, whose replies can make it miss a request; depends on ipykernel internals."""

from __future__ import annotations

from typing import Any


def patch_reply_socket(kernel: Any) -> None:
    """Make ipykernel 7.0 to 7.3 reply through the stream that reads its requests, as 7.4 does.

    They bypass it on the same socket, and a request that arrives meanwhile may then never be read: of cells that
    are run in quick succession, one in 200 never starts. https://github.com/ipython/ipykernel/pull/1529
    """
    manager, stream = _reply_parts(kernel)
    if hasattr(manager, "_shell_socket") and manager._shell_socket is stream.socket:
        manager._shell_socket = stream


def unpatch_reply_socket(kernel: Any) -> None:
    """Undo `patch_reply_socket`."""
    manager, stream = _reply_parts(kernel)
    if hasattr(manager, "_shell_socket") and manager._shell_socket is stream:
        manager._shell_socket = stream.socket


def _reply_parts(kernel: Any) -> tuple[Any, Any]:
    """Return the object that sends the replies of ipykernel 7, and the stream that reads its requests."""
    thread = getattr(kernel, "shell_channel_thread", None)
    return getattr(thread, "manager", None), getattr(kernel, "shell_stream", None)
