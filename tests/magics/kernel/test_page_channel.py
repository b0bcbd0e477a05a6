from __future__ import annotations

from typing import Any

import pytest

from tests.magics.kernel.cell_page import open_cell_page

SETUP = """
%load_ext nbtool
from nbtool import Chat
from nbtool.testing import ScriptedWire, call
from nbtool.tools import Approved
import threading

def script(*steps):
    global agent
    agent = Chat(wire=ScriptedWire([*(call(name, **arguments) for name, arguments in steps), "Done."]))
    agent.approvals.add_listener(approve)

def approve(change):
    if change.kind == "asked":
        given = (change.question.digest, Approved())
        threading.Thread(target=agent.approvals.decide, args=given, daemon=True).start()

script(("edit_cell", {"cell": "one", "old": "x = 1", "new": "x = 2"}))
"""
PATIENT = """
from nbtool.magics.cell import cell_prompt
cell_prompt.CONTEXT_SECONDS = 20.0  # where other tests occupy the machine
"""
DRY_RUN = "%%chat -m practice:fast --cells all --dry-run\nWhat is here?"
EDIT = "%%chat -c agent -t nbtool:notebook -o answer\nDo it."
CALLS = "print([(one.status, one.shown) for one in answer.calls])"


def data(source: str) -> dict[str, Any]:
    fields = {"type": "code", "length": len(source), "number": 1, "outputs": [], "more_outputs": 0}
    return {"id": "one", "source": source, **fields}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer as a page with one cell that does every change."""
    if request["op"] in ("cells", "cell"):
        return {"kind": "cells", "cells": [data("x = 1  # of the page")], "more": 0}
    return {"kind": "done", "cell": request["cell"]}


def test_the_page_that_runs_the_cell_is_asked_while_it_runs_and_not_afterwards() -> None:
    with open_cell_page(answer) as page:
        page.run(SETUP + PATIENT)
        said = page.run(DRY_RUN)

        assert "Sent with 1 cell from the page's notebook, about" in said
        assert "x = 1  # of the page" in said
        assert page.opened["parent_header"]["session"] == page.client.session.session
        assert page.opened["content"]["data"]["cell"] == "chat"
        assert page.closed == [page.opened["content"]["comm_id"]]


def test_an_approved_edit_carries_the_source_that_was_shown() -> None:
    with open_cell_page(answer) as page:
        page.run(SETUP)
        page.run(EDIT)

        edits = [request for request in page.requests if request["op"] == "edit"]
        assert [(edit["expected"], edit["source"]) for edit in edits] == [
            ("x = 1  # of the page", "x = 2  # of the page")
        ]
        assert '{"cell": "one", "state": "edited"}' in page.run(CALLS)


@pytest.mark.sampled(0)
def test_where_no_page_answers_the_cells_are_those_of_the_history() -> None:
    with open_cell_page() as page:
        page.run(SETUP)
        page.run("seen = 'in the history'")
        said = page.run(DRY_RUN)

        assert "cells from IPython's history" in said
        assert "in the history" in said
        assert page.requests == []


@pytest.mark.sampled(0)
def test_an_answer_without_the_nonce_is_none() -> None:
    with open_cell_page(answer, nonce="guessed") as page:
        page.run(SETUP)

        assert "IPython's history" in page.run(DRY_RUN)
        assert page.requests == []


@pytest.mark.sampled(0)
def test_a_front_end_that_names_no_cell_is_not_asked() -> None:
    with open_cell_page(answer, cell="") as page:
        page.run(SETUP)

        assert "IPython's history" in page.run(DRY_RUN)
        assert page.opened == {}


def test_the_cell_to_fix_is_the_one_of_the_page_with_what_the_person_edited_since() -> None:
    shown: dict[str, Any] = {}
    with open_cell_page(lambda _: {"kind": "cells", "cells": [shown], "more": 0}) as page:
        page.run(SETUP + PATIENT + "agent = Chat(wire=ScriptedWire(['Because.']))")
        error = page.run("x + undefined_name")
        outputs = [{"kind": "error", "text": error, "length": len(error)}]
        shown.update(data("x + 1  # edited since"), number=2, outputs=outputs)
        page.run("%chat -c agent fix")
        prompt = page.run("print(agent.model.wire.prompts[0].messages[-1].text)")

        assert "the last prompt contained 1 cell from the page's notebook" in page.run("%chat -c agent status")
        assert "In [2]:\n```python\nx + undefined_name\n```" in prompt
        assert "NameError: name 'x' is not defined" in prompt
        assert "has not run as it is now:\n```python\nx + 1  # edited since\n```" in prompt
