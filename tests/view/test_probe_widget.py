from __future__ import annotations

import threading
from typing import Any

import pytest

from nbtool.view.probe_widget import ProbeWidget, parse_report

FACTS = {
    "front_end": "jupyterlab",
    "notebook": True,
    "control": True,
    "extension": True,
    "typesetter": True,
    "diagrams": False,
}


def report(**changes: Any) -> dict[str, Any]:
    return {"v": 1, "nonce": "n", "id": "page-1", "kind": "hello", **FACTS, **changes}


def test_a_report_is_read_with_its_facts() -> None:
    assert parse_report(report(), nonce="n") == {"kind": "hello", **FACTS}


@pytest.mark.parametrize(
    "changes",
    [
        {"v": 2},
        {"nonce": "guessed"},
        {"id": "x" * 65},
        {"front_end": "<b>mine</b>"},
        {"front_end": ""},
        {"notebook": "yes"},
        {"diagrams": 1},
        {"more": True},
        {"kind": "approve"},
    ],
    ids=str,
)
def test_what_is_no_report_is_dropped(changes: dict[str, Any]) -> None:
    assert parse_report(report(**changes), nonce="n") is None


@pytest.mark.parametrize("content", [None, "report", [], {}, {**report(), "nonce": None}])
def test_what_is_no_message_is_dropped(content: Any) -> None:
    assert parse_report(content, nonce="n") is None


def test_each_way_is_noted_once_with_its_first_report() -> None:
    widget = ProbeWidget()
    try:
        first = widget.receive("control", report(nonce=widget.nonce))
        seconds = dict(widget.seconds)
        threads = [
            threading.Thread(target=widget.receive, args=(way, report(nonce=widget.nonce, notebook=False)))
            for way in ("control", "comm", "comm")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert first
        assert widget.report is not None
        assert widget.report["notebook"]
        assert widget.seconds["control"] == seconds["control"] >= 0
        assert widget.seconds["comm"] >= widget.seconds["control"]
        assert not widget.receive("comm", report(nonce="guessed"))
    finally:
        widget.close()
