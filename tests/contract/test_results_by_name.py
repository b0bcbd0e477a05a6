"""The name of a result is the result: in a prompt, bound in the notebook or not, and again in a later kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.notebook import Kernel, Notebook, Output, start_kernel
from tests.contract.simulator import MODEL, Provider, call

HEAD_CELL = """
import pandas as pd
from nbtool import tool

df = pd.DataFrame({"n": range(9)})

@tool(run="auto")
def headof(table: pd.DataFrame, rows: int = 3) -> pd.DataFrame:
    "Return the first rows."
    return table.head(rows)
"""


def ask_for_head(model: Provider, asker: Notebook | Kernel, reference: str, flags: str = "") -> Output:
    """Ask for the head of what a prompt mentions, by a call that gets its reference."""
    model.say(call("headof", table=f"$VAR_REF{{{{{reference}}}}}"), "Done.")
    return asker.run(f"%%chat -q -t headof {flags}\nUse &`headof` on $`{reference}`.")


@pytest.mark.feature("use a result in the next prompt by its own name")
@pytest.mark.parametrize("binding", ["%chat bind headof_1_result", "headof_1_result = turn.calls[0].result", ""])
@pytest.mark.parametrize("flags", ["", "-v headof_1_result", "--read headof_1_result"])
def test_the_name_of_a_result_is_the_result_bound_in_the_notebook_or_not(
    model: Provider, notebook: Notebook, binding: str, flags: str
) -> None:
    notebook.run(HEAD_CELL)
    ask_for_head(model, notebook, "df", "-o turn")
    notebook.run(binding)

    shown = ask_for_head(model, notebook, "headof_1_result", f"{flags} -o again")

    assert not shown.error
    assert notebook.names["again"].calls[0].status == "ok"
    assert notebook.names["again"].calls[0].result.equals(notebook.names["df"].head(3))
    assert "- $VAR_REF{{headof_1_result}}: " in model.requests[2].text
    assert model.requests[2].text.count("- $VAR_REF{{df}}") == 1


def test_the_name_of_a_result_is_described_to_a_model_that_does_not_get_its_turn(
    model: Provider, notebook: Notebook
) -> None:
    notebook.run(HEAD_CELL)
    ask_for_head(model, notebook, "df")

    ask_for_head(model, notebook, "headof_1_result", "--set history=none -o again")

    assert notebook.names["again"].calls[0].status == "ok"
    assert "- $VAR_REF{{headof_1_result}}" in model.requests[2].text


def test_a_later_prompt_does_not_say_that_a_named_result_is_gone(model: Provider, notebook: Notebook) -> None:
    notebook.run(HEAD_CELL)
    ask_for_head(model, notebook, "df")
    ask_for_head(model, notebook, "headof_1_result")

    ask_for_head(model, notebook, "df")

    assert "no longer exposed" not in model.everything


def test_another_object_by_the_name_of_a_result_is_refused_and_the_fix_works(
    model: Provider, notebook: Notebook
) -> None:
    notebook.run(HEAD_CELL)
    ask_for_head(model, notebook, "df")
    notebook.run("headof_1_result = df.tail(2)")

    refused = notebook.run("%%chat -q\nUse &`headof` on $`headof_1_result`.")
    fix = "my_headof_1_result = headof_1_result"
    notebook.run(fix)
    shown = ask_for_head(model, notebook, "my_headof_1_result", "-o again")

    assert fix in refused.error
    assert not shown.error
    assert [*notebook.names["again"].calls[0].result["n"]] == [7, 8]


def test_a_cell_that_is_refused_names_no_result(model: Provider, notebook: Notebook) -> None:
    notebook.run(HEAD_CELL)
    ask_for_head(model, notebook, "df")

    assert notebook.run("%%chat -q -v headof_1_result -t missing\nLook.").error
    model.say("Nothing.")
    notebook.run("%%chat -q\nSay nothing.")

    assert "- $VAR_REF{{headof_1_result}}" not in model.everything


@pytest.mark.usefixtures("own_journal")
def test_the_name_of_a_result_works_again_in_a_later_kernel(model: Provider, tmp_path: Path) -> None:
    provider = {"OLLAMA_HOST": model.host, "NBTOOL_MODEL": f"ollama:{MODEL}"}
    with start_kernel(tmp_path, **provider) as kernel:
        kernel.run(HEAD_CELL)
        assert "UsageError" not in ask_for_head(model, kernel, "df").text
        kernel.run("%chat bind headof_1_result")
        assert "UsageError" not in ask_for_head(model, kernel, "headof_1_result").text
        chat_id = kernel.run("import nbtool; print(nbtool.chats()['main'].chat_id)").text.strip()
    with start_kernel(tmp_path, **provider) as kernel:
        kernel.run(HEAD_CELL)
        opened = kernel.run(f"%chat open {chat_id}")
        lost = kernel.run("%%chat -q\nUse &`headof` on $`headof_1_result`.")
        kernel.run("headof_1_result = headof(df)")
        shown = ask_for_head(model, kernel, "headof_1_result", "-o again")
        status = kernel.run("again.calls[0].status")

    assert "headof_1_result" in opened.text
    assert "%chat bind headof_1_result" in lost.text
    assert "UsageError" not in shown.text
    assert "ok" in status.text
