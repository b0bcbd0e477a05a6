"""What is remembered of a server's stderr; that the process ends with its server is tried in test_servers."""

from __future__ import annotations

import os

from nbtool.tools.mcp.stdio.stdio_process import MAX_STDERR_BYTES, read_stderr


def test_the_end_of_what_a_server_writes_to_stderr_is_remembered() -> None:
    reading, writing = os.pipe()
    words = bytearray()
    with os.fdopen(reading, "rb") as stderr:
        os.write(writing, b"a" * MAX_STDERR_BYTES + b"the end")
        os.close(writing)
        read_stderr(stderr, words)

    assert words == b"a" * (MAX_STDERR_BYTES - 7) + b"the end"


def test_a_stderr_that_is_closed_says_nothing() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    stderr = os.fdopen(reading, "rb")
    stderr.close()
    words = bytearray(b"kept")
    read_stderr(stderr, words)

    assert words == b"kept"
