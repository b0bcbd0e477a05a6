"""Which tools a cell gives and takes away: all of a name, one of a toolset, a pattern; data is not made a tool."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.testing import ScriptedWire, call

HOSTILE = str(Path(__file__).parents[2] / "tools" / "mcp" / "hostile_server.py")
CELLS = """
import datetime, decimal, math, pathlib
import numpy as np
import pandas as pd
from nbtool import Toolset, tool

def read_file(path: str) -> str:
    "Read."
    return path

def read_all() -> str:
    "Read all."
    return ""

def write_file(path: str) -> str:
    "Write."
    return path

class Shop:
    def price(self, name: str) -> int:
        "Price."
        return 3
    def buy(self, name: str) -> int:
        "Buy."
        return 3

files = Toolset("disk", [read_file, read_all, write_file])
both = Toolset("both", [files])
shop = Shop()
del read_file, read_all, write_file
"""


@pytest.fixture
def tools_after_cells(shell: Any) -> Any:
    """Run cells of one chat; gives the tools it has after each."""
    assert shell.run_cell(CELLS).success

    def tools_after(*lines: str) -> list[str]:
        for line in lines:
            result = shell.run_cell(f"%%chat -q -m practice:fast {line}\nHello")
            if result.error_in_exec:
                raise result.error_in_exec
        return sorted(shell.magics_manager.registry["ChatMagics"].chats["main"].tools.tools())

    return tools_after


ALL = ["read_all", "read_file", "write_file"]


@pytest.mark.parametrize(
    ("lines", "tools"),
    [
        (["-t files"], ALL),
        (["-t files.read_file"], ["read_file"]),
        (["-t files.read_file", "-t files.write_file"], ["read_file", "write_file"]),
        (["-t files.read_file files.read_all"], ["read_all", "read_file"]),
        (["-t 'files.read_*'"], ["read_all", "read_file"]),
        (["-t files.*_file"], ["read_file", "write_file"]),
        (["-t files", "-t files.read_file"], ALL),
        (["-t files.read_file", "-t files"], ALL),
        (["-t disk.read_file"], ["read_file"]),
        (["-t both.read_file"], ["read_file"]),
        (["-t files -t !write_file"], ["read_all", "read_file"]),
        (["-t files", "-t !write_file"], ["read_all", "read_file"]),
        (["-t files", "-t !files.write_file"], ["read_all", "read_file"]),
        (["-t files", "-T 'read_*'"], ["write_file"]),
        (["-t files", "-T 'files.read_*'"], ["write_file"]),
        (["-t files", "-T '*'"], []),
        (["-t files", "-t !files"], []),
        (["-t files.read_file", "-t !files"], []),
        (["-t files", "-t !write_file", "-s Be-brief"], ["read_all", "read_file"]),
        (["-t files", "-t !write_file", "-t write_file"], ALL),
        (["-t files", "-t !write_file", "-t files.write_file"], ALL),
        (["-t files", "-t !write_file", "-t files"], ALL),
        (["-t shop"], ["buy", "price"]),
        (["-t shop.price"], ["price"]),
        (["-t shop -t !buy", "-s Be-brief"], ["price"]),
        (["-t shop.price", "-t !shop.price"], []),
        (["-t math.sqrt"], ["sqrt"]),
        (["-t double", "-t !double"], []),
        (["-t double files.read_file", "-t !double"], ["read_file"]),
        (["-t nbtool:files.read_file"], ["read_file"]),
        (["-t 'nbtool:files.*_file'", "-T '*edit*' write_file"], ["find_files", "read_file"]),
    ],
    ids=lambda value: " then ".join(value) if isinstance(value, list) else "",
)
def test_a_cell_chooses_its_tools(tools_after_cells: Any, lines: list[str], tools: list[str]) -> None:
    if any("nbtool:files.*" in line for line in lines):
        tools = [
            name
            for name in tools_after_cells("-t 'nbtool:files.*_file'")
            if "edit" not in name and name != "write_file"
        ]

    assert tools_after_cells(*lines) == tools


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("-t files.raed_file", "'files' has no tool 'raed_file'. Did you mean files.read_file"),
        ("-t files.zzz", "'files' has no tool 'zzz'. Its tools: read_all, read_file, write_file."),
        ("-t file.read_file", "There is no function or toolset called 'file' in this notebook. Did you mean files"),
        ("-t shop.prize", "'shop' has no tool 'prize'. Did you mean shop.price?"),
        ("-t !wriet_file", "There is no tool 'wriet_file' in this chat. Did you mean write_file"),
        ("-t !files.raed_all", "There is no tool 'files.raed_all' in this chat. Did you mean read_all"),
        ("-t '!zzz_*'", "There is no tool 'zzz_*' in this chat. This chat's tools: read_all, read_file, write_file."),
        ("-t !files.zzz", "There is no tool 'files.zzz' in this chat. This chat's tools: "),
        ("-t wriet_file", "'wriet_file' in this notebook. Did you mean files.write_file"),
        ("-t Flies", "'Flies' in this notebook. Did you mean files"),
        ("-t shpo", "'shpo' in this notebook. Did you mean shop"),
        ("-t qqqq", "'qqqq' in this notebook. Run the cell that defines it first."),
    ],
)
def test_a_tool_that_is_not_there_is_answered_with_near_ones(tools_after_cells: Any, line: str, says: str) -> None:
    before = tools_after_cells("-t files")
    with pytest.raises(Exception, match=r"There is no|has no tool") as raised:
        tools_after_cells(line)

    assert says in str(raised.value)
    assert tools_after_cells("-q") == before


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        ("np.zeros(3)", "is data (ndarray with "),
        ("pd.DataFrame({'a': [1]})", "is data (DataFrame with "),
        ("pd.Series([1])", "is data (Series with "),
        ("[1, 2]", "is data (list), not a tool."),
        ("{'a': 1}", "is data (dict), not a tool."),
        ("'text'", "is data (str), not a tool."),
        ("3", "is data (int), not a tool."),
        ("datetime.date.today()", "is data (date), not a tool."),
        ("decimal.Decimal(1)", "is data (Decimal with "),
        (
            "pathlib.Path('x')",
            "is data (PosixPath",
        ),  # from Python 3.14 on with so many methods that their count is named
    ],
)
@pytest.mark.parametrize("word", ["it", "double it"])
def test_data_given_as_a_tool_is_refused_with_the_flag_that_exposes_it(
    shell: Any, tools_after_cells: Any, thing: str, says: str, word: str
) -> None:
    assert shell.run_cell(f"it = {thing}").success
    with pytest.raises(Exception, match="not a tool") as raised:
        tools_after_cells(f"-t {word}")

    assert says in str(raised.value)
    assert "`-v it`" in str(raised.value)
    assert tools_after_cells("-v it") == []


@pytest.mark.parametrize("thing", ["[double]", "(double,)", "{double}", "{'twice': double}"])
def test_a_collection_of_tools_is_refused_with_the_line_that_makes_a_toolset_of_it(
    shell: Any, tools_after_cells: Any, thing: str
) -> None:
    assert shell.run_cell(f"several = {thing}").success
    with pytest.raises(Exception, match="of tools, not a tool") as raised:
        tools_after_cells("-t several")

    *_, import_line, toolset_line = re.findall("`(.+?)`", str(raised.value))
    assert shell.run_cell(f"{import_line}\n{toolset_line}").success
    assert tools_after_cells("-t several")


def test_a_module_given_as_a_tool_names_the_way_to_one_function(tools_after_cells: Any) -> None:
    with pytest.raises(Exception, match="'math' is a module, not a tool") as raised:
        tools_after_cells("-t math")

    assert "`-t math.FUNCTION`" in str(raised.value)


def test_a_mention_of_a_tool_that_was_taken_away_says_how_it_comes_back(shell: Any, tools_after_cells: Any) -> None:
    tools_after_cells("-t files -t !write_file")
    result = shell.run_cell("%%chat -q\nUse &`write_file`.")

    assert "`-t write_file`" in str(result.error_in_exec)


def test_one_tool_of_an_mcp_server_is_chosen_and_taken_away(
    shell: Any, tools_after_cells: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    command = {"command": sys.executable, "args": ["-I", "-S", HOSTILE, "pages"]}
    config = {"mcpServers": {"web": command}}
    shell.run_cell(f"from nbtool.tools.mcp import mcp_servers\nservers = mcp_servers({config})")
    try:
        assert tools_after_cells("-t servers.page1") == ["web_page1"]
        assert tools_after_cells("-t web.page2") == ["web_page1", "web_page2"]
        assert tools_after_cells("-t !web.page1") == ["web_page2"]
        assert tools_after_cells("-t !servers.page2") == []
        assert tools_after_cells("-t servers") == ["web_page0", "web_page1", "web_page2"]
        assert tools_after_cells("-t '!web.page[01]'") == ["web_page2"]
        assert tools_after_cells("-t web_page0") == ["web_page0", "web_page2"]
        assert tools_after_cells("-t !web_page0 !web.page2") == []
        shell.run_cell("%%chat -q\nLook at &`web.page1` in &`np.zeros`.")
        assert tools_after_cells("-q") == ["web_page1"]
        shell.run_line_magic("chat", "tools")
        assert "web.page1  " in capsys.readouterr().out
    finally:
        shell.run_cell("servers.close()")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("-t web.paeg1", "'web' has no tool 'paeg1'. Did you mean web.page"),
        ("-t wbe.page1", "called 'wbe' in this notebook. Did you mean web"),
        ("-t page1", "called 'page1' in this notebook. Did you mean web.page1"),
        ("-t web_paeg1", "called 'web_paeg1' in this notebook. Did you mean web.page"),
        ("-t Web.page1", "called 'Web' in this notebook. Did you mean web"),
        ("-t !web.paeg1", "no tool 'web.paeg1' in this chat. Did you mean web.page"),
        ("-t !web_paeg1", "no tool 'web_paeg1' in this chat. Did you mean web.page"),
        ("-t !paeg1", "no tool 'paeg1' in this chat. Did you mean web.page"),
        ("-t !zzz", "no tool 'zzz' in this chat. This chat's tools: web.page0, web.page1, web.page2."),
    ],
)
def test_a_mistyped_tool_of_a_server_is_answered_with_the_name_that_a_person_types(
    shell: Any, tools_after_cells: Any, line: str, says: str
) -> None:
    command = {"command": sys.executable, "args": ["-I", "-S", HOSTILE, "pages"]}
    config = {"mcpServers": {"web": command}}
    shell.run_cell(f"from nbtool.tools.mcp import mcp_servers\nservers = mcp_servers({config})")
    try:
        tools_after_cells("-t servers")
        with pytest.raises(Exception, match=r"no function|no tool") as raised:
            tools_after_cells(line)
        assert says in str(raised.value)
    finally:
        shell.run_cell("servers.close()")


SHOP = {"mcpServers": {"shop": {"command": sys.executable, "args": ["-I", "-S", HOSTILE, "named", "stock"]}}}


@pytest.fixture
def shop(shell: Any) -> Any:
    """A notebook with an MCP server `shop` that has one tool, `stock`."""
    assert shell.run_cell(f"from nbtool.tools.mcp import mcp_servers\nservers = mcp_servers({SHOP})").success
    yield shell
    shell.run_cell("servers.close()")


@pytest.mark.parametrize("mention", ["`stock`", "&`stock`", "`shop.stock`", "&`shop.stock`", "&`shop_stock`"])
def test_a_tool_of_a_server_is_found_under_each_of_its_names(shop: Any, mention: str) -> None:
    line = "%%chat -q -m practice:fast -t shop --approve auto -o turn"
    assert shop.run_cell(f"{line}\nHow many are left? Use {mention} with text=pens.").success
    turn = shop.user_ns["turn"]

    assert [call.display_name for call in turn.calls] == ["shop.stock"]
    assert ("`shop.stock(" in turn.text) is ("shop.stock" in mention)


def test_a_tool_in_plain_backticks_that_the_chat_lacks_is_named_as_a_mention(
    shop: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.run_cell("%%chat -m practice:fast\nUse `stock`, then `double` and `frame`; `nothing` else.")

    output = capsys.readouterr().out
    assert "&`shop.stock`" in output
    assert "&`double`" in output
    assert "`frame` is" not in output
    assert "`nothing` is" not in output

    shop.run_cell("%%chat -m practice:fast -t servers -t double\nUse `stock`, then `double`.")
    assert "only text" not in capsys.readouterr().out


def test_a_function_with_another_name_than_its_own_is_the_tool_that_the_prompt_mentions(shell: Any) -> None:
    shell.run_cell("from os.path import basename as price\nwide = lambda text: text * 2")
    assert shell.run_cell("%%chat -q -m practice:fast -o answer --approve auto\nUse &`price` with p='a/b'.").success
    answer = shell.user_ns["answer"]
    chat = shell.magics_manager.registry["ChatMagics"].chats["main"]

    assert [name for name in chat.tools.tools() if "price" in name or "basename" in name] == ["price"]
    assert not answer.error
    assert shell.run_cell("%%chat -q -m practice:fast -t wide\nHello").success
    assert "wide" in chat.tools.tools()
    assert shell.run_cell("%%chat -q -m practice:fast -t !price\nHello").success
    assert "price" not in chat.tools.tools()


def test_a_name_that_a_tool_was_given_stays_whatever_the_notebook_calls_it(shell: Any) -> None:
    shell.run_cell('@tool(name="quote")\ndef price() -> int:\n    "Price."\n    return 3')
    assert shell.run_cell("%%chat -q -m practice:fast -t price\nHello").success

    assert "quote" in shell.magics_manager.registry["ChatMagics"].chats["main"].tools.tools()


def test_a_call_by_another_name_is_written_as_code_that_runs(shell: Any) -> None:
    shell.run_cell("from os.path import basename as price")
    chat = shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
    chat.model = Chat(wire=ScriptedWire([call("price", p="a/b"), "Done."])).model
    shell.run_cell("%%chat -q --approve auto -t price\nName it.")
    shell.run_cell("%chat export py --cell")

    assert "import basename as price" in shell.rl_next_input
    assert shell.run_cell(shell.rl_next_input).result == "b"


STANDARD_FILES = ["edit_file", "list_files", "read_file", "write_file"]


@pytest.fixture
def standard_after_cells(shell: Any) -> Any:
    """Run cells of one chat of a notebook without toolsets of its own; gives the tools it has after each."""

    def tools_after(*lines: str) -> list[str]:
        for line in lines:
            result = shell.run_cell(f"%%chat -q -m practice:fast {line}\nHello")
            if result.error_in_exec:
                raise result.error_in_exec
        return sorted(shell.magics_manager.registry["ChatMagics"].chats["main"].tools.tools())

    return tools_after


@pytest.mark.parametrize(
    ("lines", "tools"),
    [
        (["-t nbtool:files", "-t !files.write_file"], ["edit_file", "list_files", "read_file"]),
        (["-t nbtool:files -t !files.write_file"], ["edit_file", "list_files", "read_file"]),
        (["-t nbtool:files", "-t !nbtool:files.write_file"], ["edit_file", "list_files", "read_file"]),
        (["-t nbtool:files", "-T 'files.*_file'"], ["list_files"]),
        (["-t nbtool:files", "-t !files.write_file", "-t files.write_file"], STANDARD_FILES),
        (["-t nbtool:files", "-t !files.write_file", "-t 'files.w*'"], STANDARD_FILES),
        (["-t nbtool:files", "-t !files.write_file", "-t nbtool:files.write_file"], STANDARD_FILES),
        (["-t nbtool:files", "-t !files"], []),
        (["-t nbtool:files", "-t 'files.read_*'"], STANDARD_FILES),
        (["-t nbtool:files", "-t files.read_file"], STANDARD_FILES),
        (["-t files.read_file"], ["read_file"]),
        (["-t 'files.read_*' files.list_files"], ["list_files", "read_file"]),
        (["-t files.read_file", "-t nbtool:files"], STANDARD_FILES),
        (["-t nbtool:inspection", "-t !inspection.sample inspection.[sv]*"], ["columns", "describe", "head"]),
        (["-t inspection.head web.fetch_page python.run_python"], ["fetch_page", "head", "run_python"]),
        (["-t nbtool:notebook", "-t !notebook.run_cell 'notebook.*t*_cell'"],
         ["list_cells", "move_cell", "read_cell"]),
    ],
    ids=" then ".join,
)  # fmt: skip
def test_a_standard_toolset_is_named_without_its_prefix_too(
    standard_after_cells: Any, lines: list[str], tools: list[str]
) -> None:
    assert standard_after_cells(*lines) == tools


def test_the_whole_of_a_standard_toolset_needs_its_prefix_which_is_proposed(shell: Any) -> None:
    result = shell.run_cell("%%chat -q -m practice:fast -t files\nHello")

    assert "nbtool:files?" in str(result.error_in_exec)


def test_a_mention_of_a_tool_of_a_standard_toolset_adds_it(shell: Any, standard_after_cells: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nUse &`files.read_file`.")
    mentioned = standard_after_cells("")
    left = standard_after_cells("-t !files.read_file")
    shell.run_cell("%%chat -q -m practice:fast\nUse &`files.read_file`.")

    assert (mentioned, left, standard_after_cells("")) == (["read_file"], [], ["read_file"])


@pytest.mark.parametrize(
    "line", ["-t !files.write_file", "-t !disk.write_file", "-t !both.write_file", "-t !write_file"]
)
def test_a_toolset_that_a_chat_was_made_with_is_named_as_one_that_a_cell_added(shell: Any, line: str) -> None:
    shell.run_cell(CELLS)
    shell.run_cell("from nbtool import Chat\nown = Chat('practice:fast', tools=[both])\ndel both, files")

    def run(words: str) -> list[str]:
        result = shell.run_cell(f"%%chat -q -c own {words}\nHello")
        return [str(result.error_in_exec)] if result.error_in_exec else sorted(shell.user_ns["own"].tools.tools())

    if line == "-t !files.write_file":  # a name of the notebook that is gone, and never was that of the toolset
        assert "'files.write_file'" in run(line)[0]
        return
    assert run(line) == ["read_all", "read_file"]
    assert run(line.replace("!", "")) == ALL


def test_a_toolset_of_files_that_a_chat_was_made_with_is_called_files(shell: Any, tmp_path: Path) -> None:
    shell.user_ns["folder"] = tmp_path
    shell.run_cell("from nbtool import Chat\nfrom nbtool.toolsets import files as make_files\n"
                   "own = Chat('practice:fast', tools=[make_files(folder)])")  # fmt: skip

    def run(words: str) -> list[str]:
        result = shell.run_cell(f"%%chat -q -c own {words}\nHello")
        return [str(result.error_in_exec)] if result.error_in_exec else sorted(shell.user_ns["own"].tools.tools())

    assert run("-t !files.write_file") == ["edit_file", "list_files", "read_file"]
    assert run("-t 'files.write_*'") == STANDARD_FILES
    assert run("-t !files") == []
