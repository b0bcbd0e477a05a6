"""Random sequences of changes of cells while a person types: no edit is lost, and none is made that was not shown."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from nbtool.tools.values.line_diff import line_diff
from nbtool.toolsets.notebook_access import digest_of
from tests.browser.lab import PANEL, Front, Lab, Notebook
from tests.browser.test_cells import ASK, SETUP, cell_id, sources

pytestmark = pytest.mark.new_page

SEQUENCES, IN_ONE_TEST, STEPS = 300, 15, 4
FRONTS: tuple[Front, Front] = ("lab", "notebook")
CELLS = 3
SOURCE = "value = {}\nresult = value\nresult"
"""Each cell shows something: only the start of a run leaves a cell without outputs."""

APPROVE = """
import threading
from nbtool.tools import Approved

shown = []

def approve(change):
    if change.kind == "asked":
        question = change.question
        shown.append([question.tool, question.effect])
        threading.Thread(target=agent.approvals.decide, args=(question.digest, Approved()), daemon=True).start()

def prepare(*steps):
    shown.clear()
    script(*steps)
    agent.approvals.add_listener(approve)
"""
REPORT = "import json\nprint('REPORT' + json.dumps([shown, [one.status for one in answer.calls]]) + 'END')"
WATCH = f"""() => {{
  const model = {PANEL}.content.model.sharedModel;
  const owner = (object, name) => Object.hasOwn(object, name) ? object : owner(Object.getPrototypeOf(object), name);
  const wrap = (object, name, note) => {{
    const target = owner(object, name), original = target[name];
    target[name] = function (...given) {{
      const before = note.before?.call(this, ...given);
      const result = original.apply(this, given);
      if (!window.isTyping) window.changes.push(note.after.call(this, before, ...given));
      return result;
    }};
  }};
  window.changes = [];
  wrap(model.cells[0], "updateSource", {{
    before() {{ return this.getSource(); }},
    after(before) {{ return {{ op: "edit_cell", cell: this.id, before, after: this.getSource() }}; }},
  }});
  wrap(model, "insertCell", {{
    after(_, at, cell) {{ return {{ op: "insert_cell", cell: cell.id, before: "", after: cell.source }}; }},
  }});
  wrap(model, "deleteCell", {{
    before(at) {{ return [this.cells[at].id, this.cells[at].getSource()]; }},
    after([cell, before]) {{ return {{ op: "delete_cell", cell, before, after: "" }}; }},
  }});
  wrap(model, "moveCell", {{
    before(at) {{ return [this.cells[at].id, this.cells[at].getSource(), this.cells[at - 1]?.id ?? ""]; }},
    after([cell, before, former]) {{
      const at = this.cells.findIndex(({{ id }}) => id === cell);
      return {{ op: "move_cell", cell, before, former, after: this.cells[at - 1]?.id ?? "" }};
    }},
  }});
  wrap(model.cells[0], "setOutputs", {{
    after(_, outputs) {{
      const isNew = this.id === undefined; // a cell that is about to be inserted: it is none of the notebook yet
      return {{ op: outputs.length || isNew ? "" : "run_cell", cell: this.id, before: this.getSource() }};
    }},
  }});
}}"""
TYPE = f"""([seed, running]) => {{
  let count = 0, state = seed;
  const next = (limit) => (state = (state * 1103515245 + 12345) % 2147483648) % limit;
  window.typed = [];
  window.typing = setInterval(() => {{
    const cells = {PANEL}.content.model.sharedModel.cells.filter(({{ id }}) => id !== running);
    const cell = cells[next(cells.length)], token = `# typed ${{seed}}.${{count++}}`;
    const length = cell.getSource().length;
    window.isTyping = true;
    if (next(2)) cell.updateSource(0, 0, token + "\\n");
    else cell.updateSource(length, length, "\\n" + token);
    window.isTyping = false;
    window.typed.push([cell.id, token]);
  }}, 25 + next(60));
}}"""


ALL_CELLS = f"() => {PANEL}.content.model.sharedModel.cells.map((cell) => [cell.id, cell.getSource()])"


def random_steps(
    generator: random.Random, ids: list[str], number: int, without: tuple[str, ...] = ()
) -> list[tuple[str, dict[str, Any]]]:
    """Return calls that edit, insert, delete, move and run cells, some of which no longer fit when they are made."""
    steps: list[tuple[str, dict[str, Any]]] = []
    for step in range(STEPS):
        cell, other = generator.choice(ids), generator.choice(["", *ids])
        possible: list[tuple[str, dict[str, Any]]] = [
            ("edit_cell", {"cell": cell, "old": "value = ", "new": f"value = {number}{step}0 + "}),
            ("edit_cell", {"cell": cell, "old": "value = ", "new": "value = "}),
            ("insert_cell", {"after": other, "source": f"inserted = {number}\nvalue = {step}\nvalue"}),
            ("delete_cell", {"cell": cell}),
            ("move_cell", {"cell": cell, "after": other}),
            ("run_cell", {"cell": cell}),
        ]
        steps.append(generator.choice([one for one in possible if one[0] not in without]))
    return steps


def cell_ids(notebook: Notebook) -> list[str]:
    """Give the ids of all cells, in their order."""
    ids: list[str] = notebook.page.evaluate(f"() => {PANEL}.content.model.sharedModel.cells.map(({{ id }}) => id)")
    return ids


def run_own(notebook: Notebook, own: str, source: str) -> str:
    """Run a source in the cell of the test, wherever it is now, and return what it printed."""
    at = cell_ids(notebook).index(own)
    notebook.write_cell(at, source)
    return notebook.run_cell(at).inner_text()


def run_sequence(
    notebook: Notebook,
    generator: random.Random,
    own: str,
    number: int,
    *,
    typing_in: Notebook | None = None,
    without: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Run one sequence while a person types; return what was typed, changed and shown, and the cells in the end.

    The person may type in another browser, where the notebook is open too; it is `without` some of the changes.
    """
    page, running = notebook.page, cell_id(notebook, sources(notebook).index(ASK))
    typist = typing_in or notebook
    ids = [one for one in cell_ids(notebook) if one not in (own, running)]
    steps = random_steps(generator, ids or ["none"], number, without)
    run_own(notebook, own, f"{SETUP}{APPROVE}\nprepare(*{steps!r})")
    page.evaluate("() => { window.changes.length = 0; }")
    typist.page.evaluate(TYPE.replace("id !== running", f"id !== running && id !== '{own}'"), [number + 1, running])
    notebook.start_cell(cell_ids(notebook).index(running))
    page.wait_for_function(f"id => {PANEL}.content.model.cells && [...{PANEL}.content.model.cells].some("
                           "one => one.id === id && one.executionState !== 'running' && one.executionCount)",
                           arg=running, timeout=60_000)  # fmt: skip
    typed = typist.page.evaluate("() => { clearInterval(window.typing); return window.typed; }")
    if typing_in:
        wait_same_cells(notebook, typing_in, typed)
    state = {"typed": typed, "changes": page.evaluate("() => window.changes"), "cells": page.evaluate(ALL_CELLS)}
    state["own"] = [own, running]
    said = run_own(notebook, own, REPORT)
    state["shown"], state["statuses"] = json.loads(said.partition("REPORT")[2].partition("END")[0])
    return state


def wait_same_cells(notebook: Notebook, typist: Notebook, typed: list[list[str]]) -> None:
    """Wait until one browser has what was typed in the other one, and that one what was changed in the first."""
    arrived = f"""typed => {{
      const sources = new Map({PANEL}.content.model.sharedModel.cells.map((cell) => [cell.id, cell.getSource()]));
      return typed.every(([cell, token]) => sources.get(cell)?.includes(token));
    }}"""
    notebook.page.wait_for_function(arrived, arg=typed)
    same = f"expected => JSON.stringify(({ALL_CELLS})()) === JSON.stringify(expected)"
    typist.page.wait_for_function(same, arg=notebook.page.evaluate(ALL_CELLS))


def check(state: dict[str, Any]) -> Counter[str]:
    """Check that every token that was typed is where it was typed, and that every change is one that was shown.

    Return how many changes of each kind were made.
    """
    sources, deleted = dict(state["cells"]), {}
    for change in state["changes"]:
        if change["op"] == "delete_cell":
            deleted[change["cell"]] = change["before"]
    lost = [(cell, token) for cell, token in state["typed"] if token not in sources.get(cell, deleted.get(cell, ""))]
    assert lost == []
    made = [change for change in state["changes"] if change["op"] and change["cell"] not in state["own"]]
    assert [change for change in made if not was_shown(change, state["shown"])] == []
    return Counter(change["op"] for change in made)


def was_shown(change: dict[str, str], shown: list[list[str]]) -> bool:
    """Return whether a question showed exactly this change, of a cell with this source."""
    op, digest = change["op"], digest_of(change["before"])
    effects = [effect for tool, effect in shown if tool == op]
    if op == "run_cell":
        source = "\n".join(f"    {line}" for line in change["before"].splitlines())
        return any(digest in effect and effect.endswith(f"\n\n{source}") for effect in effects)
    if op == "move_cell":
        place, stays = change["after"], "(the cell stays where it is)"
        if place == change["former"]:
            return any(digest in effect and effect.endswith(stays) for effect in effects)
        return any(digest in effect and place_of(change["cell"], effect) == place for effect in effects)
    expected = line_diff(change["before"], change["after"], "").splitlines()[2:]
    return change["before"] == change["after"] or any(
        effect.splitlines()[3:] == expected and (digest in effect or op == "insert_cell") for effect in effects
    )


def place_of(cell: str, effect: str) -> str | None:
    """Return the cell before the new place of a moved one, as its question showed it; "" for the start."""
    hunk: list[str] = []
    is_first = False
    for line in effect.splitlines()[3:]:
        if line.startswith("@@"):
            hunk, is_first = [], re.match(r"@@ -\S+ \+1[, ]", line) is not None
        elif not line.startswith("-"):
            hunk.append(line.rpartition("  (")[2].removesuffix(")"))
            if hunk[-1] == cell:
                return hunk[-2] if len(hunk) > 1 else "" if is_first else None
    return None


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.promise("shown-cells")
@pytest.mark.parametrize("seed", range(SEQUENCES // IN_ONE_TEST))
def test_no_edit_is_lost_and_none_is_made_that_was_not_shown(
    lab: Lab, seed: int, record_property: Callable[[str, object], None]
) -> None:
    generator, front = random.Random(seed), FRONTS[seed % 2]
    cells = [SOURCE.format(number) for number in range(CELLS)]
    notebook = lab.open_cells(SETUP, *cells, ASK, kernel="python3", name=f"campaign-{seed}.ipynb", front=front)
    notebook.page.evaluate(WATCH)
    own = cell_id(notebook, 0)
    statuses: list[str] = []
    made: Counter[str] = Counter()
    for number in range(IN_ONE_TEST):
        state = run_sequence(notebook, generator, own, seed * IN_ONE_TEST + number)
        made += check(state)
        statuses += state["statuses"]
    record_property("injected", IN_ONE_TEST)
    record_property("calls", len(statuses))
    assert "ok" in statuses
    assert len(made) >= 4, made  # the random steps made changes of most kinds
    assert not [error for error in notebook.errors if "nbtool" in error]
