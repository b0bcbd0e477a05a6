from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtool.magics.recorded import decoded

STREAM = {
    "chat": 'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
    "responses": 'data: {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}\n\n'
    'data: {"type": "response.completed", "response": {"status": "completed", "output": [{"type": "message",'
    ' "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]}}\n\n',
    "anthropic": 'data: {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}\n\n'
    'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}\n\n'
    'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\ndata: {"type": "message_stop"}\n\n',
}


def said(shell: Any, command: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    shell.run_cell(f"%chat {command}")
    return capsys.readouterr().out


@pytest.mark.parametrize("wire", STREAM)
def test_decode_finds_the_dialect_of_a_recorded_stream(wire: str, tmp_path: Path) -> None:
    path = tmp_path / "reply.sse"
    path.write_text(STREAM[wire])

    lines = decoded([str(path)]).splitlines()

    assert lines[0] == f"wire: {wire}"
    assert lines[1] == "complete: yes"
    assert lines[-1] == "text: Hi"


def test_decode_says_that_a_cut_off_call_does_not_run(tmp_path: Path) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "rm", "arguments": '{"path": "/'}}
    path = tmp_path / "reply.sse"
    path.write_text(f"data: {json.dumps({'choices': [{'delta': {'tool_calls': [call]}}]})}\n\n")

    told = decoded([str(path), "chat"])

    assert "complete: no" in told
    assert 'call: rm({"path": "/) does not run' in told


def test_decode_tells_the_error_in_a_body(tmp_path: Path) -> None:
    path = tmp_path / "reply.json"
    path.write_text('{"error": {"message": "no luck", "code": "x"}}')

    assert "no luck" in decoded([str(path), "chat"])


@pytest.mark.parametrize("words", [[], ["a", "b", "c"], ["a", "morse"], ["nothing-there.sse"]])
def test_decode_refuses_what_it_cannot_read(shell: Any, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert not shell.run_cell(f"%chat decode {' '.join(words)}").success

    told = capsys.readouterr()
    assert len((told.out + told.err).strip().splitlines()) == 1


def test_status_says_which_model_and_why(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double -v frame\nHello")

    told = said(shell, "status", capsys)

    assert "practice:fast (as you said)" in told
    assert "double" in told
    assert "frame" in told
    assert "1 on the active line" in told


def test_tools_and_variables_are_listed_as_the_model_is_told_of_them(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%chat -q -m practice:fast -t double rows -v frame\nHello")

    assert "ask_always" in said(shell, "tools", capsys)
    assert "Frame" in said(shell, "vars", capsys)


def test_an_approval_that_was_remembered_is_listed_and_can_be_revoked(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("@tool(run='ask_once')\ndef once(n: int) -> int:\n    'Once.'\n    return n")
    shell.run_cell("%%chat -q --approve auto -m practice:fast\nUse &`once` with 3.")
    listed = said(shell, "approvals", capsys)
    approval_id = listed.split()[0]

    assert "once" in listed
    assert "is forgotten" in said(shell, f"approvals revoke {approval_id}", capsys)
    assert "no approval is remembered" in said(shell, "approvals", capsys)


def test_new_begins_afresh_and_keeps_what_was_said(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    said(shell, "new", capsys)

    assert "Nothing was said yet" in said(shell, "history", capsys)


def test_show_shows_a_turn_again(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")

    assert "practice model" in said(shell, "show", capsys)


def test_help_lists_every_command(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(shell, "help", capsys)

    assert all(word in told for word in ("status", "history", "approvals", "decode"))
