from __future__ import annotations

from typing import Any

import pytest

from nbtool.magics.kernel.nulls import patch_nulls, unpatch_nulls, with_nulls
from tests.one_thread import one_thread


class Publisher:
    def __init__(self) -> None:
        self.published: list[Any] = []

    def publish(self, data: Any, *, transient: Any = None) -> None:
        self.published.append((data, transient))


class Shell:
    """What is asked of the shell of JupyterLite."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.send_comm: Any = lambda *arguments: self.sent.append(arguments)
        self.display_pub = Publisher()


def test_none_stays_in_messages_and_outputs_until_the_extension_is_unloaded() -> None:
    shell, document = Shell(), {"a": None, "b": [None, {"c": None}, 1], "d": "text"}
    send, null = shell.send_comm, object()
    with one_thread():
        patch_nulls(shell, null)
        shell.send_comm("comm_msg", {"data": document}, None)
        shell.display_pub.publish(document, transient={"id": None})
        unpatch_nulls(shell)
    shell.display_pub.publish({"a": None})

    converted = {"a": null, "b": [null, {"c": null}, 1], "d": "text"}
    assert shell.sent == [("comm_msg", {"data": converted}, None)]
    assert shell.display_pub.published == [(converted, {"id": null}), ({"a": None}, None)]
    assert shell.send_comm is send


@pytest.mark.parametrize("value", [1, "text", [1, (2,)], {"a": {"b": 2.5}}])
def test_other_values_are_not_changed(value: Any) -> None:
    assert with_nulls(value, "null") == (value if not isinstance(value, list) else [1, [2]])


def test_other_kernels_are_left_alone() -> None:
    shell = Shell()
    send = shell.send_comm
    patch_nulls(shell, "null")
    unpatch_nulls(shell)

    assert shell.send_comm is send
