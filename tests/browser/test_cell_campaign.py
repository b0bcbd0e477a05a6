"""Random sequences of changes of cells while a person types: no edit is lost, and none is made that was not shown."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from nbtool.tools.values.line_diff import line_diff
from nbtool.toolsets.notebook_access import digest_of
from tests.browser.lab import PANEL, Lab, Notebook
from tests.browser.test_cells import ASK, SETUP, cell_id, sources

SEQUENCES, IN_ONE_TEST, STEPS = 300, 15, 4
CELLS = 3
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


def random_steps(generator: random.Random, ids: list[str], number: int) -> list[tuple[str, dict[str, Any]]]:
    """Return calls that edit, insert, delete, move and run cells, some of which no longer fit when they are made."""
    steps: list[tuple[str, dict[str, Any]]] = []
    for step in range(STEPS):
        cell, other = generator.choice(ids), generator.choice(["", *ids])
        steps.append(
            generator.choice(
                [
                    ("edit_cell", {"cell": cell, "old": "value = ", "new": f"value = {number}{step}0 + "}),
                    ("edit_cell", {"cell": cell, "old": "value = ", "new": "value = "}),
                    ("insert_cell", {"after": other, "source": f"inserted = {number}\nvalue = {step}"}),
                    ("delete_cell", {"cell": cell}),
                    ("move_cell", {"cell": cell, "after": other}),
                    ("run_cell", {"cell": cell}),
                ]
            )
        )
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


def run_sequence(notebook: Notebook, generator: random.Random, own: str, number: int) -> dict[str, Any]:
    """Run one sequence while a person types; return what was typed, changed and shown, and the cells in the end."""
    page, running = notebook.page, cell_id(notebook, sources(notebook).index(ASK))
    ids = [one for one in cell_ids(notebook) if one not in (own, running)]
    run_own(notebook, own, f"{SETUP}{APPROVE}\nprepare(*{random_steps(generator, ids or ['none'], number)!r})")
    page.evaluate("() => { window.changes.length = 0; }")
    page.evaluate(TYPE.replace("id !== running", f"id !== running && id !== '{own}'"), [number + 1, running])
    notebook.start_cell(cell_ids(notebook).index(running))
    page.wait_for_function(f"id => {PANEL}.content.model.cells && [...{PANEL}.content.model.cells].some("
                           "one => one.id === id && one.executionState !== 'running' && one.executionCount)",
                           arg=running, timeout=60_000)  # fmt: skip
    page.evaluate("() => clearInterval(window.typing)")
    state: dict[str, Any] = page.evaluate(
        f"""() => ({{
            typed: window.typed,
            changes: window.changes,
            cells: {PANEL}.content.model.sharedModel.cells.map((cell) => [cell.id, cell.getSource()]),
        }})"""
    )
    said = run_own(notebook, own, REPORT)
    state["shown"], state["statuses"] = json.loads(said.partition("REPORT")[2].partition("END")[0])
    return state


def check(state: dict[str, Any], own: str) -> None:
    """Check that every token that was typed is where it was typed, and that every change is one that was shown."""
    sources, deleted = dict(state["cells"]), {}
    for change in state["changes"]:
        if change["op"] == "delete_cell":
            deleted[change["cell"]] = change["before"]
    lost = [(cell, token) for cell, token in state["typed"] if token not in sources.get(cell, deleted.get(cell, ""))]
    assert lost == []
    unseen = [change for change in state["changes"] if change["cell"] != own and not was_shown(change, state["shown"])]
    assert unseen == []


def was_shown(change: dict[str, str], shown: list[list[str]]) -> bool:
    """Return whether a question showed exactly this difference, of a cell with this source."""
    if change["before"] == change["after"]:
        return True
    expected = line_diff(change["before"], change["after"], "").splitlines()[2:]
    digest = digest_of(change["before"])
    return any(
        effect.splitlines()[3:] == expected and (digest in effect or change["op"] == "insert_cell")
        for tool, effect in shown
        if tool in (change["op"], "move_cell")
    )


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.promise("shown-cells")
@pytest.mark.parametrize("seed", range(SEQUENCES // IN_ONE_TEST))
def test_no_edit_is_lost_and_none_is_made_that_was_not_shown(
    lab: Lab, seed: int, record_property: Callable[[str, object], None]
) -> None:
    generator = random.Random(seed)
    cells = [f"value = {number}\nresult = value" for number in range(CELLS)]
    notebook = lab.open_cells(SETUP, *cells, ASK, kernel="python3", name=f"campaign-{seed}.ipynb")
    notebook.page.evaluate(WATCH)
    own = cell_id(notebook, 0)
    statuses: list[str] = []
    for number in range(IN_ONE_TEST):
        state = run_sequence(notebook, generator, own, seed * IN_ONE_TEST + number)
        check(state, own)
        statuses += state["statuses"]
    record_property("injected", IN_ONE_TEST)
    record_property("calls", len(statuses))
    assert "ok" in statuses
    assert notebook.errors == []
