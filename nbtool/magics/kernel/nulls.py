"""Keeps None in what JupyterLite's kernel sends to the page.

The kernel converts its messages to JavaScript, None to `undefined`, which JSON leaves out: a document whose fields may
be null would arrive without them. While nbtool is loaded, None is sent as `null`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from nbtool.threads.threadless import suspension


def patch_nulls(shell: Any, null: Any = None) -> None:
    """Send None as `null`; `null` is the object that becomes it, by default Pyodide's. Other kernels need nothing."""
    if suspension() and hasattr(shell, "send_comm"):
        replacement = _null() if null is None else null
        shell.send_comm = _Sender(shell.send_comm, replacement)
        shell.display_pub.publish = _Sender(shell.display_pub.publish, replacement)


def unpatch_nulls(shell: Any) -> None:
    """Undo `patch_nulls`."""
    if isinstance(sender := getattr(shell, "send_comm", None), _Sender):
        shell.send_comm = sender.send
        del shell.display_pub.publish  # the method of its class is found again


class _Sender:
    """Calls a function that sends, with its arguments converted."""

    def __init__(self, send: Any, null: Any) -> None:
        self.send = send
        self._null = null

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        convert = partial(with_nulls, null=self._null)
        return self.send(
            *(convert(argument) if isinstance(argument, dict) else argument for argument in arguments),
            **{name: convert(keyword) if isinstance(keyword, dict) else keyword for name, keyword in keywords.items()},
        )


def with_nulls(value: Any, null: Any) -> Any:
    """Return plain data with None replaced."""
    if value is None:
        return null
    if isinstance(value, dict):
        return {key: with_nulls(item, null) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_nulls(item, null) for item in value]
    return value


def _null() -> Any:  # pragma: no cover - exists only in a browser, where a test of JupyterLite runs it
    from pyodide.ffi import jsnull  # type: ignore[import-not-found]  # noqa: PLC0415 - exists only in Pyodide

    return jsnull
