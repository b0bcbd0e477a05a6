from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.imports import Import, Rules, find_cycles, read_imports, read_rules

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rules() -> Rules:
    return read_rules((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return read_imports(ROOT / "nbtool")


def grow(folder: Path, files: dict[str, str]) -> Path:
    package = folder / "nbtool"
    for name, source in files.items():
        file = package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    return package


def test_every_import_keeps_to_the_tables(rules: Rules, imports: list[Import]) -> None:
    complaints = [rules.complaint(found) for found in imports]

    assert "\n".join(filter(None, complaints)) == ""


def test_no_modules_import_each_other_in_a_circle(imports: list[Import]) -> None:
    assert find_cycles(imports) == []


def test_every_part_of_the_package_has_a_row(rules: Rules) -> None:
    parts = {path.stem for path in (ROOT / "nbtool").iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}

    assert parts - {"__init__"} <= set(rules.allowed)


def test_every_folder_of_the_chat_has_a_row(rules: Rules) -> None:
    folders = {path.parent.name for path in (ROOT / "nbtool" / "chat").glob("*/__init__.py")}

    assert {f"chat.{name}" for name in folders} <= set(rules.allowed)


@pytest.mark.parametrize("package", ["blocks", "chat", "tools", "tools.mcp", "view", "wire"])
def test_the_folders_of_a_package_import_each_other_in_one_direction(package: str, imports: list[Import]) -> None:
    """A package may be read from the bottom to the top; its own modules ("") are a folder too."""
    folder, prefix = ROOT.joinpath("nbtool", *package.split(".")), f"nbtool.{package}."
    arrows = {
        (_folder(folder, found.importer.removeprefix(prefix)), _folder(folder, found.target.removeprefix(prefix)))
        for found in imports
        if found.importer.startswith(prefix) and found.target.startswith(prefix)
    }

    assert arrows
    assert {(a, b) for a, b in arrows if a != b and (b, a) in arrows} == set()


def _folder(package: Path, module: str) -> str:
    name = module.partition(".")[0]
    return name if (package / name).is_dir() else ""


def test_the_tables_are_read_as_they_are_written(rules: Rules) -> None:
    assert rules.allowed["errors"] == frozenset()
    assert rules.allowed["chain"] == {
        "annotation_kinds", "argument_check", "audience", "errors", "event_filter", "ids", "messages", "events",
        "clock", "event_json", "json_schema", "settings", "loop", "policy", "sign_in", "thread_pool", "threadless",
        "text", "usage", "wire.base", "wire.reply",
    }  # fmt: skip
    assert rules.allowed["practice"] == rules.allowed["testing"]
    assert rules.allowed["magics"] is None
    assert not any(part.startswith("magics") for part in rules.allowed["magics.kernel"] or ())
    assert rules.doors["ipywidgets"] == {"view"}
    assert rules.doors["mcp"] == {"tools.mcp", "mcp_server"}


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        (
            "wire/transport/http_endpoint.py",
            "import nbtool.tools.calls.call_run",
            "nbtool/wire/transport/http_endpoint.py:1: wire.transport may not import nbtool.tools.calls.call_run",
        ),
        (
            "wire/transport/http_endpoint.py",
            "from ...tools import calls",
            "nbtool/wire/transport/http_endpoint.py:1: wire.transport may not import nbtool.tools",
        ),
        (
            "chain/engine.py",
            "from nbtool.wire.transport import http_endpoint",
            "nbtool/chain/engine.py:1: chain may not import nbtool.wire.transport.http_endpoint",
        ),
        (
            "chat/journal/database.py",
            "from nbtool.chat.turn import Turn",
            "nbtool/chat/journal/database.py:1: chat.journal may not import nbtool.chat.turn",
        ),
        ("errors.py", "import re\nimport nbtool.events", "nbtool/errors.py:2: errors may not import nbtool.events"),
        (
            "view/turn_widget.py",
            "def show():\n    import nbtool.wire.transport.http_endpoint",
            "nbtool/view/turn_widget.py:2: view may not import nbtool.wire.transport.http_endpoint",
        ),
        (
            "blocks/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from nbtool.chat import Chat",
            "nbtool/blocks/a.py:3: blocks may not import nbtool.chat",
        ),
        (
            "tools/tool.py",
            "from importlib import import_module\nimport_module('nbtool.wire.transport.http_endpoint')",
            "nbtool/tools/tool.py:2: tools.tool may not import nbtool.wire.transport.http_endpoint",
        ),
        ("chat/chat.py", "import nbtool", "nbtool/chat/chat.py:1: chat may not import nbtool"),
        (
            "magics/views/page_view.py",
            "import nbtool.magics.cell.run",
            "nbtool/magics/views/page_view.py:1: magics.views may not import nbtool.magics.cell.run",
        ),
        (
            "view/turn_widget.py",
            "import IPython.display",
            "nbtool/view/turn_widget.py:1: IPython comes in only through magics",
        ),
        ("magics/cell/run.py", "import zmq", "nbtool/magics/cell/run.py:1: zmq comes in only through magics.kernel"),
        ("__init__.py", "import httpx", "nbtool/__init__.py:1: httpx comes in only through wire.transport"),
        (
            "news.py",
            "import nbtool.errors",
            "nbtool/news.py:1: nbtool.news stands in no row of the table in CONTRIBUTING.md",
        ),
    ],
)
def test_a_wrong_import_is_named_with_its_file_and_line(
    rules: Rules, tmp_path: Path, file: str, source: str, complaint: str
) -> None:
    package = grow(tmp_path, {"wire/transport/http_endpoint.py": "", file: source})

    complaints = [rules.complaint(found) for found in read_imports(package)]

    assert list(filter(None, complaints)) == [complaint]


def test_imports_within_the_rules_are_let_through(rules: Rules, tmp_path: Path) -> None:
    package = grow(
        tmp_path,
        {
            "__init__.py": "from nbtool.chat import Chat",
            "chain/hooks.py": "from nbtool import errors, loop",
            "chain/engine.py": "from . import hooks\nfrom nbtool.wire.base import Wire",
            "errors.py": "",
            "loop.py": "from .errors import NbtoolError",
            "plugins/tools.py": "import nbtool.chain.hooks, json\nfrom nbtool.tools import call",
            "magics/kernel/cell_messages.py": "import zmq\nfrom ipykernel import comm",
            "magics/kernel_chats.py": "from nbtool.chat import Chat",
        },
    )

    assert list(filter(None, map(rules.complaint, read_imports(package)))) == []


def test_a_circle_is_found_though_one_of_its_imports_is_lazy(tmp_path: Path) -> None:
    package = grow(
        tmp_path,
        {
            "wire/a.py": "from nbtool.wire import b",
            "wire/b.py": "from .c import word",
            "wire/c.py": "def word():\n    from nbtool.wire.a import thing",
            "wire/d.py": "from nbtool.wire import a",
        },
    )

    assert find_cycles(read_imports(package)) == [["nbtool.wire.a", "nbtool.wire.b", "nbtool.wire.c"]]
