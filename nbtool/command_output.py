"""The output of nbtool's commands, whose reader may end before it has read everything, as `head -1` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def closable_output() -> Iterator[None]:
    """Go on without a word after the block if nobody reads its output any more; what is left of it is dropped."""
    try:
        with suppress(BrokenPipeError):
            yield
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            # Python flushes once more at its end: https://docs.python.org/3/library/signal.html#note-on-sigpipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
