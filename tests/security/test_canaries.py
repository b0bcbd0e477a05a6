"""Thirty secrets in all places where a person keeps them, and every place where words leave: none is found in any."""

from __future__ import annotations

import base64
import json
import logging
import traceback
import urllib.parse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Chat, Released, Withheld, tool
from nbtool.blocks.render.static_html import to_html, to_text
from nbtool.chat.export import document as document_module
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.journal import journal
from nbtool.chat.turn import Turn
from nbtool.events import CallAsked
from nbtool.plugins.event_log import EventLog
from nbtool.secret import Secret
from nbtool.testing import call
from nbtool.tools.approval import Decision, Question
from nbtool.toolsets import files, inspection
from nbtool.view.turn_widget import TurnWidget
from tests.chaos import event, finish, head, serve_each, text, whole
from tests.security.model import ChaosServer, model

Tell = Callable[[str, object], None]

KEYS = {name: f"sk-proj-canary{number:02}AbCdEfGhIjKlMnOp" for number, name in enumerate((
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "the argument",
))}  # fmt: skip
"""Keys of providers: in the environment, and given by hand."""

AROUND = {name: f"canary-{number:02}/+=&\"'\\<secret>" for number, name in enumerate((
    "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HF_TOKEN", "DATABASE_URL", "JUPYTER_TOKEN",
    "api_key", "password", "token", "connection", "session", "Secret",
    "cell of a frame", "column", "item of a list", "value of a dict", "text by reference", "attribute", "repr",
    ".env", "id_rsa", "outside", "credentials.json",
    "withheld", "edited out", "withheld error",
), 20)}  # fmt: skip
"""All others: the environment, variables, values by reference, files, and what a person took out."""


ECHOED = 4
"""Of the failing servers below, how many repeat the key."""


class SecretHolder:
    """Says what it holds wherever it can."""

    def __init__(self) -> None:
        self.inside = AROUND["attribute"]

    def __repr__(self) -> str:
        return f"Held({AROUND['repr']})"


@pytest.mark.promise("no-secret-told")
def test_thirty_canaries_are_in_none_of_twenty_five_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str], record_property: Tell,
) -> None:  # fmt: skip
    for name in (*KEYS, *AROUND):
        monkeypatch.setenv(name.replace(" ", "_").upper(), {**KEYS, **AROUND}[name])
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        sinks = dict(session(tmp_path))
    sinks |= dict(logs(caplog.records))
    out, err = capfd.readouterr()
    sinks |= {"stdout": out, "stderr": err, "warnings": "\n".join(str(one.message) for one in warned)}
    canaries = {**KEYS, **AROUND}
    record_property("injected", len(canaries) * len(sinks))

    found = [
        (name, sink) for name, secret in canaries.items() for sink, actual in sinks.items() if is_in(secret, actual)
    ]
    assert len(canaries) >= 30
    assert len(sinks) >= 25
    assert all(sinks[name] for name in ("requests", "journal", "exceptions", "log messages", "export md"))
    assert found == []


def is_in(secret: str, actual: str) -> bool:
    """Look for a secret as it is, and as it looks in JSON, in an address, in HTML and packed."""
    packed = base64.b64encode(secret.encode()).decode().rstrip("=")[:-2]
    quoted = json.dumps(secret)[1:-1]
    forms = {secret, quoted, json.dumps(quoted)[1:-1], repr(secret)[1:-1], urllib.parse.quote(secret), packed}
    forms |= {secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"), secret.partition("/")[0]}
    return any(form and form in actual for form in forms)


def session(folder: Path) -> Iterator[tuple[str, str]]:
    """Speak, read, fail and export, and give every place where words went."""
    work = folder / "work"
    work.mkdir()
    for name in (".env", "id_rsa", "credentials.json"):
        (work / name).write_text(AROUND[name])
    (folder / "outside").write_text(AROUND["outside"])
    with model(list(every_call()), "Seen.", "Again.") as server:
        chat = chat_at(server, folder, work)
        turn = chat.send("Tell me everything of $VAR_REF{{frame}} and $VAR_REF{{items}}.")
        chat.send("And now?")
        yield "requests", "\n".join(request.body.decode() for request in server.requests)
        yield "headers", "\n".join(str(other(request.headers)) for request in server.requests)
        yield "addresses", "\n".join(request.path for request in server.requests)
    assert turn.status == "completed", turn.error
    yield from output_texts(chat, turn, folder)
    yield from failures(folder)


def other(headers: dict[str, str]) -> dict[str, str]:
    """Leave out the one header that holds the one key that belongs to this server."""
    own = headers.get("authorization")
    assert own == f"Bearer {KEYS['the argument']}"
    return {name: value for name, value in headers.items() if name != "authorization"}


def chat_at(server: ChaosServer, folder: Path, work: Path) -> Chat:
    """Make a chat with all tools, over a notebook with secrets in every variable."""
    names: dict[str, Any] = {name: AROUND[name] for name in ("api_key", "password", "token", "connection", "session")}
    names |= {"held": SecretHolder(), "sealed": Secret(AROUND["Secret"])}

    def record(n: int) -> str:
        """Look up a record."""
        return f"record {n}: {AROUND['withheld']}"

    def report(n: int) -> str:
        """Write a report."""
        return f"report {n}: {AROUND['edited out']}"

    def fails(n: int) -> str:
        """Fail, and say more than it should."""
        raise ValueError(f"{n}: {AROUND['withheld error']}")

    gated = [tool(one, run="auto", result="always") for one in (record, report, fails)]
    chat = Chat(
        "openai:m", base_url=server.url, api_key=KEYS["the argument"], notebook=names,
        tools=[*gated, files(work), inspection], plugins=[EventLog(folder / "events.jsonl")], approver=decide,
    )  # fmt: skip
    frame = pd.DataFrame({"who": [AROUND["cell of a frame"]], "n": [AROUND["column"]]})
    chat.expose(frame=frame, items=[AROUND["item of a list"]], table={"k": AROUND["value of a dict"]})
    chat.expose(words=AROUND["text by reference"], held=SecretHolder())
    return chat


def decide(question: Question) -> Decision:
    """Release one result with a piece taken out, and withhold every other."""
    if question.gate == "result" and question.tool == "report":
        return Released("report: [taken out]")
    return question.denial("private") if question.gate == "run" else Withheld("private")


def every_call() -> Iterator[Any]:
    """Make every call with which a model could try to read a secret."""
    names = ("frame", "items", "table", "words", "held", "sealed", "api_key", "password", "os")
    for name in names:
        yield from (call(look, name=name) for look in ("ReadVar", "describe", "columns", "head", "sample"))
    yield from (call("read_file", path=path) for path in (".env", "id_rsa", "credentials.json", "../outside"))
    yield from (call(name, n=1) for name in ("record", "report", "fails"))
    yield from (call("record", n="$VAR_REF{{words}}"), call("ListVars"), call("list_files"))


def output_texts(chat: Chat, turn: Turn, folder: Path) -> Iterator[tuple[str, str]]:
    """Give what stands in files, exports, representations and the page."""
    book = journal()
    yield (
        "journal",
        "".join(path.read_bytes().decode("latin-1") for path in book.path.parent.rglob("*") if path.is_file()),
    )
    yield "events of the journal", json.dumps(book.events(turn.turn_id))
    yield "event log", "".join(path.read_text() for path in folder.glob("events.jsonl*"))
    yield "export md", as_markdown([one.turn for one in chat.tree.active_path])
    yield "export json", document_module.dump_conversation(chat.tree)
    document = turn.transcript().document()
    yield "saved page", to_html(document)
    yield "saved text", to_text(document)
    yield "document", json.dumps(document, default=repr)
    widget = TurnWidget("t", decide=lambda *_: None, stop=lambda: None, post=lambda run: run(), document=document)
    yield (
        "widget state",
        repr({name: value for name, value in widget.get_state().items() if name not in ("_esm", "_css")}),
    )
    widget.close()
    yield "repr of the chat", f"{chat!r} {chat.__dict__!r}"
    yield "repr of the turn", f"{turn!r} {turn.rounds!r}"
    yield "repr of the calls", f"{turn.calls!r} {turn.content}"
    yield "repr of the log", repr([one for one in turn.log if not isinstance(one, CallAsked)])  # the person is shown it
    yield "repr of the variables", f"{chat.variables!r} {chat.variables.list_entries()!r}"
    yield "repr of the tools", f"{chat.tools!r} {list(chat.tools.tools().values())!r}"


def failures(folder: Path) -> Iterator[tuple[str, str]]:
    """Let servers fail with the key in their words, and give all that an error says."""
    key = KEYS["the argument"]
    answers = (
        [whole(401, {"error": {"message": f"Incorrect API key provided: {key}"}})],
        [whole(400, f"<html>{key}".encode(), "text/html")],
        [whole(200, f"the key was {key}".encode(), "text/plain")],
        [head(), text("Hi"), event({"error": {"message": f"Bearer {key} refused"}})],
        [whole(307, b"", location="http://127.0.0.1:9/")],
        [whole(402, {"error": {"message": "no money"}})],
        [head(), text("Hi")],
        [head(), text("Hi"), finish()],
    )
    errors: list[BaseException] = []
    with serve_each(*answers) as server:
        chat = Chat("openai:m", base_url=server.url, api_key=key, tools=[files(folder / "work")])
        for _ in answers:
            turn = chat.send("Hi")
            errors += [turn.error] if turn.error else []
    assert len(errors) == len(answers) - 1
    yield "exceptions", "\n".join(f"{error} {error!r} {error.args!r}" for error in errors)
    yield "notes and causes", "\n".join("".join(traceback.format_exception(error)) for error in errors)
    ours = errors[ECHOED:]  # what a server repeats stands in the variables that hold its words
    frames = (traceback.TracebackException.from_exception(error, capture_locals=True) for error in ours)
    yield "locals of tracebacks", "\n".join("".join(one.format()) for one in frames)


def logs(records: list[logging.LogRecord]) -> Iterator[tuple[str, str]]:
    """Give the messages, the arguments and the errors of every log."""
    yield "log messages", "\n".join(record.getMessage() for record in records)
    yield "log arguments", "\n".join(repr(record.args) for record in records)
    yield "log errors", "\n".join(repr(record.exc_info) for record in records if record.exc_info)
