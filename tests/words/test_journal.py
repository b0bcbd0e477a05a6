"""What is read of history files and recordings: locked, slow, damaged, deleted, of another version, changed."""

from __future__ import annotations

import re
import shutil
import sqlite3
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from nbtool import Approved, Chat, Denied, Released, tool
from nbtool.chat.chat import TurnSettings
from nbtool.chat.journal import Journal, journal, queries, search
from nbtool.chat.journal.database import Store
from nbtool.chat.journal.schema import open_to_read
from nbtool.chat.journal.sidecar import MARK
from nbtool.chat.recording.file import MAX_TURN_BYTES
from nbtool.chat.recording.kept_answers import KeptAnswers
from nbtool.errors import NbtoolError
from nbtool.messages import Media
from nbtool.testing import ScriptedWire, call
from tests.chaos import serve, serve_each
from tests.chat.journal.holding import held_by_another_process
from tests.chat.journal.test_replacement import delete, killed, write
from tests.chat.recording.making import ONLY, PROMPT, REPLIES, Shop, chat, frame
from tests.chat.recording.replaying import change_recording, notices
from tests.chat.recording.test_changes import other_price
from tests.chat.recording.test_gates import loader_for, turn_with
from tests.chat.test_companies import COMMANDS, GOOD, KEY, script
from tests.company import Authority, proxy

Texts = dict[str, str]


@contextmanager
def reading(texts: Texts, title: str) -> Iterator[None]:
    """Add the warnings of a block, one a line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    texts[title] = "\n".join(str(one.message) for one in caught if one.category is UserWarning)


def error_of(function: Callable[..., Any], /, *arguments: Any) -> str:
    with pytest.raises(NbtoolError) as raised:
        function(*arguments)
    return str(raised.value)


def new_book(folder: Path, name: str) -> Journal:
    """Return a journal in a folder of its own, with one event."""
    (folder / name).mkdir()
    book = Journal(folder / name / "journal.sqlite")
    write(book, "one")
    return book


def path_of(book: Journal) -> Path:
    assert book.path
    return book.path


def test_a_file_that_another_process_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    texts: Texts = {}
    path = path_of(new_book(tmp_path, "locked"))
    book = Journal(path)
    with held_by_another_process(path), reading(texts, "it is locked"):
        write(book, "two", "three")
    book.catch_up(20)
    path = path_of(new_book(tmp_path, "longer"))
    book = Journal(path, max_behind=1_100_000)
    with held_by_another_process(path), reading(texts, "it is locked for long"):
        for _ in range(3):
            write(book, "x" * 600_000)
    path = tmp_path / "long" / f"{'j' * 230}.sqlite"  # the name of its sidecar would be too long
    path.parent.mkdir()
    write(Journal(path), "one")
    book = Journal(path)
    with held_by_another_process(path), reading(texts, "its process ends, and no sidecar can be written"):
        write(book, "two")
        book.finish(seconds=0.1)
    texts["what is printed then"] = capsys.readouterr().err
    book.catch_up(20)

    assert {title: text.replace("j" * 230, "j…") for title, text in texts.items()} == snapshot


def test_a_disk_that_is_slow(tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    texts: Texts = {}
    book = new_book(tmp_path, "slow")
    book.close()
    answers = threading.Event()
    book, store = Journal(path_of(book), wait_seconds=0.05), Store(path_of(book))
    book._store = store
    hanging = store.change(lambda _: answers.wait(240))
    with reading(texts, "it responds slowly"):
        write(book, "two")
    book.finish(seconds=0.1)
    texts["the process ends"] = capsys.readouterr().err
    answers.set()
    hanging.result(240)

    assert texts == snapshot


def test_a_file_that_is_no_journal(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    texts: Texts = {}

    def begin(title: str, content: bytes | None = None) -> None:
        path = tmp_path / title.replace(" ", "_") / "journal.sqlite"
        path.parent.mkdir(exist_ok=True)
        if content is not None:
            path.write_bytes(content)
        with reading(texts, f"{title}: written to"):
            write(Journal(path), "new")
        if path.exists():
            texts[f"{title}: read"] = error_of(list_chats, Journal(path))

    begin("something else", b"this is no database" * 100)
    book = new_book(tmp_path, "damaged")
    write(book, *(f"{number} " + "x" * 900 for number in range(50)))
    book.close()
    data = bytearray(path_of(book).read_bytes())
    data[-4096 * 3 :] = b"\xff" * 4096 * 3
    path_of(book).write_bytes(data)
    with reading(texts, "damaged: written to"):
        write(Journal(path_of(book)), "new")
    texts["damaged: written to"] = re.sub(r"(?<=damaged \().*(?=\)\. Move)", "…", texts["damaged: written to"])
    (tmp_path / "newer").mkdir()
    with closing(sqlite3.connect(tmp_path / "newer" / "journal.sqlite")) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    begin("newer")
    with reading(texts, "old turns cannot be deleted"):
        book = Journal(tmp_path / "something_else" / "journal.sqlite")
        book.expire(30)
        book.close()

    assert texts == snapshot


def test_a_folder_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    texts: Texts = {}
    with reading(texts, "a folder that is not there"):
        write(Journal(tmp_path / "none" / "journal.sqlite"), "new")
    (tmp_path / "file").touch()
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "file" / "home"))
    journal.cache_clear()
    with reading(texts, "a home that cannot be made"):
        journal()
    journal.cache_clear()

    assert texts == snapshot


def list_chats(book: Journal) -> object:
    return book.read(lambda connection: queries.list_chats(connection, 100))


def make_earlier(path: Path) -> None:
    """Make a journal of an earlier build."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as kernel:
        kernel.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, at, chat_id, turn_id, kind, body)")
        kernel.execute("INSERT INTO events VALUES (1, 1.0, 'c', 't', 'notice', '{}')")
        kernel.execute("PRAGMA user_version = 1")


def test_a_file_of_an_earlier_build(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    texts: Texts = {}
    path = tmp_path / "earlier" / "journal.sqlite"
    make_earlier(path)
    texts["read"] = error_of(open_to_read, path)
    with reading(texts, "written to"):
        write(Journal(path), "new")

    assert texts == snapshot


def test_a_file_that_is_deleted_or_replaced(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    texts: Texts = {}
    for title, ends in {"the file": ("",), "all its files": ("", "-wal", "-shm"), "its log": ("-wal",)}.items():
        book = new_book(tmp_path, title.replace(" ", "_"))
        delete(path_of(book), *ends)
        with reading(texts, f"deleted: {title}"):
            write(book, "two")
    book = new_book(tmp_path, "changed")
    delete(path_of(book), "-wal")
    texts["its log was deleted, and the journal is to be changed"] = error_of(
        book.execute, lambda connection: connection.execute("SELECT 1")
    )
    book, other = new_book(tmp_path, "replaced"), new_book(tmp_path, "other")
    other.close()
    delete(path_of(book), "-wal", "-shm")
    path_of(other).replace(path_of(book))
    with reading(texts, "another one is in its place"):
        write(book, "two")
    book, other = new_book(tmp_path, "beside"), new_book(tmp_path, "another")
    other.close()
    path_of(other).replace(path_of(book))
    with reading(texts, "another one is in its place, beside its log"):
        write(book, "two")
    path, other = tmp_path / "killed" / "journal.sqlite", new_book(tmp_path, "third")
    other.close()
    path.parent.mkdir()
    killed(path, *(f"later {number} {'x' * 5_000}" for number in range(20)))
    path_of(other).replace(path)
    with reading(texts, "a later process finds another one beside the log"):
        write(Journal(path), "new")
    book = new_book(tmp_path, "gone")
    shutil.rmtree(path_of(book).parent)
    with reading(texts, "its folder was deleted"):
        write(book, "two")

    assert texts == snapshot


def test_a_sidecar_that_is_damaged(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    texts: Texts = {}
    path = tmp_path / "journal.sqlite"
    path.with_name(f"{path.name}{MARK}0a").write_bytes(b"no database" * 100)
    with reading(texts, "it is left as it is"):
        write(Journal(path), "new")

    assert texts == snapshot


def test_code_in_a_file(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    texts: Texts = {}
    book = new_book(tmp_path, "forged")
    book.close()
    with closing(sqlite3.connect(path_of(book))) as connection, connection:
        connection.execute("CREATE TRIGGER evil AFTER INSERT ON events BEGIN DELETE FROM events; END")
    book = Journal(path_of(book))
    texts["read"] = error_of(list_chats, book)
    with reading(texts, "written to"):
        write(book, "new")

    assert texts == snapshot


def test_a_search(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    book = new_book(tmp_path, "searched")
    book.execute(search.update_index)

    def find(text: str) -> object:
        return book.read(lambda connection: search.search(connection, text))

    texts = {"for no word": error_of(find, '"')}
    book.execute(lambda connection: next(search.clear_index(connection)))
    texts["while the index is made again"] = error_of(find, "fox")

    assert texts == snapshot


def test_a_prompt_that_is_not_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "notebook.nbtool.json"
    chat(path, REPLIES).send(PROMPT)
    texts = {
        "an object has other values": change_recording(path, lambda one: one.expose(df=frame(3))),
        "a tool changed": change_recording(path, tools=other_price()),
        "a tool is gone": change_recording(path, tools=[Shop().tools()[0]]),
        "the system text changed": change_recording(path, system="Be brief."),
        "the options changed": change_recording(path, options={"temperature": 0}),
        "another model": change_recording(path, lambda one: setattr(one, "model", Chat("openai:gpt-5-mini").model)),
        "another object": change_recording(path, lambda one: one.expose(other=1)),
        "another prompt": change_recording(path, prompt="Something else."),
        "a prompt that differs": change_recording(path, prompt="What is dearest in $VAR_REF{{df}}?"),
        "another type": str(chat(path).send(PROMPT, as_=int, settings=ONLY).error),
        "no recording": str(Chat(wire=ScriptedWire([])).send("Hello", settings=ONLY).error),
    }
    fresh = chat(path, ["Another answer."])
    fresh.expose(df=frame(3))
    texts["it is sent to the model"] = "\n".join(notices(fresh.send(PROMPT)))
    unnamed = Chat(wire=ScriptedWire([]))
    unnamed.replay(tmp_path / "none.nbtool.json")
    texts["a recording that is not there"] = str(unnamed.send("Hello", settings=ONLY).error)
    monkeypatch.setenv("NBTOOL_RECORDING", str(path))
    monkeypatch.setenv("NBTOOL_REPLAY", "only")
    texts["named by the environment"] = str(Chat(wire=ScriptedWire([])).send("Good day").error)
    monkeypatch.setenv("NBTOOL_REPLAY", "perhaps")
    texts["a mode that there is not"] = error_of(Chat(wire=ScriptedWire([])).send, "Good day")

    assert texts == snapshot


def test_a_table_that_a_tool_reads_and_an_attachment(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    def kernel(rows: int) -> Any:
        around: dict[str, Any] = {"__name__": "__main__", "table": pd.DataFrame({"a": range(rows)})}
        exec("def size() -> int:\n    'How many.'\n    return len(table)", around)
        return tool(run="auto")(around["size"])

    table, picture = tmp_path / "table.nbtool.json", tmp_path / "picture.nbtool.json"
    chat(table, [call("size"), "Three."], tools=[kernel(3)]).send("How many?")
    chat(picture, ["A dot."]).send("Look", attach=Media("image/png", b"\x89PNG one"))
    other = chat(picture, ["Two."]).send("Look", attach=Media("image/png", b"\x89PNG two"))
    texts = {
        "the table has other values": str(chat(table, tools=[kernel(4)]).send("How many?", settings=ONLY).error),
        "the attachment is another one": "\n".join(notices(other)),
    }

    assert texts == snapshot


def test_what_is_not_recorded(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "notebook.nbtool.json"
    texts = {"options": "\n".join(notices(chat(path, ["Hi."], options={"stop": object()}).send("Hello")))}
    holding = chat(path, ["Hm."])
    holding.expose(model=object())
    texts["an object"] = "\n".join(notices(holding.send("Score $VAR_REF{{model}}")))
    path.write_text("{}")
    texts["a file that is no recording"] = error_of(chat, path)

    assert texts == snapshot


def test_a_turn_that_is_replayed(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "notebook.nbtool.json"
    chat(path, REPLIES).send(PROMPT)
    texts = {"whole": "\n".join(notices(chat(path).send(PROMPT)))}
    fresh = chat(path, [call("price", ticker="A"), "Ten.", "Asked."])
    fresh.send("Something else first")
    fresh.branch()
    texts["a name holds another result"] = "\n".join(notices(fresh.send(PROMPT)))
    loading = tmp_path / "loading.nbtool.json"
    turn_with(loading, loader_for(), [Approved()])
    turn, _ = turn_with(loading, loader_for(), [Denied("not now")], ())
    texts["a call is denied that would run again"] = "\n".join(notices(turn))
    released = tmp_path / "released.nbtool.json"
    turn_with(released, loader_for(run="auto", result="always"), [Released()])
    released.write_text(released.read_text().replace("2 rows by", "7 rows by"))
    turn, _ = turn_with(released, loader_for(run="auto", result="always"), [Released()], ())
    texts["a result differs"] = "\n".join(notices(turn))

    assert texts == snapshot


def test_keys_certificates_and_proxies_of_companies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)

    def ask(address: str = "http://127.0.0.1:1", **how: Any) -> str:
        return str(Chat("m", base_url=address, **how).send("Hi").error)

    def login() -> str:
        raise RuntimeError(KEY)

    texts = {
        f"a key command that {how}": ask(key_command=script(tmp_path, body.replace("{key}", KEY)))
        for how, (body, _) in COMMANDS.items()
    }
    texts["a key command that is not there"] = ask(key_command="/nowhere/login --secret")
    texts["a key function that returns None"] = ask(api_key=lambda: None)
    texts["a key function that fails"] = ask(api_key=login)
    authority = Authority(tmp_path)
    with serve_each([*GOOD], tls=authority.server()) as server:
        texts["an unknown authority"] = ask(server.url)
    with serve_each([*GOOD], tls=authority.server(asks_for_certificate=True)) as server:
        missing = ask(server.url, verify=authority.file)
    texts["a client certificate is missing"] = re.sub(r"(?<=broke \().*(?=\)\. Send)", "…", missing)
    chain, secret = (str(path) for path in authority.certificate("client", password="right"))
    texts["its password is missing"] = ask("https://127.0.0.1:1", client_certificate=[chain, secret])
    with serve_each([*GOOD], tls=authority.server()) as server, proxy(server.port, "ada:right") as way:
        own = f"http://ada:wrong@127.0.0.1:{way.port}"
        texts["a proxy refuses"] = ask(server.url, verify=authority.file, proxy=own)
    with serve(*GOOD) as server:
        texts["a proxy is not there"] = ask(server.url, proxy="http://ada:wrong@127.0.0.1:1")

    program = Path(sys.executable).name
    assert {title: text.replace(f"'{program}'", "'python'") for title, text in texts.items()} == snapshot


def test_kept_answers(
    own_journal: None,  # noqa: ARG001 - for what it does
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    keep = TurnSettings(keep_answers=True, cell_id="a")

    def kernel(*replies: str, last: int = 2, max_bytes: int = MAX_TURN_BYTES) -> Chat:
        made = Chat(wire=ScriptedWire(replies))
        made.expose(df=frame(last))
        made.recorder._answers = KeptAnswers(str(tmp_path), max_bytes=max_bytes, max_answers=1)
        return made

    texts: Texts = {}
    kernel("One.").send("Hello", settings=keep)
    texts["An unchanged cell that runs first in a kernel"] = "\n".join(notices(kernel().send("Hello", settings=keep)))
    changed = kernel("Two.", last=3).send("Hello", settings=keep)
    texts["One whose frame has changed"] = "\n".join(notices(changed))
    with reading(texts, "One more than the maximum, which is one here"):
        kernel("Three.").send("Goodbye", settings=keep)
    with reading(texts, "One that is too large"):
        kernel("Four.", max_bytes=100).send("How large?", settings=keep)
    only = kernel().send("Never asked", settings=replace(keep, replay="only"))
    texts["Another one, where nothing may be sent"] = str(only.error)
    with sqlite3.connect(journal().path or "") as connection:
        connection.execute("UPDATE kept_answers SET body = '{}'")
    connection.close()
    texts["One that somebody changed in the journal"] = "\n".join(notices(kernel("5.").send("Goodbye", settings=keep)))
    assert texts == snapshot
