"""What gives access to a server, and every place where text is kept or shown: none of it is in any.

One chat is used with all of it: headers, a query, the key of a program, a proxy with a password, and the certificate
of a client with a password. Its server repeats all of that in its errors, in every spelling. The settings, the
commands, the formats of exports and the files are taken from the code: a new one without its row fails, or is looked
at.
"""

from __future__ import annotations

import base64
import html
import json
import logging
import re
import sys
import traceback
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from nbtool.blocks.render.static_html import to_html, to_text
from nbtool.chat.journal.process_journal import journal
from nbtool.chat.turn import Turn
from nbtool.magics.commands.dispatch import COMMANDS
from nbtool.magics.commands.files.exports import SUFFIXES
from nbtool.magics.flags.config import SECRETS as SECRET_SETTINGS
from nbtool.plugins.event_log import EventLog
from nbtool.plugins.telemetry import Telemetry
from nbtool.settings import data_dir
from nbtool.wire.providers.connection import CONNECTION_SETTINGS
from tests.chaos import DONE, Received, Step, event, finish, head, serve_by, text, whole
from tests.company import Authority, Proxy, proxy
from tests.shells import end_shell, new_shell

ODD = "/+=&%41\"'\\<b>  two;"
CANARIES = {
    "headers": f"hdr-7f3a9c51{ODD}",
    "query": f"qry-2b8e6d04{ODD}",
    "key_command": f"cmd-c95d1e70{ODD.replace(' ', '')}",
    "proxy": 'prx-e41b7a92/@:"<b>%',
    "client_certificate": f"pem-06fd3b8a{ODD}",
}
"""A secret for each setting that has one."""

HARMLESS = {"auth", "key_seconds", "verify"}
"""Settings whose values are no secrets: a kind, a number, a path."""

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in JSON": lambda secret: json.dumps(secret)[1:-1],
    "of Python": lambda secret: repr(secret)[1:-1],
    "in an address": lambda secret: urllib.parse.quote(secret, safe=""),
    "in a form": urllib.parse.quote_plus,
    "in HTML": html.escape,
    "in base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "beside a name, in base64": lambda secret: base64.b64encode(f"ada:{secret}".encode()).decode(),
}
CUT_AT = (200, 500)
"""Where an error shortens the words of a server: a secret there is shown in part, if it is shortened too early."""

Answer = tuple[Step, ...]


def test_every_setting_has_a_row() -> None:
    assert CANARIES.keys() | HARMLESS == set(CONNECTION_SETTINGS)
    assert CANARIES.keys() < set(SECRET_SETTINGS)


def answers_that_repeat(words: str) -> Iterator[Answer]:
    """Give the errors of a server that repeats what it was sent, in every place of an answer that is read."""
    yield from answers_in_text(words)
    yield (whole(400, {"error": {"message": "no", "code": words, "type": words, "param": words}}),)
    yield (whole(403, f"<html><body><p>{words}</p></body></html>".encode(), "text/html"),)
    yield (whole(200, f"no JSON: {words}".encode(), "text/plain"),)
    yield (head(), event(f"no JSON: {words}"))
    yield (whole(404, {"error": {"message": f"model not found: {words}", "code": "model_not_found"}}),)
    yield (whole(307, b"", location=f"https://elsewhere.example/?{urllib.parse.quote(words)}"),)


def answers_in_text(words: str) -> Iterator[Answer]:
    yield (whole(400, {"error": {"message": words}}),)
    yield (whole(418, words.encode(), "text/plain"),)
    yield (head(), text("Hi"), event({"error": {"message": words}}), DONE)


def every_answer() -> Iterator[Answer]:
    for name, spell in SPELLINGS.items():
        named = {"proxy": CANARIES["proxy"]} if "beside a name" in name else CANARIES  # only a proxy has names
        yield from answers_that_repeat(" ".join(map(spell, named.values())))
    for secret in CANARIES.values():
        for before in (*CUT_AT, 40 * CUT_AT[0], 40 * CUT_AT[1]):
            space = " " if before > max(CUT_AT) else "x"
            yield from answers_in_text(f"{space * (before - 14)}{secret}")


@contextmanager
def company(folder: Path, answers: list[Answer]) -> Iterator[tuple[dict[str, Any], Proxy]]:
    """Give the settings of a chat whose server and proxy demand all secrets."""
    authority = Authority(folder)
    certificate, key = authority.certificate("person", CANARIES["client_certificate"])
    program = folder / "token.py"
    program.write_text(f"print({CANARIES['key_command']!r})")
    context = authority.server(asks_for_certificate=True)
    credentials = f"ada:{CANARIES['proxy']}"

    def respond(request: Received) -> Answer:
        if request.method == "GET":
            return (whole(200, {"data": [{"id": "one"}]}),)
        return answers[int(re.findall(r"answer (\d+)", request.body.decode())[-1])]

    with serve_by(respond, tls=context) as server, proxy(server.port, credentials) as way:
        password = urllib.parse.quote(CANARIES["proxy"], safe="")
        (data_dir() / "providers.toml").write_text(f'[lab]\nbase_url = "{server.url}"\nwire = "chat"\n')
        yield (
            {
                "headers": {"X-Team": CANARIES["headers"]},
                "query": {"code": CANARIES["query"]},
                "key_command": [sys.executable, str(program)],
                "proxy": f"http://ada:{password}@127.0.0.1:{way.port}",
                "verify": str(authority.file),
                "client_certificate": [str(certificate), str(key), CANARIES["client_certificate"]],
            },
            way,
        )
        request = server.requests[0]
        assert request.headers["x-team"] == CANARIES["headers"]
        assert request.headers["authorization"] == f"Bearer {CANARIES['key_command']}"
        assert urllib.parse.unquote(request.path).endswith(CANARIES["query"])
        assert not way.refused


def forms_of(secret: str) -> set[str]:
    """Give what must not be anywhere: the secret in all spellings, and its first half."""
    return {spell(secret) for spell in SPELLINGS.values()} | {secret[:12]} - {""}


class Session:
    """A chat in a real IPython, used against a server that answers; `places` gives every text that is left."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.errors: list[BaseException] = []
        self.shell = new_shell()
        self.shell.run_line_magic("load_ext", "nbtool")
        self.spans = InMemorySpanExporter()
        tracing = TracerProvider()
        tracing.add_span_processor(SimpleSpanProcessor(self.spans))
        plugins = [EventLog(folder / "events.jsonl"), Telemetry(content=True, tracer_provider=tracing)]
        self.shell.run_cell("from nbtool import Chat")
        self.shell.user_ns |= {"settings": settings, "plugins": plugins}
        self.shell.run_cell("talk = Chat('lab:m', plugins=plugins, **settings); del settings, plugins")
        self.chat = self.shell.user_ns["talk"]

    def ask(self, number: int) -> Turn:
        turn: Turn = self.chat.send(f"Give answer {number}.")
        self.errors += [turn.error] if turn.error else []
        return turn

    def command(self, line: str) -> str:
        """Give all that a command prints, or why it is refused."""
        from IPython.utils.capture import capture_output  # noqa: PLC0415 - as the notebook does it

        why = ""
        with capture_output() as captured:
            try:
                self.shell.run_line_magic("chat", f"-c talk {line}")
            except UsageError as error:
                why = str(error)
        return f"{why}{captured.stdout}{captured.stderr}{captured.outputs}"

    def places(self, turn: Turn) -> Iterator[tuple[str, str]]:
        for kind in SUFFIXES:
            path = self.folder / f"out.{kind}"
            self.command(f"export {kind} {path}")
            yield f"export {kind}", path.read_text()
        document = turn.transcript().document()
        yield "saved page", to_html(document) + to_text(document) + json.dumps(document, default=repr)
        yield "repr", f"{self.chat!r} {self.chat.__dict__!r} {self.chat.model!r} {self.chat.model.endpoint()!r}"
        yield "settings", repr(self.shell.user_ns["get_ipython"]().config)
        yield "turns", repr([(one, one.log) for node in self.chat.tree.active_path if (one := node.turn)])
        yield "errors", "\n".join(f"{error} {error!r} {error.args!r} {vars(error)!r}" for error in self.errors)
        yield "tracebacks", "\n".join("".join(traceback.format_exception(error)) for error in self.errors)
        yield "spans", "\n".join(span.to_json() for span in self.spans.get_finished_spans())
        yield from self._commands(turn)

    def _commands(self, turn: Turn) -> Iterator[tuple[str, str]]:
        """Give what every command prints, with a turn and without: the ones that show before those that remove."""
        for name in sorted(SECRET_SETTINGS):
            yield f"%chat config {name}", self.command(f"config {name}")
        for name in sorted(COMMANDS, key=lambda name: (name not in ("status", "models", "show", "history"), name)):
            for args in (name, f"{name} {turn.turn_id}") if "turn" in COMMANDS[name].values else (name,):
                yield f"%chat {args}", self.command(args)

    def files(self, home: Path) -> Iterator[tuple[str, str]]:
        """Give every file that nbtool wrote: the journal, the cache of the day, the recording, the log."""
        written = [path for path in home.rglob("*") if path.is_file()]
        written += [path for path in self.folder.iterdir() if path.suffix in (".jsonl", ".rec")]
        assert {"models.json", "journal.sqlite"} <= {path.name for path in written}
        for path in written:
            yield path.name, path.read_bytes().decode("latin-1")


@pytest.mark.promise("no-secret-told")
def test_what_gives_access_is_in_no_place_where_text_is_kept_or_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("NBTOOL_HOME", str(home))
    journal.cache_clear()  # that of the process may have been opened by another test
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, "httpcore")  # it logs the headers of responses, as docs/threats.md says
    refused = list(every_answer())
    good: Answer = (head(), text("Hello"), finish(), DONE)
    with company(tmp_path, [*refused, good]) as (settings, _):
        session = Session(tmp_path, settings)
        session.command(f"record {tmp_path / 'talk.rec'}")
        failed = [session.ask(number) for number in range(len(refused))]
        turn = session.ask(len(refused))
        session.command("models")
        places = dict(session.places(turn)) | {f"turn {at}": repr(one.log) for at, one in enumerate(failed)}
    places |= dict(session.files(home))
    places |= {f"log {at}": f"{record.getMessage()} {record.args!r}" for at, record in enumerate(caplog.records)}
    end_shell()

    assert turn.text == "Hello"
    assert len(session.errors) == len(refused)
    found = {
        (name, place, re.sub(r"\s+", " ", stored[max(0, at - 60) : at + 40]))
        for name, secret in CANARIES.items()
        for place, stored in places.items()
        for form in forms_of(secret)
        if (at := stored.find(form)) >= 0
    }
    assert found == set()
