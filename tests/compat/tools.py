"""Tools for notebooks: the second table of docs/compatibility.md, with the tests of each row.

    python -m tests.compat.tools            # run all of it, and write the table and what was found
    python -m tests.compat.tools jupytext   # run the rows whose text has this word

What a run found is kept in `tools.json` beside this file, with the versions that were installed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any

from tests.compat.where import PAGE, ROOT, Environment, run_environment

FOUND = Path(__file__).with_name("tools.json")
HEAD = "| tool | what happens | what to set | tried by |\n|---|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class Tool:
    """A row: the tool, what a person sees, what to set, and the tests (`file`, or `file::test`) that try it."""

    name: str
    outcome: str
    setting: str
    tests: tuple[str, ...]
    nightly: bool = True
    packages: tuple[str, ...] = ()

    @property
    def place(self) -> Environment:
        """The row as one whose tests can be run."""
        return Environment(self.name, self.outcome, self.setting, self.tests, self.nightly)


TOOLS = (
    Tool(
        "jupytext",
        "a prompt is unchanged after both ways, also lines that begin with `# %%`; `--execute` runs it",
        '`custom_cell_magics = "chat"` for `py:percent` and `py:light`, and not for `md` ([scripts](#scripts))',
        ("tests/compat/test_jupytext.py",),
        packages=("jupytext",),
    ),
    Tool(
        "nbmake, with a recording",
        "a notebook is a test without requests; a turn that is not recorded fails it in a line",
        "`NBTOOL_REPLAY=only` ([testing](testing.md#notebooks))",
        ("tests/compat/test_nbmake.py",),
        packages=("nbmake",),
    ),
    Tool(
        "papermill, nbconvert `--execute`",
        "the log names the cause of a cell that failed",
        "",
        ("tests/compat/test_failed_cells.py",),
        nightly=False,
        packages=("papermill", "nbconvert"),
    ),
    Tool(
        "nbdiff of nbdime",
        "changed prompts, and turns that were replaced, with their data and HTML",
        "`nbdiff --sources` shows the prompts alone",
        (
            "tests/compat/test_notebook_tools.py::test_nbdiff_shows_a_changed_prompt_and_turn_and_its_sources_option_the_prompt_alone",
        ),
        packages=("nbdime",),
    ),
    Tool(
        "nbmerge of nbdime",
        "prompts are merged; turns that ran again in both are a conflict",
        "`nbmerge --merge-strategy use-local`, then run the cells again",
        (
            "tests/compat/test_notebook_tools.py::test_nbmerge_merges_prompts_that_two_people_changed_with_the_setting_of_the_docs",
        ),
        packages=("nbdime",),
    ),
    Tool(
        "nbstripout",
        "prompts stay; nothing of the answers is left",
        "",
        ("tests/compat/test_notebook_tools.py::test_nbstripout_leaves_the_prompts_and_nothing_of_the_answers",),
        packages=("nbstripout",),
    ),
    Tool(
        "MyST (mystmd)",
        "the source of a page has the saved turn as HTML, data and text. Not tried: `--execute`, and the themes, which"
        " are fetched from the network",
        "",
        ("tests/compat/test_notebook_tools.py::test_myst_publishes_a_saved_turn_in_its_forms",),
        packages=("mystmd",),
    ),
    Tool(
        "ruff",
        "code is checked and formatted, prompts are left alone; names that only a `%%chat` cell uses or binds are"
        " reported",
        '`builtins = ["answer"]` for the name of `-o answer`; `# noqa: F401` at an import for `-t`, which `ruff --fix`'
        " removes otherwise",
        (
            "tests/compat/test_notebook_tools.py::test_ruff_formats_code_leaves_prompts_alone_and_does_not_see_the_names_that_chats_use_or_bind",
        ),
        nightly=False,
        packages=("ruff",),
    ),
    Tool(
        "Voilà",
        "finished turns, with their Markdown as plain text; a call that asks is denied, as the cells run before"
        " there is a page",
        '`run="auto"` on the tools of an app, or an `approver=` in Python',
        ("tests/compat/test_voila.py",),
        packages=("voila",),
    ),
    Tool(
        "Jupyter Book 1.0.4 (Sphinx with MyST-NB)",
        "finished turns, as HTML; that their data is left out is a warning",
        "`sphinx: {config: {suppress_warnings: [mystnb.unknown_mime_type]}}` where a warning is an error (`-W`)",
        (
            "tests/compat/test_jupyter_book.py::test_jupyter_book_1_shows_finished_turns_and_builds_without_a_warning_with_the_setting_of_the_docs",
        ),
    ),
    Tool(
        "Jupyter Book 2.1.7 (mystmd)",
        "as MyST, above",
        "",
        ("tests/compat/test_jupyter_book.py::test_jupyter_book_2_publishes_a_saved_turn_in_its_forms",),
    ),
    Tool("Quarto", "its package on the index fetches the program from elsewhere", "", ()),
)


def rows(found: dict[str, Any]) -> str:
    """Write the table of what a run found."""
    return HEAD + "".join(f"{_row(tool, found['rows'].get(tool.name, {}), found['versions'])}\n" for tool in TOOLS)


def installed_versions() -> dict[str, str]:
    """Return the versions of the packages that the rows are about."""
    overlay = str(ROOT / "build" / "places" / "tools")
    extra = {one.metadata["Name"].lower(): one.version for one in distributions(path=[overlay])}
    found = {}
    for name in sorted({name for tool in TOOLS for name in tool.packages}):
        try:
            found[name] = extra.get(name) or version(name)
        except PackageNotFoundError:
            sys.exit(f"There is no {name}: `make lane LANE=compat` installs it.")
    return found


def main(words: list[str]) -> int:
    """Run the rows, and write what was found; 1 where a row did not pass."""
    found = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.is_file() else {"rows": {}}
    for tool in TOOLS:
        if tool.tests and (not words or any(word in tool.name for word in words)):
            found["rows"][tool.name] = run_environment(tool.place)
    found["rows"] = {tool.name: found["rows"][tool.name] for tool in TOOLS if tool.name in found["rows"]}
    found["versions"] = installed_versions()
    FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    before, rest = PAGE.read_text(encoding="utf-8").split(HEAD)
    PAGE.write_text(before + rows(found) + rest[rest.index("\n\n") + 1 :], encoding="utf-8")
    return int("not passed" in rows(found))


def _row(tool: Tool, counts: dict[str, int], versions: dict[str, str]) -> str:
    numbers = ", ".join(versions[name] for name in tool.packages if name in versions)
    tried = ", ".join(f"`{file}`" for file in tool.place.files) + (" (nightly)" if tool.nightly else "")
    if not tool.tests:
        tried = "not tried"
    elif not counts or counts["passed"] < counts["tests"] or not counts["tests"]:
        tried += ": **not passed**"
    name = f"{tool.name} {numbers}".strip()
    return f"| {name} | {tool.outcome} | {tool.setting} | {tried} |".replace("|  |", "| |")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
