"""Answers a reloaded page's requests for widget state while a cell runs.

A page that is loaded (again, or in a second browser) needs to know which widgets exist. JupyterLab's widget manager
requests all states over a comm that it opens for that; without an answer within four seconds it requests the list
of comms, and the state of each:
https://github.com/jupyter-widgets/ipywidgets/blob/main/packages/schema/messages.md

A kernel answers when its cell is finished, and until then the page shows nothing of a turn, including its question.
So these messages, and only these, are answered by the listener that delivers clicks (see `messages`), with the
kernel's own functions: nothing is changed, and none of the person's code runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

CONTROL_TARGET = "jupyter.widget.control"
"""The target of the comm that requests the states of all widgets."""

WIDGET_TARGET = "jupyter.widget"

HANDLED_TYPES = frozenset(("kernel_info_request", "comm_info_request", "comm_open", "comm_msg", "comm_close"))
"""The message types that contain those requests."""


class WidgetStateResponder:
    """Answers for a kernel whose main thread is busy; what it cannot answer the kernel answers later."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def handles(self, kind: str, body: Mapping[str, Any]) -> bool:
        """Return whether a page sends a message of this type and content when it is loaded."""
        if not hasattr(self._kernel, "comm_manager"):
            return False
        match kind:
            case "kernel_info_request":
                return True
            case "comm_info_request":
                return body.get("target_name") == WIDGET_TARGET
            case "comm_open":
                return body.get("target_name") == CONTROL_TARGET
        comm = self._kernel.comm_manager.comms.get(body.get("comm_id"))
        target = getattr(comm, "target_name", "")
        return target == CONTROL_TARGET or (target == WIDGET_TARGET and _method(body) == "request_state")

    def answer(self, identities: Any, message: dict[str, Any]) -> None:
        """Answer it; on the thread that reads the kernel's messages."""
        kernel, kind = self._kernel, message["header"]["msg_type"]
        try:
            if kind == "kernel_info_request":
                self._reply("kernel_info_reply", kernel.kernel_info, identities, message)
            elif kind == "comm_info_request":
                self._reply("comm_info_reply", {"comms": self._comms()}, identities, message)
            else:
                with self._parent(message):
                    getattr(kernel.comm_manager, kind)(None, identities, message)
        except Exception:  # an error must not end the thread, or the cell that waits; the page repeats the request
            kernel.log.warning("nbtool could not answer a page that was reloaded.", exc_info=True)

    def _reply(self, kind: str, content: dict[str, Any], identities: Any, message: dict[str, Any]) -> None:
        kernel = self._kernel
        kernel.session.send(kernel.shell_stream, kind, {"status": "ok", **content}, message, identities)

    def _comms(self) -> dict[str, dict[str, str]]:
        comms = list(self._kernel.comm_manager.comms.items())  # a copy: the main thread may open others meanwhile
        return {comm_id: {"target_name": WIDGET_TARGET} for comm_id, comm in comms if comm.target_name == WIDGET_TARGET}

    @contextmanager
    def _parent(self, message: dict[str, Any]) -> Iterator[None]:
        """Make comm messages sent meanwhile replies to this message: the page matches them by their parent."""
        own = getattr(self._kernel, "_shell_parent", None)
        if own is not None:  # ipykernel 7 stores it in a context variable
            token = own.set(message)
            try:
                yield
            finally:
                own.reset(token)
            return
        parents = self._kernel._parents
        before = parents.get("shell")
        parents["shell"] = message
        try:
            yield
        finally:
            parents["shell"] = before


def _method(body: Mapping[str, Any]) -> Any:
    data = body.get("data")
    return data.get("method") if isinstance(data, Mapping) else None
