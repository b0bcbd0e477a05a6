from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import BadUsage, UnknownTool
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.toolsets import _default_toolset, files, inspection, standard, web


def in_notebook(**names: Any) -> tuple[Chat, NotebookNamespace]:
    return Chat("practice:fast"), NotebookNamespace(names)


def test_a_standard_toolset_needs_no_cell_that_imports_it() -> None:
    chat, names = in_notebook()
    names.add_tools(chat, ["nbtool:inspection", "nbtool:web"])
    names.refresh_tools(chat)

    assert {"head", "sample", "describe", "fetch_page"} <= set(chat.tools.tools())
    names.remove_tools(chat, ["nbtool:web"])
    assert "fetch_page" not in chat.tools.tools()


def test_a_name_bound_to_a_factory_means_its_toolset() -> None:
    chat, names = in_notebook(inspection=inspection, web=web)
    names.add_tools(chat, ["inspection", "web"])
    names.refresh_tools(chat)

    assert {"head", "fetch_page"} <= set(chat.tools.tools())
    assert "inspection" not in chat.tools.tools()


def test_a_toolset_is_taken_away_by_the_name_it_was_added_under(tmp_path: Path) -> None:
    chat, names = in_notebook(mine=files(tmp_path))
    names.add_tools(chat, ["mine"])
    assert "read_file" in chat.tools.tools()

    names.remove_tools(chat, ["mine"])
    assert not chat.tools.tools()
    with pytest.raises(UnknownTool):
        names.remove_tools(chat, ["mine"])


def test_the_files_are_those_of_the_notebooks_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _default_toolset.cache_clear()

    assert standard("files").name == f"files in {tmp_path.name}"
    _default_toolset.cache_clear()


def test_a_toolset_that_does_not_exist_is_one_line() -> None:
    chat, names = in_notebook()

    with pytest.raises(BadUsage, match=r"There is no toolset nbtool:shell\. Use files, inspection"):
        names.add_tools(chat, ["nbtool:shell"])


def test_a_cell_uses_one_by_its_name(shell: Any) -> None:
    shell.user_ns["table"] = [1, 2, 3]
    assert shell.run_cell(
        '%%chat -m practice:fast -o answer -t nbtool:inspection --read table\nUse value_counts with "table".'
    ).success

    assert [(c.name, c.status) for c in shell.user_ns["answer"].calls] == [("value_counts", "ok")]
    assert "[3 of 3 different values in 3 items]" in shell.user_ns["answer"].calls[0].shown
