"""Written code brings the functions that it calls, and names at the top what else it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool.chat.export.definitions import definitions_of
from nbtool.testing import call
from tests.chat.export.writing import export, make_chat, run

SOURCE = '''
import numpy as np
import pandas as pd
import nbtool
from nbtool import Progress, tool

FACTOR = 2
KEY = "sk-secret"

def share(part, whole):
    """Two lines

    of documentation."""
    # A remark.
    return part / whole

@tool(run="auto")
def over(df: pd.DataFrame, col: str, limit: float = 1.0) -> pd.DataFrame:
    "Rows over a limit."
    return df[df[col] > limit * FACTOR]

@nbtool.tool(
    run="auto",
)
def portion(rows: pd.DataFrame, df: pd.DataFrame) -> float:
    "How many of them."
    return float(np.round(share(len(rows), len(df)), 3))

@tool(run="auto")
def keyed(n: int) -> int:
    "Uses a key."
    return len(KEY) + n

@tool(run="auto")
def reporting(n: int) -> int:
    "Reports."
    Progress("half")
    return n
'''
FRAME = 'import pandas\npenguins = pandas.DataFrame({"mass": [1.0, 5.0, 9.0]})\n'


def book_of(tmp_path: Path) -> dict[str, Any]:
    """Make a notebook's namespace of a file, so that the sources of its functions are certain."""
    path = tmp_path / "cells.py"
    path.write_text(SOURCE)
    book: dict[str, Any] = {"__name__": "__main__", "penguins": pd.DataFrame({"mass": [1.0, 5.0, 9.0]})}
    exec(compile(SOURCE, str(path), "exec", dont_inherit=True), book)
    return book


def in_a_fresh_python(code: str, after: str) -> str:
    """Run code where there is no nbtool, and give what it prints."""
    source = f"import sys\nsys.modules['nbtool'] = None\n{FRAME}\n{code}\n{after}"
    done = subprocess.run([sys.executable, "-I", "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{code}"
    return done.stdout.strip()


def code_of_two_tools(tmp_path: Path) -> tuple[str, dict[str, Any]]:
    book = book_of(tmp_path)
    chat, turn = make_chat(
        book,
        call("over", df="$VAR_REF{{penguins}}", col="mass"),
        call("portion", rows="$VAR_REF{{over_1_result}}", df="$VAR_REF{{penguins}}"),
        tools=[book["over"], book["portion"]],
        expose="penguins",
    )
    assert [one.status for one in turn.calls] == ["ok", "ok"]
    code = export(chat, turn, notebook=book)
    assert run(code, book)["over"] is book["over"]  # in the notebook the person's own tool stays
    return code.text, book


@pytest.mark.sampled(0)
def test_code_of_two_decorated_tools_and_a_frame_runs_alone_once_the_named_frame_is_there(tmp_path: Path) -> None:
    code, _ = code_of_two_tools(tmp_path)

    assert "# Needs from your notebook: penguins (DataFrame)\n" in code
    assert "@" not in code
    assert "# A remark." in code or '"""Two lines' in code
    printed = in_a_fresh_python(code, "import inspect; print(r2, len(r1), inspect.getdoc(share))")
    assert printed == "0.667 2 Two lines\n\nof documentation."


def test_code_without_the_names_it_needs_ends_before_its_first_call_with_one_line(tmp_path: Path) -> None:
    code, _ = code_of_two_tools(tmp_path)
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)

    error = done.stderr.strip().splitlines()[-1]
    assert error == "NameError: Define first, as in the notebook of this chat: penguins"
    assert "over(" not in done.stderr


@pytest.mark.parametrize("name", ["top", "first", "module", "global_"])
def test_a_function_of_any_name_is_copied(name: str, tmp_path: Path) -> None:
    source = f"def {name}(x: int = 5, *, y: int = 1) -> int:\n    z = x + y\n    return [z for _ in range(1)][0]\n"
    (path := tmp_path / "cells.py").write_text(source)
    book: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, str(path), "exec", dont_inherit=True), book)

    found = definitions_of([name], book)

    assert (found.missing, len(found.sources)) == ({}, 1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("keyed", "# Needs from your notebook: KEY (str)\n"),
        ("reporting", "needs no model, and nbtool only for: reporting"),
    ],
)
def test_what_cannot_be_written_is_named_at_the_top(name: str, said: str, tmp_path: Path) -> None:
    book = book_of(tmp_path)
    chat, turn = make_chat(book, call(name, n=2), tools=[book[name]])
    code = export(chat, turn, notebook=book)

    assert said in code.text
    assert "sk-secret" not in code.text
