"""The next day: every button of a saved turn writes a cell, and that cell works in a new kernel or says what helps."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.ids import short_id
from nbtool.magics.notebook.saved_figures import read_figures
from nbtool.view.actions import ACTIONS, actions_at
from tests.magics.commands.saying import run_command
from tests.samples import PNG

WORDS = {"chat": "chat", "prompt": "What is the price of MSFT?", "reference": "price_1_result"}
WRITTEN = {
    action: ACTIONS[action].cell.format(turn="{turn}", other="{turn}", **WORDS)
    for action in actions_at("saved", "saved_versions", "saved_call")
    if "stopped" not in ACTIONS[action].needs
}
"""The cell that each button of a saved turn writes."""

CONTINUING = [button for button in WRITTEN if button not in ("explore", "undo", "code")]
"""Those that continue the chat of the turn; the others only read it, or what an earlier kernel changed is past."""

PRICE = "def price(ticker: str) -> float:\n    'Price of a ticker.'\n    return 1.5"


pytestmark = pytest.mark.usefixtures("own_journal")


@pytest.fixture
def yesterday(shell: Any, capsys: pytest.CaptureFixture[str]) -> str:
    """Say something with a tool, end the kernel, and give the turn's id."""
    shell.run_cell(PRICE)
    shell.run_cell("%%chat -q -m practice:fast -t price -o answer --approve auto\nUse &`price` for AAPL.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    shell.user_ns.pop("price")
    shell.run_line_magic("reload_ext", "nbtool")
    shell.run_line_magic("config", "NbTool.model = 'practice:fast'")
    capsys.readouterr()
    return turn


def run_cell(shell: Any, cell: str, capsys: pytest.CaptureFixture[str]) -> str:
    shell.run_cell(cell)
    out = capsys.readouterr()
    return out.out + out.err


@pytest.mark.parametrize("button", CONTINUING)
def test_with_its_tool_in_the_notebook_it_works(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], button: str
) -> None:
    shell.run_cell(PRICE)
    actual = run_cell(shell, WRITTEN[button].format(turn=yesterday), capsys)

    assert "'main': 1 turn" in actual
    assert list(shell.magics_manager.registry["ChatMagics"].chats["main"].tools.tools()) == ["price"]
    assert "UsageError" not in actual
    tree = shell.magics_manager.registry["ChatMagics"].chats["main"].tree
    said_now = {"rerun": (1, 2), "edit": (2, 1)}.get(button, (1, 1))
    assert (len(tree.roots), len(tree.roots[0].versions)) == said_now


def test_a_result_of_an_earlier_kernel_is_bound_as_the_journal_has_it(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run_cell(shell, WRITTEN["bind"].format(turn=yesterday), capsys)

    assert "price_1_result" in said
    assert "float" in said
    assert shell.user_ns["price_1_result"] == 1.5
    assert "Bound price_1_result" in run_cell(shell, WRITTEN["bind"].format(turn=yesterday), capsys)
    shell.run_cell("price_1_result = 'mine'")
    assert "already exists" in run_cell(shell, WRITTEN["bind"].format(turn=yesterday), capsys)
    assert shell.user_ns["price_1_result"] == "mine"


LISTING = "def listing(ticker: str) -> str:\n    'Describe a ticker.'\n    return f'{ticker} at length. ' * {COUNT}"


def listing_of_yesterday(shell: Any, count: int) -> tuple[str, str]:
    """Ask with a tool that returns a text, end the kernel, and return the turn and the function's source."""
    source = LISTING.replace("{COUNT}", str(count))
    shell.run_cell(source)
    shell.run_cell("%%chat -q -m practice:fast -t listing -o answer --approve auto\nUse &`listing` for AAPL.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    shell.user_ns.pop("listing")
    shell.run_line_magic("reload_ext", "nbtool")
    return turn, source


def test_of_an_object_the_text_is_bound_with_the_command_that_computes_it_again(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    turn, _ = listing_of_yesterday(shell, 20)
    said = run_cell(shell, f"%chat bind listing_1_result text --turn {turn}", capsys)

    assert "`text`" in said
    assert "defines listing" in said
    assert f"`%chat export py --cell {short_id(turn)}`" in said
    assert shell.user_ns["text"] == "AAPL at length. " * 20


def test_the_text_of_a_table_says_that_it_is_none(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    shell.run_cell("import pandas as pd\ndef warm() -> object:\n    'Warm.'\n    return pd.DataFrame({'a': [1, 2]})")
    shell.run_cell("%%chat -q -m practice:fast -t warm -o answer --approve auto\nUse &`warm`.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    shell.run_line_magic("reload_ext", "nbtool")

    said = run_cell(shell, f"%chat bind warm_1_result --turn {turn}", capsys)

    assert "`warm_1_result`" in said
    assert "DataFrame" in said
    assert shell.user_ns["warm_1_result"].startswith("DataFrame, 2 rows by 1 column")


def test_a_result_that_the_model_saw_in_part_names_the_steps_that_compute_it_again(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    turn, source = listing_of_yesterday(shell, 2_000)
    bind = f"%chat bind listing_1_result --turn {turn}"
    line = f"%chat export py --cell {short_id(turn)}"
    said = run_cell(shell, bind, capsys)
    shell.run_cell(source)
    after = run_cell(shell, bind, capsys)
    shell.run_cell(line)
    shell.run_cell(shell.rl_next_input)

    assert "defines listing" in said
    assert f"`{line}`" in said
    assert f"`{line}`" in after
    assert "defines listing" not in after
    assert "listing_1_result" not in shell.user_ns
    assert shell.user_ns["r1"] == "AAPL at length. " * 2_000


DRAW = """
from IPython.display import Image
from tests.samples import PNG
def draw(ticker: str) -> Image:
    'Draw a ticker.'
    return Image(PNG)
"""


SPEAK = """
from IPython.display import Audio
from tests.samples import WAV
def speak(ticker: str) -> Audio:
    'Speak a ticker.'
    return Audio(data=WAV)
"""
"""A sound, which no model gets as a result, so that the journal does not have it."""


def test_a_document_of_an_earlier_chat_says_which_sounds_are_gone(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shell.run_cell(SPEAK)
    shell.run_cell("%%chat -q -m practice:fast -t speak -o answer --approve auto\nUse &`speak` for AAPL.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    here = run_command(shell, "export md here.md", capsys)
    shell.run_line_magic("reload_ext", "nbtool")
    run_command(shell, f"branch {turn} --switch", capsys)
    later = run_command(shell, "export md later.md", capsys)
    again = run_command(shell, "export json later.json", capsys)
    notebook = run_command(shell, "export ipynb later.ipynb", capsys)

    assert "1 image" in here
    assert "here_files" in here
    assert "not here" not in Path("here.md").read_text()
    assert "1 image" in later
    assert "later_files" not in later
    assert "1 image" in Path("later.md").read_text()
    assert '"media_unsaved": 1' in Path("later.json").read_text()
    assert again == "Written: later.json\n"
    assert "1 image" in notebook
    assert "1 image" in Path("later.ipynb").read_text()


def write_notebook(path: Path, *bundles: Any) -> None:
    outputs = [{"output_type": "display_data", "metadata": {}, "data": bundle} for bundle in bundles]
    cell = {"cell_type": "code", "source": "%%chat", "metadata": {}, "execution_count": 1, "outputs": outputs}
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}))


def test_a_document_of_an_earlier_chat_has_the_figures_that_the_saved_notebook_has(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "day.ipynb"))
    shell.run_cell(DRAW)
    shell.run_cell("%%chat -q -m practice:fast -t draw -o answer --approve auto\nUse &`draw` for AAPL.")
    answer = shell.user_ns.pop("answer")
    here = run_command(shell, "export md here.md", capsys)
    run_command(shell, "export ipynb here.ipynb", capsys)
    write_notebook(tmp_path / "day.ipynb", {"text/plain": "other"}, answer._repr_mimebundle_())
    shell.run_line_magic("reload_ext", "nbtool")
    run_command(shell, f"branch {answer.turn_id} --switch", capsys)
    later = run_command(shell, "export md later.md", capsys)
    notebook = run_command(shell, "export ipynb later.ipynb", capsys)

    assert "here_files" in here
    assert "later_files" in later
    assert notebook == "Written: later.ipynb\n"
    assert Path("later_files/figure-1.png").read_bytes() == Path("here_files/figure-1.png").read_bytes() == PNG
    assert Path("later.md").read_text().replace("later", "here") == Path("here.md").read_text()
    assert b64encode(PNG).decode() in Path("later.ipynb").read_text()


def test_a_figure_that_was_released_to_the_model_is_in_the_documents_of_both_days(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "day.ipynb"))
    shell.run_cell(DRAW)
    shell.run_cell(
        "%%chat -q -m practice:fast -t draw -o answer --approve auto --set check_results=true\nUse &`draw` for AAPL."
    )
    answer = shell.user_ns.pop("answer")
    run_command(shell, "export md here.md", capsys)
    write_notebook(tmp_path / "day.ipynb", answer._repr_mimebundle_())
    shell.run_line_magic("reload_ext", "nbtool")
    run_command(shell, f"branch {answer.turn_id} --switch", capsys)
    run_command(shell, "export md later.md", capsys)

    here, later = ([one.read_bytes() for one in tmp_path.glob(f"{day}_files/*")] for day in ("here", "later"))
    assert here == later == [PNG]
    assert Path("later.md").read_text() == Path("here.md").read_text().replace("here_files", "later_files")


@pytest.mark.promise("forged-history")
@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[1]", b'{"cells": 5}', b'{"cells": [{"outputs": [{"data": []}, 5]}, null]}', b"\xff\xfe",
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_notebook_that_is_none_has_no_figures(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "day.ipynb").write_bytes(content)

    assert read_figures(tmp_path / "day.ipynb") == {}
    assert read_figures(tmp_path / "missing.ipynb") == {}
    assert read_figures(None) == {}


@pytest.mark.promise("forged-history")
@pytest.mark.parametrize(
    "change", [{"data": "AAAA"}, {"mime": "text/html"}, {"key": "0" * 32}, {"data": "<script>"}, {"data": 5}]
)
def test_a_forged_figure_is_not_read(tmp_path: Path, change: dict[str, Any]) -> None:
    media = {"key": sha256(PNG).hexdigest()[:32], "mime": "image/png", "name": "", "data": b64encode(PNG).decode()}
    turn = {"head": {"turn_id": "turn_1"}, "blocks": [{"id": "call_1", "media": [{**media, **change}]}]}
    write_notebook(tmp_path / "day.ipynb", {TURN_MIME: turn})

    assert read_figures(tmp_path / "day.ipynb") == {}


@pytest.mark.parametrize("command", ["export", "record", "bind", "serve", "history", "deny", "tools", "help"])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_each_command_prints_its_help(shell: Any, capsys: pytest.CaptureFixture[str], command: str, flag: str) -> None:
    said = " ".join(run_cell(shell, f"%chat {command} {flag}", capsys).split())

    assert said.startswith(f"{command} ")
    assert said == " ".join(run_command(shell, f"help {command}", capsys).split())
    assert "Unknown option" not in said


def test_a_result_of_this_kernel_is_bound_by_the_button_of_a_saved_turn(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(PRICE)
    shell.run_cell("%%chat -q -m practice:fast -t price -o answer --approve auto\nUse &`price` for AAPL.")
    said = run_cell(shell, WRITTEN["bind"].format(turn=shell.user_ns["answer"].turn_id), capsys)

    assert "price_1_result" in said
    assert shell.user_ns["price_1_result"] == 1.5


def test_the_notice_that_a_chat_continues_is_printed_although_the_command_fails(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run_cell(shell, f"%chat bind unknown_result --turn {yesterday}", capsys)

    assert "'main': 1 turn" in said
    assert "UsageError" in said


@pytest.mark.parametrize("has_turns", [False, True])
def test_the_code_of_an_earlier_turn_is_written_without_continuing_its_chat(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], has_turns: bool
) -> None:
    started = run_command(shell, "history chats", capsys).split()[0]
    shell.run_cell(PRICE)
    if has_turns:
        shell.run_cell("%%chat -q\nGood morning")
    kernel = shell.magics_manager.registry["ChatMagics"].kernel_chats
    before = {name: (chat.chat_id, len(list(chat.tree.nodes()))) for name, chat in kernel.chats.items()}
    said = run_cell(shell, WRITTEN["code"].format(turn=yesterday), capsys)
    after = {name: (chat.chat_id, len(list(chat.tree.nodes()))) for name, chat in kernel.chats.items()}
    shell.run_cell(shell.rl_next_input)

    chat = short_id(started)
    assert f"`%chat open {chat}`" in said
    assert "lost" not in said
    assert shell.user_ns["r1"] == 1.5
    assert before.items() <= after.items()
    assert after["main"] == before.get("main", (kernel.chat("main").chat_id, 0))
    assert kernel.chat("main").tools.tools() == {}


def test_the_code_of_an_earlier_turn_says_which_functions_it_needs(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run_cell(shell, WRITTEN["code"].format(turn=yesterday), capsys)

    assert "defines price" in said


@pytest.mark.parametrize("button", CONTINUING)
def test_without_its_tool_it_says_which_is_missing(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], button: str
) -> None:
    actual = run_cell(shell, WRITTEN[button].format(turn=yesterday), capsys)

    assert "defines price" in actual
    assert "UsageError: No" not in actual


@pytest.mark.parametrize("button", CONTINUING)
def test_in_a_chat_that_has_turns_of_its_own_the_earlier_one_continues_beside_it(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], button: str
) -> None:
    started = run_command(shell, "history chats", capsys).split()[0]
    shell.run_cell("earlier = 'a name that is taken'")
    shell.run_cell(PRICE)
    shell.run_cell("%%chat -q\nGood morning")
    actual = run_cell(shell, WRITTEN[button].format(turn=yesterday), capsys)
    again = run_cell(shell, WRITTEN[button].format(turn=yesterday), capsys)
    chats = shell.magics_manager.registry["ChatMagics"].chats

    assert actual.startswith(f"{short_id(started)} ")
    assert "'earlier2': 1 turn" in actual
    assert list(chats["earlier2"].tools.tools()) == ["price"]
    assert "`%chat open earlier2`" in actual
    assert "'earlier2'" in again
    assert f"{short_id(started)} " not in again
    assert [node.turn.prompt.text for node in chats["main"].tree.active_path] == ["Good morning"]
    assert chats["earlier2"].chat_id == started
    said_now = {"rerun": (1, 3), "edit": (3, 1)}.get(button, (1, 1))
    assert (len(chats["earlier2"].tree.roots), len(chats["earlier2"].tree.roots[0].versions)) == said_now


def test_a_deleted_turn_is_not_continued_a_second_time(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_cell(shell, f"%chat open {yesterday}", capsys)
    shell.run_cell(f"import nbtool\nnbtool.chats()['main'].delete({yesterday!r})")

    actual = run_cell(shell, WRITTEN["rerun"].format(turn=yesterday), capsys)

    assert yesterday in actual
    assert "`%chat undo`" in actual
    assert list(shell.magics_manager.registry["ChatMagics"].chats) == ["main"]


def test_a_tool_that_is_defined_after_the_chat_was_opened_is_there_at_its_next_turn(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(shell, f"branch {yesterday} --switch", capsys)
    before = run_cell(shell, "%%chat -q\nGood morning", capsys)
    shell.run_cell(PRICE)
    shell.run_cell("price.is_of_this_kernel = True")
    said = run_cell(shell, "%%chat -q --approve deny -o answer\nUse &`price` for MSFT.", capsys)
    after = run_cell(shell, "%%chat -q --approve deny\nUse &`price` for MSFT.", capsys)

    assert "added again" not in before
    assert said.count("again: price") == 1
    assert [call.status for call in shell.user_ns["answer"].calls] == ["denied"]  # it asks as any tool of this kernel
    assert "added again" not in after


def test_a_tool_that_was_removed_on_purpose_does_not_come_back(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(shell, f"branch {yesterday} --switch", capsys)
    run_cell(shell, "%%chat -q -t !price\nGood morning", capsys)
    shell.run_cell(PRICE)

    assert "added again" not in run_cell(shell, "%%chat -q\nGood evening", capsys)
    assert chat_of(shell).tools.tools() == {}


@pytest.mark.parametrize("has_turns", [False, True])
def test_an_earlier_chat_is_explored_without_being_continued(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], has_turns: bool
) -> None:
    if has_turns:
        shell.run_cell("%%chat -q\nGood morning")
    chat = shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")
    before = (chat.chat_id, [node.node_id for node in chat.tree.nodes()])
    shown = run_cell(shell, WRITTEN["explore"].format(turn=yesterday), capsys)
    chat = shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main")

    assert "Use &`price` for AAPL." in shown
    assert "continues here" not in shown
    assert (chat.chat_id, [node.node_id for node in chat.tree.nodes()]) == before
    assert chat.tools.tools() == {}


@pytest.mark.parametrize("button", WRITTEN)
def test_where_the_journal_is_gone_it_says_what_to_do(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], button: str
) -> None:
    run_command(shell, "history erase all", capsys)
    actual = run_cell(shell, WRITTEN[button].format(turn=yesterday), capsys)

    assert yesterday in actual
    assert "`%chat open FILE`" in actual


def test_a_tool_that_comes_with_nbtool_is_listed_with_the_name_of_its_toolset(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("df = [1]")
    shell.run_cell("%%chat -q -m practice:fast -t nbtool:python -v df -o answer\nUse &`run_python` on $`df`.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    shell.run_line_magic("reload_ext", "nbtool")
    capsys.readouterr()

    said = run_cell(shell, f"%chat branch {turn} --switch", capsys)
    assert "`-t nbtool:python`" in said


def chat_of(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].chats["main"]


@pytest.mark.parametrize("how", ["", ":tools"])
def test_a_turn_is_not_replayed_without_its_tools_and_finds_them_once_they_are_defined(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    refused = run_cell(shell, f"%%chat --rerun {yesterday}{how}", capsys)
    versions = len(chat_of(shell).tree.roots[0].versions)
    shell.run_cell(PRICE)
    again = run_cell(shell, f"%%chat --rerun {yesterday}{how} --approve auto", capsys)

    assert "price, missing" in refused
    assert "defines price" in refused
    assert "`-t !price`" in refused
    assert versions == 1
    assert "again: price" in again
    last = chat_of(shell).tree.roots[0].versions[-1]
    assert [(call.name, call.status) for call in last.calls] == [("price", "ok")]


def test_a_turn_is_replayed_without_its_tools_where_the_cell_says_so(
    shell: Any, yesterday: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_cell(shell, f"%%chat --rerun {yesterday} -t !price", capsys)

    assert len(chat_of(shell).tree.roots[0].versions) == 2
    assert not chat_of(shell).tree.roots[0].versions[-1].calls


def test_a_tool_that_was_offered_and_never_called_is_looked_for_too(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(PRICE)
    shell.run_cell("%%chat -q -m practice:fast -t price -o answer\nGood morning.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    shell.user_ns.pop("price")
    shell.run_line_magic("reload_ext", "nbtool")

    assert "price, missing" in run_cell(shell, f"%%chat --rerun {turn}", capsys)


@pytest.fixture
def with_frames(shell: Any, capsys: pytest.CaptureFixture[str]) -> str:
    """Let a turn have one variable from the line, one that may be read, one from the prompt and one that is hidden."""
    shell.run_cell("penguins, given, readable, hidden = [1, 2], {'a': 1}, [3], [4]")
    shell.run_cell("%%chat -q -m practice:fast -v given hidden --read readable\nGood morning.")
    shell.run_cell(PRICE)
    shell.run_cell("%%chat -q -t price --approve auto -v !hidden -o answer\nUse &`price` for AAPL, see $`penguins`.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    for name in ("penguins", "given", "readable", "hidden", "price"):
        shell.user_ns.pop(name)
    shell.run_line_magic("reload_ext", "nbtool")
    shell.run_line_magic("config", "NbTool.model = 'practice:fast'")
    capsys.readouterr()
    return turn


def test_variables_that_exist_by_the_same_name_are_exposed_again_by_reference_alone(
    shell: Any, with_frames: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(PRICE)
    shell.run_cell("penguins, given, readable, hidden = [1, 2], {'a': 1}, [3], [4]")
    actual = run_cell(shell, f"%%chat --rerun {with_frames} --approve auto", capsys)

    assert "`--read NAME`" in actual
    assert {entry.name: entry.is_readable for entry in chat_of(shell).exposed_variables()} == {
        "given": False,
        "penguins": False,
        "readable": False,
    }
    assert {call.status for call in chat_of(shell).tree.active_path[-1].turn.calls} == {"ok"}


def test_variables_that_do_not_exist_are_named_with_the_flag_and_results_are_counted(
    shell: Any, with_frames: str, capsys: pytest.CaptureFixture[str]
) -> None:
    actual = run_command(shell, f"branch {with_frames} --switch", capsys)

    assert "tool price" in actual
    assert "penguins, readable" in actual
    assert "_result" not in actual
    assert "1 result " in actual
    refused = run_cell(shell, f"%%chat --rerun {with_frames} -t !price", capsys)
    assert "penguins, readable" in refused
    assert len(chat_of(shell).tree.roots[0].versions) == 1
    shell.run_cell("penguins, given, readable = [1, 2], {'a': 1}, [3]")
    run_cell(shell, f"%%chat --rerun {with_frames} -t !price", capsys)
    assert {entry.name for entry in chat_of(shell).exposed_variables()} == {"given", "penguins", "readable"}


def test_a_variable_that_is_hidden_in_this_kernel_stays_hidden(
    shell: Any, with_frames: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(PRICE)
    shell.run_cell("penguins, given, readable = [1, 2], {'a': 1}, [3]")
    run_cell(shell, f"%%chat --rerun {with_frames} --approve auto -v !given", capsys)
    run_cell(shell, f"%%chat --rerun {with_frames} --approve auto", capsys)

    assert {entry.name for entry in chat_of(shell).exposed_variables()} == {"penguins", "readable"}


def test_a_function_in_other_letters_comes_back_under_its_own_name(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    function = PRICE.replace("price", "größe")
    shell.run_cell(function)
    shell.run_cell("%%chat -q -m practice:fast -t größe -o answer --approve auto\nUse &`größe` for AAPL.")
    turn = str(shell.user_ns.pop("answer").turn_id)
    shell.user_ns.pop("größe")
    shell.run_line_magic("reload_ext", "nbtool")
    shell.run_line_magic("config", "NbTool.model = 'practice:fast'")
    cell = f"%%chat --rerun {turn}"

    missing = run_cell(shell, cell, capsys)
    shell.run_cell(function)
    there = run_cell(shell, cell, capsys)

    assert "that defines größe" in missing
    assert "added again: größe" in there
