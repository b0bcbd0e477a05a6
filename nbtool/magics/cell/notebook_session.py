"""The notebook of the cell that runs now, for the length of that cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nbtool.magics.kernel.page_channel import PageChannel
from nbtool.magics.notebook.page_notebook import PageNotebook


@contextmanager
def notebook_of_cell(shell: Any, magic: str = "chat") -> Iterator[PageNotebook]:
    """Return the notebook of the running cell; its page is asked when something first needs it."""
    channel = PageChannel(shell)
    try:
        yield PageNotebook(channel, shell, magic)
    finally:
        channel.close()
