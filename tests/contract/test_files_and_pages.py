"""File tools stay below their folder and read no file with secrets; pages are fetched from public addresses only.

The tools that ship run by themselves only if they read and send nothing off the machine.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from nbtool.toolsets import files, standard, web
from tests.contract.notebook import Notebook
from tests.contract.simulator import Body, Provider, call
from tests.contract.tools import SECRET, approve

PUBLIC = "93.184.216.34"
NAMES = {"pages.example": PUBLIC, "inside.example": "127.0.0.1", "localhost": "127.0.0.1", "2130706433": "127.0.0.1"}


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

    turn = model.chat(tools=[files(folder)], approver=approve).send("Read it.")

    assert turn.calls[0].status == "error"
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

    turn = model.chat(tools=[files(tmp_path)], approver=approve).send("Read it.")

    assert turn.calls[0].status == "error"
    assert SECRET not in model.everything


@pytest.mark.promise("below-the-folder")
def test_an_ordinary_file_is_read_and_written(model: Provider, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old text", encoding="utf-8")
    model.say(call("read_file", path="a.txt"), call("edit_file", path="a.txt", old="old", new="new"), "Done.")

    turn = model.chat(tools=[files(tmp_path)], approver=approve).send("Change it.")

    assert [one.status for one in turn.calls] == ["ok", "ok"]
    assert "old text" in model.requests[1].text
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "new text"


@pytest.fixture
def reached(model: Provider, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have a network with the provider's pages at `PUBLIC`, and give the addresses that are connected to."""
    reached: list[str] = []
    connect = socket.socket.connect

    def look_up(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        address = NAMES.get(host, host)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    def reach(self: socket.socket, address: Any) -> None:
        reached.append(address[0])
        connect(self, ("127.0.0.1", model.port) if address[0] == PUBLIC else address)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket.socket, "connect", reach)
    return reached


@pytest.mark.promise("public-pages")
def test_a_public_page_is_fetched_as_text(model: Provider, reached: list[str]) -> None:
    model.pages["/page"] = Body(b"<h1>The tides</h1><script>alert(1)</script>", content_type="text/html")
    model.say(call("fetch_page", url="http://pages.example/page"), "Tides.")

    turn = model.chat(tools=[web()], approver=approve).send("Fetch it.")

    assert turn.calls[0].status == "ok"
    assert "The tides" in model.requests[1].text
    assert ([request.path for request in model.others], PUBLIC in reached) == (["/page"], True)


@pytest.mark.promise("public-pages")
@pytest.mark.usefixtures("reached")
@pytest.mark.parametrize("host", ["127.0.0.1", "inside.example"])
def test_a_redirect_of_a_public_page_to_this_machine_is_not_followed(model: Provider, host: str) -> None:
    model.pages["/page"] = Body(b"", 302, headers={"Location": f"http://{host}:{model.port}/secret"})
    model.say(call("fetch_page", url="http://pages.example/page"), "I cannot.")

    turn = model.chat(tools=[web()], approver=approve).send("Fetch it.")

    assert (turn.calls[0].status, "private network" in turn.calls[0].reason) == ("error", True)
    assert [request.path for request in model.others] == ["/page"]


@pytest.mark.promise("public-pages")
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "2130706433", "0.0.0.0", "169.254.169.254", "10.0.0.1", "inside.example"],
)
def test_a_page_of_this_machine_or_of_a_private_network_is_not_fetched(
    model: Provider, reached: list[str], host: str
) -> None:
    model.say(call("fetch_page", url=f"http://{host}:{model.port}/secret"), "I cannot.")

    turn = model.chat(tools=[web()], approver=approve).send("Fetch it.")

    assert (turn.calls[0].status, "private network" in turn.calls[0].reason) == ("error", True)
    assert model.others == []
    assert set(reached) <= {"127.0.0.1"}  # the provider of the chat


@pytest.mark.promise("public-pages")
@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://pages.example/"])
def test_only_pages_of_the_web_are_fetched(model: Provider, url: str) -> None:
    model.say(call("fetch_page", url=url), "I cannot.")

    turn = model.chat(tools=[web()], approver=approve).send("Fetch it.")

    assert (turn.calls[0].status, "http" in turn.calls[0].reason) == ("error", True)


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
def test_the_inspection_tools_run_by_themselves_and_release_no_values_of_references(
    notebook: Notebook, model: Provider
) -> None:
    notebook.run(f"import pandas as pd\ndf = pd.DataFrame({{'city': ['{SECRET}', 'Oslo']}})")
    model.say(call("describe", name="df"), call("head", name="df"), "Two rows.")

    turn = notebook.ask("Describe it.", "-t nbtool:inspection -v df")

    assert [(one.name, one.status) for one in turn.calls] == [("describe", "ok"), ("head", "withheld")]
    assert "2 rows" in model.requests[1].text
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
