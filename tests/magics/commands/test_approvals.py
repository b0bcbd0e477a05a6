from __future__ import annotations

from typing import Any

import pytest

from tests.magics.commands.saying import said


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
