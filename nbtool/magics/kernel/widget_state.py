"""What a page asks of the kernel when it is loaded anew, answered while a cell runs.

A page that is loaded (again, or in a second browser) wants to know which widgets live. JupyterLab's manager of widgets
asks for the states of all over a comm that it opens for that; where no answer comes within four seconds it asks which
comms there are, and each of them for its state:
https://github.com/jupyter-widgets/ipywidgets/blob/main/packages/schema/messages.md

A kernel answers when its cell is over, and until then the page shows nothing of a turn, its question neither. So these
messages, and only these, are answered on the road on which clicks are heard (see `waiting`), by the kernel's own parts:
here too nothing is changed, and nothing of the person's runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

CONTROL_TARGET = "jupyter.widget.control"
"""The target of the comm that asks for the states of all widgets."""

WIDGET_TARGET = "jupyter.widget"

HANDLED_TYPES = frozenset(("kernel_info_request", "comm_info_request", "comm_open", "comm_msg", "comm_close"))
"""The kinds of messages among which those are."""


class WidgetStateResponder:
    """Answers for a kernel whose main thread is busy; what it cannot answer the kernel answers later."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def handles(self, kind: str, body: Mapping[str, Any]) -> bool:
        """Whether a message of this kind and content is one that a page sends when it is loaded."""
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
        except Exception:  # an error must not end the thread, or the cell that waits; the page asks again in its way
            kernel.log.warning("nbtool could not answer a page that was loaded.", exc_info=True)

    def _reply(self, kind: str, content: dict[str, Any], identities: Any, message: dict[str, Any]) -> None:
        kernel = self._kernel
        kernel.session.send(kernel.shell_stream, kind, {"status": "ok", **content}, message, identities)

    def _comms(self) -> dict[str, dict[str, str]]:
        comms = list(self._kernel.comm_manager.comms.items())  # a copy: the main thread may open others meanwhile
        return {comm_id: {"target_name": WIDGET_TARGET} for comm_id, comm in comms if comm.target_name == WIDGET_TARGET}

    @contextmanager
    def _parent(self, message: dict[str, Any]) -> Iterator[None]:
        """Let what comms send meanwhile be an answer to this message: a page knows its answers by that."""
        own = getattr(self._kernel, "_shell_parent", None)
        if own is not None:  # ipykernel 7 keeps it for each context
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
