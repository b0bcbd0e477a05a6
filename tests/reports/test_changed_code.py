"""Situations of public reports in which changed code or data was not noticed, or was noticed where nothing changed."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Chat, tool
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Question
from nbtool.tools.content_hash.change_token import change_token, tool_change_token

pytestmark = [
    pytest.mark.promise("shown-is-run"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
START = multiprocessing.get_all_start_methods()[0]


def cell(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), names)
    return names


def ask(function: Any, change: Callable[[], object], **options: Any) -> tuple[str, list[str | None]]:
    """Let a model call a tool, with a change while it is asked about; return its status and why it was asked about."""
    questions: list[Question] = []

    def approve(question: Question) -> Approved:
        questions.append(question)
        if len(questions) == 1:
            change()
        return Approved()

    with ScriptedWire([[call("act", n=1)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[tool(function, name="act", **options)], approver=approve).send("Go")
    return turn.calls[0].status, [question.again and question.again.reason for question in questions]


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Give a function that writes a module of a person, and loads it or loads it again."""
    name = f"report_{tmp_path.name}"
    monkeypatch.syspath_prepend(tmp_path)

    def write(source: str) -> ModuleType:
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        os.utime(path, (len(source), len(source)))  # another time, so that no compiled file of another source is used
        importlib.invalidate_caches()
        return importlib.reload(sys.modules[name]) if name in sys.modules else importlib.import_module(name)

    yield write
    sys.modules.pop(name, None)


def test_a_pool_that_is_reused_does_not_run_the_function_from_before_a_reload(own_module: Any) -> None:
    """joblib/joblib#1085: after `reload` the reused workers of a pool ran the former function. Right: the call does not
    run. Before: wrong."""
    module = own_module("def act(n: int) -> str:\n    'Act.'\n    return 'a'\n")
    with ProcessPoolExecutor(1, multiprocessing.get_context(START)) as pool:
        before, _ = ask(module.act, lambda: None, executor=pool)
        module = own_module("def act(n: int) -> str:\n    'Act.'\n    return 'b, after'\n")
        after, _ = ask(module.act, lambda: None, executor=pool)
    with ProcessPoolExecutor(1, multiprocessing.get_context(START)) as new_pool:
        again, _ = ask(module.act, lambda: None, executor=new_pool)

    assert (before, after, again) == ("ok", "not_run", "ok")


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no other process has the notebook")
def test_a_pool_does_not_run_the_function_of_a_cell_that_was_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """marimo-team/marimo#1396: a pool of processes keeps the function of a cell as it was when the pool was created.
    Right: the former function does not run. Before: wrong."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec("def act(n: int) -> int:\n    'Act.'\n    return n + 10\n", vars(main))
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        before, _ = ask(main.act, lambda: None, executor=pool)
        exec("def act(n: int) -> int:\n    'Act.'\n    return n + 100\n", vars(main))
        after, _ = ask(main.act, lambda: None, executor=pool)

    assert (before, after) == ("ok", "not_run")


def test_a_function_inside_a_function_that_the_tool_calls_counts() -> None:
    """streamlit/streamlit#2728: after a change of an inner function, two calls away, the stored answer was given.
    Right: the call is asked about again. Before: right."""
    source = "def act(n: int) -> int:\n return number()\ndef number():\n def inner():\n  return {}\n return inner()"
    names = cell(source.format(42))

    status, reasons = ask(names["act"], lambda: names.update(number=cell(source.format(10**11))["number"]))
    assert (status, reasons) == ("ok", [None, "changed"])


def test_a_file_in_the_folder_of_the_notebook_is_the_persons_own(
    own_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """streamlit/streamlit#1797: code beside the script was taken for a library's, and no change of it was noticed.
    Right: the call is asked about again. Before: right."""
    module = own_module("def rate(n): return n\n")
    monkeypatch.chdir(Path(str(module.__file__)).parent)
    module.__file__ = f"{module.__name__}.py"  # relative, as in a script that is run there
    names = cell(f"import {module.__name__} as m\ndef act(n: int) -> int: return m.rate(n)")

    assert ask(names["act"], lambda: setattr(module, "rate", lambda n: -n)) == ("ok", [None, "changed"])


def test_code_above_a_function_does_not_change_it_and_code_that_it_calls_does() -> None:
    """joblib/joblib#680: lines above a function emptied its cache, and a change of what it calls went unnoticed. Right:
    only the latter is a change. Before: right."""
    source = "def helper(n): return n\ndef act(n: int) -> int: return helper(n)"
    moved, other = cell(f"# more\n\n\n{source}"), cell(source.replace("return n\n", "return -n\n"))

    assert tool_change_token(moved["act"]) == tool_change_token(cell(source)["act"])
    assert tool_change_token(other["act"]) != tool_change_token(cell(source)["act"])


def test_a_submodule_that_is_reached_through_its_package_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cloudpipe/cloudpickle#80: submodules that a function reaches by attributes of a package were left out. Right: a
    change of one is asked about. Before: wrong."""
    name = f"package_{tmp_path.name}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / name / "prices.py").write_text("def price(n): return n\n")
    monkeypatch.syspath_prepend(tmp_path)
    names = cell(f"import {name}.prices\ndef act(n: int) -> int: return {name}.prices.price(n)")
    module = sys.modules[f"{name}.prices"]

    assert ask(names["act"], lambda: setattr(module, "price", lambda n: -n)) == ("ok", [None, "changed"])


def test_another_name_of_a_column_is_another_frame() -> None:
    """streamlit/streamlit#6236, pandas-dev/pandas#46705: hashes of frames left out the names of the columns. Right:
    another name is another frame. Before: right."""
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]})
    before = change_token(frame)
    frame.columns = ["a", "c"]

    assert change_token(frame) != before


def test_how_pandas_stores_a_frame_is_no_content() -> None:
    """joblib/joblib#1611: frames with the same content had other hashes, by how pandas had come to them. Right: the
    same content has one hash. Before: right."""
    frame = pd.DataFrame({"a": [1, 1, 2]}).drop_duplicates(ignore_index=True)
    frame["b"] = 1.0
    frame["c"] = 2.0
    before = change_token(frame)
    frame._consolidate_inplace()
    _ = frame.loc[frame["a"] == 1], frame.to_dict()

    assert change_token(frame) == before


def test_a_frame_with_a_model_has_one_hash_in_every_process() -> None:
    """PrefectHQ/prefect#16185: the hash of a frame and a pydantic object was another one in each run. Right: one hash
    in every process. Before: right."""
    source = (
        "import pandas as pd\nfrom pydantic import BaseModel\nfrom nbtool.tools.content_hash import content_hash\n"
        "class Config(BaseModel):\n    active: bool = False\n"
        "print(content_hash([pd.DataFrame({'value': [True]}), Config(), {'a', 'b', 'c'}]))"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", source], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip

    assert len(hashes) == 1
    assert hashes != {"None\n"}
