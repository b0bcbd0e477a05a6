from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.dispatch import COMMANDS

STREAM = {
    "chat": 'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
    "responses": 'data: {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}\n\n'
    'data: {"type": "response.completed", "response": {"status": "completed", "output": [{"type": "message",'
    ' "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]}}\n\n',
    "anthropic": 'data: {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}\n\n'
    'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}\n\n'
    'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\ndata: {"type": "message_stop"}\n\n',
    "gemini": 'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}\n\n',
}


def decode_words(words: list[str]) -> str:
    return COMMANDS["decode"].run(cast(CommandContext, None), words)  # reads a file, and nothing of the kernel


@pytest.mark.parametrize("wire", STREAM)
def test_decode_finds_the_dialect_of_a_recorded_stream(wire: str, tmp_path: Path) -> None:
    path = tmp_path / "reply.sse"
    path.write_text(STREAM[wire])

    lines = decode_words([str(path)]).splitlines()

    assert lines[0] == f"wire: {wire}"
    assert lines[1] == "complete: yes"
    assert lines[-1] == "text: Hi"


def test_decode_says_that_a_cut_off_call_does_not_run(tmp_path: Path) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "rm", "arguments": '{"path": "/'}}
    path = tmp_path / "reply.sse"
    path.write_text(f"data: {json.dumps({'choices': [{'delta': {'tool_calls': [call]}}]})}\n\n")

    actual = decode_words([str(path), "chat"])

    assert "complete: no" in actual
    assert "rm(" in actual


def test_decode_reports_the_error_in_a_body(tmp_path: Path) -> None:
    path = tmp_path / "reply.json"
    path.write_text('{"error": {"message": "no luck", "code": "x"}}')

    assert "no luck" in decode_words([str(path), "chat"])


@pytest.mark.parametrize("words", [[], ["a", "b", "c"], ["a", "morse"], ["nothing-there.sse"]])
def test_decode_refuses_what_it_cannot_read(shell: Any, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert not shell.run_cell(f"%chat decode {' '.join(words)}").success

    actual = capsys.readouterr()
    assert len((actual.out + actual.err).strip().splitlines()) == 1
