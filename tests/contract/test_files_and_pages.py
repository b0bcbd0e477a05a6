"""What the tools that ship read, and what they do not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved
from nbtool.toolsets import files, standard, web
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call

SECRET = "Zanzibar"


def yes(_: Any) -> Approved:
    return Approved()


@pytest.mark.promise("below-the-folder")
@pytest.mark.parametrize("way", ["..", "absolute", "symbolic link", "hard link", "link to a folder"])
def test_a_file_outside_the_folder_is_not_read(model: Provider, tmp_path: Path, way: str) -> None:
    folder, outside = tmp_path / "data", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "note.txt").write_text(SECRET, encoding="utf-8")
    match way:
        case "..":
            path = "../outside/note.txt"
        case "absolute":
            path = str(outside / "note.txt")
        case "symbolic link":
            (folder / "link.txt").symlink_to(outside / "note.txt")
            path = "link.txt"
        case "hard link":
            os.link(outside / "note.txt", folder / "link.txt")
            path = "link.txt"
        case _:
            (folder / "link").symlink_to(outside)
            path = "link/note.txt"
    model.say(call("read_file", path=path), "I cannot.")

    turn = model.chat(tools=[files(folder)], approver=yes).send("Read it.")

    assert turn.calls[0].status != "ok"
    assert SECRET not in model.everything


@pytest.mark.promise("below-the-folder")
@pytest.mark.parametrize(
    ("name", "content"),
    [(".env", "A=Zanzibar"), ("id_rsa", SECRET), ("openai_key.txt", SECRET), ("RecoveryCodes.txt", SECRET),
     (".env.backup", "A=Zanzibar"), ("notes.txt", "sk-proj-Zanzibar4f9a7c1e2b8d5061f3a7c9e2b4d6f8a1")],
)  # fmt: skip
def test_a_file_with_secrets_is_not_read(model: Provider, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    model.say(call("read_file", path=name), "I cannot.")

    turn = model.chat(tools=[files(tmp_path)], approver=yes).send("Read it.")

    assert turn.calls[0].status != "ok"
    assert SECRET not in model.everything


@pytest.mark.promise("below-the-folder")
def test_an_ordinary_file_is_read_and_written(model: Provider, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old text", encoding="utf-8")
    model.say(call("read_file", path="a.txt"), call("edit_file", path="a.txt", old="old", new="new"), "Done.")

    turn = model.chat(tools=[files(tmp_path)], approver=yes).send("Change it.")

    assert [one.status for one in turn.calls] == ["ok", "ok"]
    assert "old text" in model.requests[1].text
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "new text"


@pytest.mark.promise("public-pages")
@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "2130706433:{port}", "0.0.0.0:{port}"]
)
def test_a_page_of_this_machine_is_not_fetched(model: Provider, host: str) -> None:
    model.say(call("fetch_page", url=f"http://{host.format(port=model.port)}/secret"), "I cannot.")

    turn = model.chat(tools=[web()], approver=yes).send("Fetch it.")

    assert turn.calls[0].status != "ok"
    assert model.others == []


@pytest.mark.promise("public-pages")
@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://169.254.169.254/latest", "http://10.0.0.1/", "ftp://example.org/"]
)
def test_an_address_that_is_not_public_is_not_fetched(model: Provider, url: str) -> None:
    model.say(call("fetch_page", url=url), "I cannot.")

    turn = model.chat(tools=[web()], approver=yes).send("Fetch it.")

    assert turn.calls[0].status != "ok"


@pytest.mark.feature("give the model ready-made tools")
@pytest.mark.parametrize(
    ("toolset", "tool"),
    [("inspection", "describe"), ("files", "read_file"), ("web", "fetch_page"), ("python", "run_python"),
     ("notebook", "insert_cell")],
)  # fmt: skip
def test_a_cell_takes_the_toolsets_that_ship_by_name(
    notebook: Notebook, model: Provider, toolset: str, tool: str
) -> None:
    model.say("Fine.")

    notebook.ask("Look.", f"-t nbtool:{toolset}")

    assert tool in model.requests[0].tools


@pytest.mark.feature("give the model ready-made tools")
def test_the_inspection_tools_run_by_themselves_and_disclose_no_values_of_references(
    notebook: Notebook, model: Provider
) -> None:
    notebook.run(f"import pandas as pd\ndf = pd.DataFrame({{'city': ['{SECRET}', 'Oslo']}})")
    model.say(call("describe", data="$VAR_REF{{df}}"), call("head", data="$VAR_REF{{df}}"), "Two rows.")

    turn = notebook.ask("Describe it.", "-t nbtool:inspection -v df")

    assert turn.status == "completed"
    assert SECRET not in model.everything


@pytest.mark.promise("asks-by-default")
def test_the_toolset_for_python_asks_before_it_runs_code(notebook: Notebook, model: Provider) -> None:
    notebook.names["ran"] = []
    model.say(call("run_python", code="ran.append(1)"), "I may not.")

    turn = notebook.ask("Run it.", "-t nbtool:python")

    assert turn.calls[0].status == "denied"
    assert notebook.names["ran"] == []


def test_a_standard_toolset_can_be_made_in_python() -> None:
    assert "describe" in standard("inspection").tools()
