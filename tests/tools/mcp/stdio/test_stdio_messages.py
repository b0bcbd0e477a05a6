"""What is passed on of the lines of a server on stdio, and what becomes of its broken responses."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from nbtool.tools.mcp.stdio.stdio_messages import (
    MAX_BATCH,
    MAX_LINE_CHARS,
    MAX_NESTING,
    MAX_STRAY_LINES,
    TOO_COMPLEX,
    TOO_LARGE,
    UNREADABLE,
    Complexity,
    Flow,
    as_log_message,
    claims,
    is_message,
    is_response,
    parse,
    pump_stdout,
)

MESSAGE = b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n'


def asking(*ids: object) -> Flow:
    """Return the state after the handshake, and requests with these ids."""
    flow = Flow()
    flow.note_question(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n')
    flow.process(b'{"jsonrpc":"2.0","id":0,"result":{}}\n')
    flow.note_question(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    flow.note_question(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    flow.process(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    for id_ in ids:
        flow.note_question(b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{}}\n' % json.dumps(id_).encode())
    return flow


def failures(flow: Flow, line: bytes) -> list[tuple[object, object]]:
    """Return the id and the reason of each error that replaces a response."""
    passed, _ = flow.process(line + b"\n")
    messages = [json.loads(one) for one in passed.splitlines()]
    return [(one["id"], one["error"].get("data")) for one in messages if "error" in one]


def pass_through(said: bytes, flow: Flow | None = None, **limits: int) -> tuple[bool, list[bytes]]:
    out = io.BytesIO()
    ended = pump_stdout(io.BytesIO(said), out, flow or Flow(), **limits)
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
        (b'{"jsonrpc": "2.0", "method": "x"}\n', True),
        (b'{"jsonrpc": "2.0", "method": "x", "params": [1]}\n', False),
        (b'{"jsonrpc": "1.0", "method": "x"}\n', False),
        (b'["jsonrpc"]\n', False),
        (b"\n", False),
    ],
)
def test_a_message_is_a_line_with_an_object_of_json_rpc(line: bytes, is_one: bool) -> None:
    assert is_message(parse(line)) is is_one


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n', True),
        (b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}}\n', True),
        (b'{"jsonrpc": "2.0", "id": null, "error": {"code": "-1", "message": "no"}}\n', True),
        (b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1.0, "message": "no"}}\n', True),
        (b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1.5, "message": "no"}}\n', False),
        (b'{"jsonrpc": "2.0", "id": 1, "error": {}}\n', False),
        (b'{"jsonrpc": "2.0", "id": 1.0, "result": {}}\n', False),
        (b'{"jsonrpc": "2.0", "id": null, "result": {}}\n', False),
        (b'{"jsonrpc": "2.0", "id": 1, "result": []}\n', False),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n', False),
        (b'{"jsonrpc": "2.0", "method": "x", "result": {}}\n', False),
        (b'["result", "id"]\n', False),
        (b'{"jsonrpc": "2.0", "id": \n', False),
        (b"[" * 100_000, False),
    ],
)
def test_an_answer_is_a_message_with_an_id_and_an_outcome(line: bytes, is_one: bool) -> None:
    assert is_response(parse(line)) is is_one


def test_messages_pass_unchanged_and_blank_lines_not_at_all() -> None:
    assert pass_through(MESSAGE + b"\n  \n" + MESSAGE) == (True, [MESSAGE, MESSAGE])


def test_a_line_that_is_no_message_is_reported_as_a_log_message() -> None:
    ended, (line, message) = pass_through(b"Listening \xff on stdio\n" + MESSAGE)

    assert ended
    assert message == MESSAGE
    assert data(line) == "Listening \ufffd on stdio"
    assert is_message(parse(line))


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
    ended, (error, following) = pass_through(large + MESSAGE, asking(id_), max_message=10_000)

    assert ended
    assert following == MESSAGE
    answer = json.loads(error)
    assert (answer["id"], answer["error"]["data"]) == (id_, TOO_LARGE)
    assert f" {len(large)} " in answer["error"]["message"]


def test_a_message_of_the_longest_length_passes() -> None:
    assert pass_through(MESSAGE, max_message=len(MESSAGE)) == (True, [MESSAGE])


def test_a_large_message_whose_id_is_nowhere_is_reported_as_noise() -> None:
    large = b'{"jsonrpc": "2.0", "method": "notifications/x", "params": "%s"}\n' % (b'"id": 3, ' * 1_000)
    ended, (line, message) = pass_through(large + MESSAGE, max_message=100)

    assert (ended, message) == (True, MESSAGE)
    assert f" {len(large)} " in data(line)


def test_a_message_without_end_ends_the_server() -> None:
    said = MESSAGE + b"x" * 1_000_000

    assert pass_through(said, max_message=1_000, max_dropped=100_000) == (False, [MESSAGE])


def test_the_longest_message_that_is_dropped_does_not_end_the_server() -> None:
    large = b'{"jsonrpc": "2.0", "id": 7, "result": "%s"}\n' % (b"x" * 200_000)
    limits = {"max_message": 1_000, "max_dropped": len(large)}

    assert pass_through(large + MESSAGE, **limits)[0]
    assert not pass_through(b" " + large + MESSAGE, **limits)[0]


DEEP = b'{"a": ' * 5_000 + b"1" + b"}" * 5_000
MANY = b"[" + b'{"type": "text", "text": "b"}, ' * 100_000 + b"{}]"


@pytest.mark.parametrize("result", [DEEP, MANY, b"[" * 1_000_000, b"[" + b'"\\"", ' * 300_000 + b"0]"])
def test_an_answer_of_too_many_values_or_levels_is_not_read_and_its_call_gets_an_error(result: bytes) -> None:
    ended, lines = pass_through(b'{"jsonrpc": "2.0", "id": 7, "result": ' + result + b"}\n" + MESSAGE, asking(7))

    answer = json.loads(lines[0])
    assert (ended, answer["id"], answer["error"]["data"], lines[1:]) == (True, 7, TOO_COMPLEX, [MESSAGE])


def test_brackets_in_a_text_count_for_nothing() -> None:
    text = json.dumps('[{"\\' * 500_000).encode()
    line = b'{"jsonrpc": "2.0", "id": 7, "result": {"a": ' + text + b"}}\n"

    assert pass_through(line) == (True, [line])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_a_message_is_counted_the_same_however_it_is_cut(size: int) -> None:
    def is_over(message: bytes) -> bool:
        counter = Complexity()
        return any(counter.exceeds_limits(message[at : at + size]) for at in range(0, len(message), size))

    assert is_over(b"[" * (MAX_NESTING + 1))
    assert not is_over(b'{"a": ["' + rb"\\\"[{[{[" * MAX_NESTING + b'"]}')
    assert not is_over(b'["\\\\"]' * MAX_NESTING)


RESULT = b'"result": {}}'
BROKEN = {
    "cut off": b'{"jsonrpc": "2.0", "id": 7, "resu',
    "cut off, its id last": b'{"result": {]}, "id": 7, "jsonrpc": "2.0"}',
    "not UTF-8": b'{"jsonrpc": "2.0", "id": 7, "result": {"a": "\xff"}}',
    "a lone surrogate": rb'{"jsonrpc": "2.0", "id": 7, "result": {"a": "\ud83d"}}',
    "garbage after it": b'{"jsonrpc": "2.0", "id": 7, "result": {}} }',
    "two in one line": b'{"jsonrpc": "2.0", "id": 7, "result": {}}{"jsonrpc": "2.0", "id": 7, "result": {}}',
    "a result that is no object": b'{"jsonrpc": "2.0", "id": 7, "result": [1]}',
    "no result": b'{"jsonrpc": "2.0", "id": 7, "result": null}',
    "no outcome": b'{"jsonrpc": "2.0", "id": 7}',
    "an error that is a text": b'{"jsonrpc": "2.0", "id": 7, "error": "no"}',
    "an error without a code": b'{"jsonrpc": "2.0", "id": 7, "error": {"message": "no"}}',
    "another version": b'{"jsonrpc": "1.0", "id": 7, ' + RESULT,
    "no version": b'{"id": 7, ' + RESULT,
    "in a list": b'[{"jsonrpc": "2.0", "id": 7, "result": {}}]',
    "a method that is no text": b'{"jsonrpc": "2.0", "id": 7, "method": 5, "result": []}',
}
"""Responses to request 7 that the notebook cannot read, and that name it."""

MISDIRECTED = {
    "the id a float": b'{"jsonrpc": "2.0", "id": 7.0, ' + RESULT,
    "the id another number": b'{"jsonrpc": "2.0", "id": 99, ' + RESULT,
    "the id another text": b'{"jsonrpc": "2.0", "id": "seven", ' + RESULT,
    "the id a list": b'{"jsonrpc": "2.0", "id": [7], ' + RESULT,
    "the id true": b'{"jsonrpc": "2.0", "id": true, ' + RESULT,
    "the id null": b'{"jsonrpc": "2.0", "id": null, ' + RESULT,
    "no id": b'{"jsonrpc": "2.0", ' + RESULT,
    "no id, cut off": b'{"jsonrpc": "2.0", "result": {"content": [',
    "over several lines": b'  "jsonrpc": "2.0",',
}
"""Responses that do not name request 7."""

UNDECIDED = {
    "words": b"Listening on stdio",
    "a bracket": b"{",
    "JSON": b'{"level": "error", "error": "no", "id": 7}',
    "JSON with an error": b'{"error": "no"}',
    "JSON with another id": b'{"id": 99, "error": "no"}',
    "a log of a message": rb'{"level": "debug", "got": "{\"jsonrpc\": \"2.0\", \"id\": 7}"}',
    "a log in words": b'got {"jsonrpc": "2.0", "id": 7, "result": {}}',
    "a list": b'["jsonrpc", 7]',
    "a broken notification": b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"id": 7}',
    "a broken request": b'{"jsonrpc": "2.0", "id": 7, "method": "roots/list", ',
    "a notification with a list": b'{"jsonrpc": "2.0", "method": "notifications/message", "params": [7]}',
    "a notification that is not UTF-8": b'{"jsonrpc": "2.0", "method": "notifications/message", "params": "\xff"}',
}
"""Lines that may stand before the response to request 7."""


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("others", [(), (8, "nine")], ids=["alone", "with others"])
def test_a_broken_response_ends_the_request_that_it_names(line: bytes, others: tuple[object, ...]) -> None:
    flow = asking(7, *others)

    assert failures(flow, line) == [(7, UNREADABLE)]
    assert failures(flow, line) == []  # it has ended


@pytest.mark.parametrize("line", MISDIRECTED.values(), ids=MISDIRECTED)
def test_a_response_without_the_id_of_a_request_ends_the_only_one(line: bytes) -> None:
    assert failures(asking(7), line) == [(7, UNREADABLE)]
    assert failures(asking(7, 8), line) == []
    assert failures(asking(), line) == []


@pytest.mark.parametrize("line", UNDECIDED.values(), ids=UNDECIDED)
def test_what_is_no_response_ends_no_request_and_is_reported(line: bytes) -> None:
    flow = asking(7)

    assert flow.process(line + b"\n") == (b"", line + b"\n")
    answer = b'{"jsonrpc": "2.0", "id": "7", "result": {}}\n'
    assert flow.process(answer) == (answer, b"")


def test_an_error_without_an_id_is_that_of_the_only_request() -> None:
    line = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "Parse error"}}\n'
    passed, stray = asking(7).process(line)

    assert json.loads(passed) == {**json.loads(line), "id": 7}
    assert stray == b""
    assert asking(7, 8).process(line) == (line, b"")


def test_a_careless_server_may_respond_to_a_notification() -> None:
    refused = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "Method not found"}}\n'
    flow = asking(2)
    flow.note_question(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}\n')
    flow.note_question(b'{"jsonrpc":"2.0","id":3,"method":"tools/call"}\n')

    assert flow.process(refused) == (refused, b"")  # to the notification
    passed, _ = flow.process(refused)
    assert json.loads(passed)["id"] == 3


@pytest.mark.parametrize("id_", [1, 2])
def test_a_late_response_ends_no_request(id_: int) -> None:
    flow = asking(2, 3)
    flow.note_question(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}\n')
    late = b'{"jsonrpc": "2.0", "id": %d, "result": {}}\n' % id_

    assert flow.process(late) == (late, b"")
    assert failures(flow, b'{"jsonrpc": "2.0", "id": %d, "result": 5}' % id_) == []
    assert failures(flow, BROKEN["cut off"].replace(b"7", b"3")) == [(3, UNREADABLE)]


def test_a_large_response_without_an_id_ends_the_only_request() -> None:
    large = b'{"jsonrpc": "2.0", "result": {"a": "%s"}}\n' % (b"x" * 200_000)
    _, (error, following) = pass_through(large + MESSAGE, asking(7), max_message=10_000)

    assert (json.loads(error)["id"], json.loads(error)["error"]["data"], following) == (7, TOO_LARGE, MESSAGE)


def test_the_requests_are_known_however_they_are_cut() -> None:
    request = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"%s"}}\n' % (b"x" * 3_000)
    for size in (1, 7, 1_000, len(request)):
        flow = Flow()
        for at in range(0, len(request), size):
            flow.note_question(request[at : at + size])
        assert failures(flow, BROKEN["cut off"]) == [(7, UNREADABLE)]


def test_a_response_of_the_notebook_is_no_request() -> None:
    flow = Flow()
    flow.note_question(b'{"jsonrpc":"2.0","id":7,"result":{"method":"x"}}\n')

    assert failures(flow, BROKEN["cut off"]) == []


def test_of_a_long_list_only_so_many_responses_are_read() -> None:
    parts = b",".join([b'{"jsonrpc": "2.0", "id": 5, "result": {}}'] * MAX_BATCH)

    assert len(claims(b"", parse(b"[" + parts + b"," + parts + b"]\n"))) == MAX_BATCH


@pytest.mark.parametrize("id_", [b'"\x01"', b'"\xff"', b"007", b"-", b'"' + b"x" * 101 + b'"'])
def test_an_id_that_is_not_json_is_no_id(id_: bytes) -> None:
    assert failures(asking(7, 8), b'{"jsonrpc": "2.0", "id": ' + id_ + b', "result": {') == []
