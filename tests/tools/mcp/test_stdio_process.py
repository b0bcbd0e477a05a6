"""What the stdio process does with the words of a server; that it ends with its server is tried in test_servers."""

from __future__ import annotations

import io
import json
import os
from typing import Any

import pytest

from nbtool.tools.mcp.stdio_process import (
    MAX_LINE_CHARS,
    MAX_NESTING,
    MAX_STDERR_BYTES,
    MAX_STRAY_LINES,
    TOO_COMPLEX,
    TOO_LARGE,
    Complexity,
    Flow,
    as_log_message,
    is_answer,
    is_message,
    pump_stdout,
    read_stderr,
)

MESSAGE = b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n'


def pass_through(said: bytes, **limits: int) -> tuple[bool, list[bytes]]:
    out = io.BytesIO()
    ended = pump_stdout(io.BytesIO(said), out, Flow(), **limits)
    return ended, out.getvalue().splitlines(keepends=True)


def data(line: bytes) -> str:
    params = json.loads(line)["params"]
    assert (params["level"], params["logger"]) == ("warning", "nbtool")
    return str(params["data"])


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        (MESSAGE, True),
        (b"  " + MESSAGE, True),
        (MESSAGE.rstrip(), False),
        (b'{"id": 1}\n', False),
        (b'["jsonrpc"]\n', False),
        (b"\n", False),
    ],
)
def test_a_message_is_a_line_with_an_object_of_json_rpc(line: bytes, is_one: bool) -> None:
    assert is_message(line) is is_one


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n', True),
        (b'{"jsonrpc": "2.0", "id": 1, "error": {}}\n', True),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n', False),
        (b'{"jsonrpc": "2.0", "method": "x", "result": {}}\n', False),
        (b'["result", "id"]\n', False),
        (b'{"jsonrpc": "2.0", "id": \n', False),
        (b"[" * 100_000, False),
    ],
)
def test_an_answer_is_a_message_with_an_id_and_an_outcome(line: bytes, is_one: bool) -> None:
    assert is_answer(line) is is_one


def test_messages_pass_unchanged_and_blank_lines_not_at_all() -> None:
    assert pass_through(MESSAGE + b"\n  \n" + MESSAGE) == (True, [MESSAGE, MESSAGE])


def test_a_line_that_is_no_message_is_reported_as_a_log_message() -> None:
    ended, (line, message) = pass_through(b"Listening \xff on stdio\n" + MESSAGE)

    assert ended
    assert message == MESSAGE
    assert data(line) == "Listening \ufffd on stdio"
    assert is_message(line)


def test_so_many_lines_that_are_no_messages_are_reported_and_no_more() -> None:
    _, lines = pass_through(b"".join(b"noise %d\n\n" % number for number in range(2 * MAX_STRAY_LINES)) + MESSAGE)

    assert [data(line) for line in lines[:-1]] == [f"noise {number}" for number in range(MAX_STRAY_LINES)]
    assert lines[-1] == MESSAGE


def test_a_long_line_is_cut_and_says_how_much_is_left_out() -> None:
    assert (
        data(as_log_message(b" " + b"x" * 1_000 + b"\n"))
        == "x" * MAX_LINE_CHARS + f"[… {1_000 - MAX_LINE_CHARS:,} characters more]"
    )


@pytest.mark.parametrize(
    ("id_", "message"),
    [
        (7, b'{"jsonrpc": "2.0", "id": 7, "result": "%s"}\n'),
        (7, b'{"id":7,"jsonrpc":"2.0","result":"%s"}\n'),
        ("a-1", b'{"jsonrpc":"2.0","result":"%s","id":"a-1"}\n'),
        (-7, b'{"result":"%s", "id": -7, "jsonrpc": "2.0"}\n'),
    ],
)
def test_a_message_that_is_too_large_is_dropped_and_its_call_gets_an_error(id_: Any, message: bytes) -> None:
    large = message % (b"x" * 200_000)
    ended, (error, following) = pass_through(large + MESSAGE, max_message=10_000)

    assert ended
    assert following == MESSAGE
    answer = json.loads(error)
    assert (answer["id"], answer["error"]["data"]) == (id_, TOO_LARGE)
    assert answer["error"]["message"] == f"a message of {len(large)} bytes"


def test_a_message_of_the_longest_length_passes() -> None:
    assert pass_through(MESSAGE, max_message=len(MESSAGE)) == (True, [MESSAGE])


def test_a_large_message_whose_id_is_nowhere_is_reported_as_noise() -> None:
    large = b'{"jsonrpc": "2.0", "method": "notifications/x", "params": "%s"}\n' % (b'"id": 3, ' * 1_000)
    ended, (line, message) = pass_through(large + MESSAGE, max_message=100)

    assert (ended, message) == (True, MESSAGE)
    assert data(line) == f"a message of {len(large)} bytes that was dropped"


def test_a_message_without_end_ends_the_server() -> None:
    said = MESSAGE + b"x" * 1_000_000

    assert pass_through(said, max_message=1_000, max_dropped=100_000) == (False, [MESSAGE])


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


DEEP = b'{"a": ' * 5_000 + b"1" + b"}" * 5_000
MANY = b"[" + b'{"type": "text", "text": "b"}, ' * 100_000 + b"{}]"


@pytest.mark.parametrize("result", [DEEP, MANY, b"[" * 1_000_000, b"[" + b'"\\"", ' * 300_000 + b"0]"])
def test_an_answer_of_too_many_values_or_levels_is_not_read_and_its_call_gets_an_error(result: bytes) -> None:
    ended, lines = pass_through(b'{"jsonrpc": "2.0", "id": 7, "result": ' + result + b"}\n" + MESSAGE)

    answer = json.loads(lines[0])
    assert (ended, answer["id"], answer["error"]["data"], lines[1:]) == (True, 7, TOO_COMPLEX, [MESSAGE])


def test_brackets_in_a_text_count_for_nothing() -> None:
    text = json.dumps('[{"\\' * 500_000).encode()
    line = b'{"jsonrpc": "2.0", "id": 7, "result": ' + text + b"}\n"

    assert pass_through(line) == (True, [line])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_a_message_is_counted_the_same_however_it_is_cut(size: int) -> None:
    def is_over(message: bytes) -> bool:
        counter = Complexity()
        return any(counter.exceeds_limits(message[at : at + size]) for at in range(0, len(message), size))

    assert is_over(b"[" * (MAX_NESTING + 1))
    assert not is_over(b'{"a": ["' + rb"\\\"[{[{[" * MAX_NESTING + b'"]}')
    assert not is_over(b'["\\\\"]' * MAX_NESTING)
