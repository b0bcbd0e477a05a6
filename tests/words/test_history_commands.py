"""What the commands of past chats print: list, search, show, open, export, erase."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool.chat.journal import journal
from nbtool.chat.journal.chat_use import leave_chats
from nbtool.ids import short_id
from tests.hosts import two_hosts
from tests.policy.in_force import policy_in_force
from tests.words.conftest import Page

PRICE = "def price(ticker: str) -> float:\n    'Price of a ticker.'\n    return 1.5"
LISTING = "def listing(ticker: str) -> str:\n    'Describe a ticker.'\n    return f'{ticker} at length. ' * 2000"
SPEAK = """
from IPython.display import Audio
from tests.samples import WAV
def speak() -> Audio:
    "Speak."
    return Audio(data=WAV)
"""
TABLE = "import pandas as pd\ndef warm() -> object:\n    'Warm.'\n    return pd.DataFrame({'a': [1, 2]})"


ROOT = Path(__file__).parents[2]
OTHER = "from nbtool.chat.journal.chat_use import use_chat; use_chat({chat!r}); print('open', flush=True); input()"


def chat_id(page: Page, name: str = "main") -> str:
    return short_id(page.shell.magics_manager.registry["ChatMagics"].kernel_chats.chat(name).chat_id)


def restart(page: Page) -> None:
    """End the kernel's chats, as a restart does."""
    page.shell.run_line_magic("reload_ext", "nbtool")
    page.shell.run_line_magic("config", "NbTool.model = 'practice:fast'")


def ask(page: Page, prompt: str, flags: str = "") -> str:
    """Ask in a cell whose output is not shown, and give the turn's id."""
    page.run_unseen(f"%%chat -q -o answer --approve auto {flags}\n{prompt}")
    return str(page.shell.user_ns.pop("answer").turn_id)


def ask_yesterday(page: Page, source: str, tool: str) -> str:
    """Let a tool be called, end the kernel, and give the turn's id."""
    page.shell.run_cell(source)
    turn = ask(page, f"Use &`{tool}` for AAPL.", f"-t {tool}")
    page.shell.user_ns.pop(tool)
    restart(page)
    return turn


def test_empty(page: Page, snapshot: SnapshotAssertion) -> None:
    for line in ("history", "history list", "history search marmot", "show", "explore", "undo", "export md"):
        page.run(f"%chat {line}")

    assert page.texts == snapshot


def test_list_search_and_frame(page: Page, snapshot: SnapshotAssertion) -> None:
    ask(page, "A marmot, please")
    ask(page, "A second one")
    for line in (
        "history",
        "history list",
        "history search marmot",
        "history search badger",
        "history frame past",
        "show 1",
        "explore",
    ):
        page.run(f"%chat {line}")

    assert page.texts == snapshot


def test_other_notebooks(
    page: Page, snapshot: SnapshotAssertion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("other", "near"):
        monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / f"{name}.ipynb"))
        journal.cache_clear()
        ask(page, f"A marmot of {name}.ipynb", f"-c {name}")
    for line in (
        "history list",
        "history list --all",
        "history search marmot",
        "history frame own",
        "history frame every --all",
    ):
        page.run(f"%chat {line}")

    assert page.texts == snapshot


def test_erase_and_vacuum(page: Page, snapshot: SnapshotAssertion) -> None:
    turn = ask(page, "A marmot, please")
    ask(page, "A badger, please")
    page.run(f"%chat history erase {turn}", "%chat history erase TURN")
    page.run(f"%chat history erase {chat_id(page)}", "%chat history erase CHAT")
    page.run("%chat history")
    ask(page, "A wolverine, please")
    page.run("%chat history vacuum 30")
    page.run("%chat history vacuum 0")
    page.run("%chat history vacuum --rewrite 30")
    ask(page, "A stoat, please")
    page.run("%chat history erase all")

    assert page.texts == snapshot


def test_vacuum_of_an_earlier_file(page: Page, snapshot: SnapshotAssertion) -> None:
    path = journal().path
    assert path is not None
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("CREATE TABLE other (body TEXT)")
    ask(page, "A marmot, please")
    page.run("%chat history vacuum 0")

    assert page.texts == snapshot


def test_open(page: Page, snapshot: SnapshotAssertion, tmp_path: Path) -> None:
    page.shell.run_cell("df = 1")
    ask(page, "What is in $`df`?")
    first = chat_id(page)
    restart(page)
    ask(page, "Another conversation")
    page.run(f"%chat open {first}", "%chat open CHAT")
    page.run(f"%chat -c side open {first}", "%chat -c side open CHAT")
    page.run("%chat export json chat.json")
    restart(page)
    page.run("%chat open chat.json")
    restart(page)
    with policy_in_force(tmp_path, "[values]\nmay_leave = false"):
        page.run(f"%chat open {first}", "%chat open CHAT, where the policy lets no value leave")

    assert page.texts == snapshot


def test_open_at_a_turn_of_another_branch(page: Page, snapshot: SnapshotAssertion) -> None:
    first = ask(page, "One")
    page.run("%chat branch")
    ask(page, "Two")
    restart(page)
    page.run(f"%chat open {first}", "%chat open TURN")
    page.run(f"%chat branch {first} --switch", "%chat branch TURN --switch")
    page.run("%chat open turn_0000ffff")

    assert page.texts == snapshot


def test_open_with_another_host(page: Page, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    with two_hosts(monkeypatch) as hosts:
        hosts.set_keys("alpha")
        page.run_unseen("%%chat -q -m alpha:m\nThe secret is 7.")
        chat = chat_id(page)
        hosts.set_keys("beta")
        monkeypatch.setenv("NBTOOL_MODEL", "beta:m")
        page.shell.run_line_magic("reload_ext", "nbtool")
        page.shell.run_line_magic("config", "NbTool.model = ''")
        page.run(f"%chat open {chat}", "%chat open CHAT, whose model has no key here")
        page.run("%%chat -q\nAnd now?")
        status = page.run_unseen("%chat status").splitlines()
        page.texts["%chat status, about the history"] = " ".join(" ".join(status[2:4]).split())
        hosts.set_keys("alpha", "beta")
        page.shell.run_line_magic("reload_ext", "nbtool")
        page.run(f"%chat open {chat}", "%chat open CHAT, whose model can be used")
        page.run(f"%chat open -m beta:m {chat}", "%chat open -m beta:m CHAT")

    assert page.texts == snapshot


def test_the_next_day(page: Page, snapshot: SnapshotAssertion) -> None:
    turn = ask_yesterday(page, PRICE, "price")
    page.run(f"%chat export py --cell {turn}", "%chat export py --cell TURN, without its tool")
    page.run(f"%%chat --rerun {turn}", "%%chat --rerun TURN, without its tool")
    page.shell.run_cell(PRICE)
    page.run(f"%chat export py --cell {turn}", "%chat export py --cell TURN")
    page.run(f"%chat bind price_1_result --turn {turn}", "%chat bind price_1_result --turn TURN")
    page.run(f"%chat bind price_1_result --turn {turn}", "%chat bind price_1_result --turn TURN, a second time")
    page.run_unseen("price_1_result = 'mine'")
    page.run(
        f"%chat bind price_1_result --turn {turn}", "%chat bind price_1_result --turn TURN, where the name is used"
    )
    page.run_unseen(f"%chat open {turn}")
    page.shell.run_cell(f"import nbtool\nnbtool.chats()['main'].delete({turn!r})")
    page.run(f"%%chat --rerun {turn}", "%%chat --rerun TURN, which was deleted")
    page.run("%%chat --rerun turn_0000ffff")

    assert page.texts == snapshot


def test_a_turn_of_another_chat(page: Page, snapshot: SnapshotAssertion) -> None:
    turn = ask_yesterday(page, PRICE, "price")
    page.shell.run_cell(PRICE)
    ask(page, "Good morning")
    page.run(f"%%chat -q --rerun {turn}", "%%chat -q --rerun TURN")
    page.run(f"%%chat -q --rerun {turn}", "%%chat -q --rerun TURN, a second time")
    page.run(f"%chat show {turn}", "%chat show TURN")
    page.run("%chat show 1 2")

    assert page.texts == snapshot


def test_results_of_which_a_text_is_left(page: Page, snapshot: SnapshotAssertion) -> None:
    pytest.importorskip("pandas")
    for source, tool in ((LISTING, "listing"), (TABLE, "warm")):
        turn = ask_yesterday(page, source, tool)
        page.run(f"%chat bind {tool}_1_result --turn {turn}", f"%chat bind {tool}_1_result --turn TURN")
        page.shell.run_cell(source)
        page.run(
            f"%chat bind {tool}_1_result --turn {turn}", f"%chat bind {tool}_1_result --turn TURN, with its function"
        )

    assert page.texts == snapshot


def test_exports_with_sounds(page: Page, snapshot: SnapshotAssertion) -> None:
    page.shell.run_cell(SPEAK)
    turn = ask(page, "Use &`speak`.", "-t speak")
    page.run("%chat export md here.md")
    restart(page)
    page.run_unseen(f"%chat branch {turn} --switch")
    for line in ("md later.md", "json later.json", "ipynb later.ipynb"):
        page.run(f"%chat export {line}")
    lines = Path("later.md").read_text().splitlines()
    page.texts["later.md, about the sound"] = next(line for line in lines if "1 image" in line)

    assert page.texts == snapshot


MAP = """
from nbtool import Chat
from nbtool.testing import ScriptedWire, call

def double(n: int) -> int:
    "Twice a number."
    return 2 * n

wire = ScriptedWire([call("double", n=1), "two", "four", "six"])
chat = Chat(wire=wire, tools=[double], approver=lambda _: __import__("nbtool").Approved())
turn = chat.map(["One", "Two"], concurrency=1, progress=False).answers[0].turn.turn_id
"""


def test_turns_of_a_map(page: Page, snapshot: SnapshotAssertion) -> None:
    page.shell.run_cell(MAP)
    turn = page.shell.user_ns["turn"]
    page.run("%chat history")
    page.run("%chat history list")
    page.run(f"%chat show {turn}", "%chat show TURN")
    page.run(f"%chat export py --cell {turn}", "%chat export py --cell TURN")
    map_id = page.run_unseen("%chat history list").split()[0]
    page.run(f"%chat open {map_id}", "%chat open MAP")
    page.run_unseen("later = chat.map(['Three'], progress=False).answers[0].turn.turn_id")
    page.run(
        f"%chat branch {page.shell.user_ns['later']} --switch", "%chat branch TURN --switch, which was added later"
    )

    assert page.texts == snapshot


def test_variables_of_an_earlier_kernel(page: Page, snapshot: SnapshotAssertion) -> None:
    page.run_unseen("penguins, given = [1, 2], {'a': 1}")
    page.shell.run_cell(PRICE)
    turn = ask(page, "Use &`price` for AAPL, see $`penguins`.", "-v given -t price nbtool:python")
    for name in ("penguins", "given", "price"):
        page.shell.user_ns.pop(name)
    restart(page)
    page.run(f"%chat branch {turn} --switch", "%chat branch TURN --switch, without its names")
    page.run(
        f"%%chat --rerun {turn} -t !price !run_python",
        "%%chat --rerun TURN -t !price !run_python, without its variables",
    )
    page.run_unseen("penguins, given = [1, 2], {'a': 1}")
    page.run(f"%%chat -q --rerun {turn} -t !price !run_python", "%%chat -q --rerun TURN -t !price !run_python")

    assert page.texts == snapshot


def test_a_chat_that_another_kernel_has_open(page: Page, snapshot: SnapshotAssertion) -> None:
    turn = ask_yesterday(page, LISTING, "listing")
    leave_chats()
    chat = page.run_unseen("%chat history list").split()[0]
    with subprocess.Popen([sys.executable, "-c", OTHER.format(chat=chat)], cwd=ROOT, stdin=-1, stdout=-1) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        page.run(f"%chat branch {turn} --switch", "%chat branch TURN --switch")
        page.run(f"%chat bind listing_1_result --turn {turn}", "%chat bind listing_1_result --turn TURN")
        other.kill()

    assert page.texts == snapshot


WRONG = (
    "history nonsense", "history erase", "history erase chat_nothing", "history vacuum soon", "history frame 1x",
    "history search ???", "open", "-c", "open chat_nothing", "open talks/old.json", "show 7", "switch 7", "explore x",
    "export", "export pdf", "bind nothing_1_result",
)  # fmt: skip


def test_wrong_arguments(page: Page, snapshot: SnapshotAssertion) -> None:
    for line in WRONG:
        page.run(f"%chat {line}")

    assert page.texts == snapshot
