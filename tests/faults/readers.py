"""Readers of hostile texts beyond streams and blocks: tools, tables, keys, searches, and what holds text in pieces.

`unread` finds the public functions that take a text and that no row of a table runs.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, cast

import pandas as pd

import nbtool
from nbtool.blocks.history.search import search
from nbtool.blocks.question import notice_of
from nbtool.events import CallReady, ResolvedArgument
from nbtool.magics.tool_choice import matches
from nbtool.messages import user
from nbtool.tools.calls.contents import is_any_in, told_rows, words_of
from nbtool.tools.mcp.tool_list import fitted, quoted_instructions
from nbtool.tools.mcp.variables import variables_in, without_secrets
from nbtool.tools.secret_patterns import is_secret_name, secret_in
from nbtool.tools.tool import tool, tools_of
from nbtool.tools.values.excerpt import excerpt
from nbtool.tools.values.preview import glance
from nbtool.tools.values.render import render
from nbtool.tools.values.sanitize import visible
from nbtool.tools.variables.references import parse
from nbtool.toolsets.html_text import read_html
from nbtool.wire import decode
from nbtool.wire.dialects.call_ids import fitting_name
from nbtool.wire.dialects.think_tag_parser import ThinkTags
from nbtool.wire.framing.provider_errors import error_from_response
from nbtool.wire.framing.sse import EventParser
from nbtool.wire.prompted.call_json import known_name
from nbtool.wire.prompted.call_python import find_list_end, starts_list
from nbtool.wire.prompted.delimiters import MARKS
from nbtool.wire.prompted.instructions import escaped
from nbtool.wire.prompted.json_tokens import split_values
from nbtool.wire.prompted.scanner import Scanner
from nbtool.wire.prompted.undelimited import begins_as_call, read_unmarked
from nbtool.wire.providers.catalog import parse_model
from nbtool.wire.providers.credentials import _read
from nbtool.wire.reply import parse_arguments
from nbtool.wire.transport.fetch import checked
from nbtool.wire.transport.model_list import model_names
from tests.faults.test_fuzz import JSON, NAMES, STREAM, with_errors

PIECE = 1_000
"""Characters of a piece of a text that comes in pieces."""

HTML = [
    "<p>",
    "</p>",
    "<table>",
    "<tr>",
    "<td>",
    "<div style='display:none'>",
    "<pre>",
    "&amp;",
    "<!--",
    "<a href='x'>",
    "<",
]
ADDRESSES = ["http://", "a@", ":", "/", "..", "%2f", "[", "]", "?a=", "#", "\\", "xn--", "ü"]
MENTIONS = ["$VAR_REF{{", "}}", "$", "{{", "a.b", "["]
MARKED = [
    "<think>",
    "</think>",
    *[mark.opener for mark in MARKS],
    *[mark.closer for mark in MARKS if mark.closer],
    "{",
    '"',
]

Read = Callable[[str], object]


def plain(a: str) -> str:
    """Give it back."""
    return a


PLAIN = tools_of(tool(plain))[0]


def _either(read: Read) -> Read:
    return lambda text: with_errors(lambda: read(text))


def _found(text: str) -> object:
    turn: Any = SimpleNamespace(
        turn_id="t", prompt=user(text), log=[CallReady("c", "f", 1, text, {"a": ResolvedArgument(text)})]
    )
    return search([turn], text), search([turn], text[:50])


def _in_table(text: str) -> object:
    cells = [text, *text.split("\n")]
    frame = pd.DataFrame({text[:100]: cells, "b": [1] * len(cells)})
    return glance(frame), render(frame), glance([{text: text}]), render({text: [text]})


def _env_file(text: str) -> object:
    with tempfile.NamedTemporaryFile("w", suffix=".env", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        return _read(Path(file.name))


def _scanned(text: str) -> None:
    for names in (None, {"f"}):
        scanner = Scanner(names=names)
        for piece in _pieces(text):
            scanner.feed(piece)
        scanner.flush()
        scanner.close()


def _thought(text: str) -> None:
    tags = ThinkTags()
    for piece in _pieces(text):
        tags.feed(piece)
    tags.flush()


def _events(text: str) -> None:
    parser = EventParser()
    for piece in _pieces(text):
        parser.feed(piece.encode(errors="replace"))
    parser.close()


def _pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), PIECE):
        yield text[at : at + PIECE]


def _of_provider(text: str) -> None:
    data = text.encode(errors="replace")
    with_errors(lambda: model_names(data, "a"))
    with_errors(lambda: decode("chat", data, stream=False))
    error_from_response(500, {}, data, who="a")


MORE: dict[str, tuple[Read, list[str]]] = {
    "notice of a question": (notice_of, JSON),
    "search of a history": (_found, ["a", " ", "ß", "İ"]),
    "web page": (lambda text: read_html(text.encode(errors="replace"), "http://a.example/", links=True), HTML),
    "pattern of tools": (
        lambda text: (matches(PLAIN, text), matches(PLAIN, "*a" * 50)),
        ["*", "?", "[", "!", "]", "*a"],
    ),
    "table": (_in_table, ["\n", ",", '"', "\t"]),
    ".env file": (_env_file, ["A=", "export ", '"', "'", "#", "\\", "\n", "${"]),
    "references in a text": (_either(parse), MENTIONS),
    "calls in pieces of text": (_either(_scanned), MARKED),
    "thinking in pieces of text": (_thought, MARKED),
    "server-sent events in pieces": (_either(_events), STREAM),
    "answer of a provider": (_of_provider, JSON),
    "address of a page": (_either(checked), ADDRESSES),
    "name of a model": (_either(parse_model), [*ADDRESSES, "openai"]),
    "name of a tool": (
        lambda text: (fitting_name(text), fitted("s", text), known_name(text, {"f"}), is_secret_name(text)),
        [*NAMES, "~", ".bak", " (1)", "_bak"],
    ),
    "arguments of a call": (_either(parse_arguments), JSON),
    "call without marks": (
        _either(lambda text: (begins_as_call(text), read_unmarked(text), starts_list(text, 0), split_values(text))),
        [*JSON, "f(", "[f("],
    ),
    "end of a list of calls": (lambda text: find_list_end(f"[{text}", 0), [*JSON, "f(", "[f("]),
    "instructions of a server": (lambda text: quoted_instructions("s", text), HTML),
    "settings of a server": (
        lambda text: (variables_in(text), without_secrets(text, {}, {})),
        ["${", "${A", ":-", "}", "$"],
    ),
    "secrets in a text": (secret_in, ["-----BEGIN ", "sk-", "ghp_", '"type":', "machine a login ", "AKIA", "xox"]),
    "words of a result": (
        lambda text: (is_any_in(("\0a\0b\0",), text), words_of(text), list(told_rows(f"[{text}"))),
        [*JSON, *HTML, "b'", "T", ".0", " 00:00:00", "nan", "1e5"],
    ),
    "excerpt of a text": (lambda text: (excerpt(text, 10, 200), visible(text), escaped(text)), HTML),
}
"""Readers, and the pieces that each is about."""

PARTS = (
    "nbtool.blocks", "nbtool.wire", "nbtool.tools", "nbtool.toolsets", "nbtool.magics", "nbtool.plugins", "nbtool.view",
    "nbtool.mime", "nbtool.messages", "nbtool.server_url", "nbtool.event_json",
)  # fmt: skip

EXCLUDED: dict[str, str] = {
    **dict.fromkeys(
        ["on_tool_loop", "tool",
         "report", "main", "end", "unknown_tool", "refused_text", "not_run", "note",
         "decision_words"],
        "takes names and words of the program itself",
    ),
    **dict.fromkeys(["of_class", "field", "field_of", "may_run"], "takes the name of an attribute or a field"),
    **dict.fromkeys(["listed", "read_config", "mcp_servers"], "takes what a person wrote of servers"),
    **dict.fromkeys(["unpacked", "beginning", "resolve", "client_for", "unreached", "broken", "proxy_of"], "a network"),
    **dict.fromkeys(
        ["register_local", "endpoint", "is_in_process", "list_models", "find_provider", "destination", "check_allowed",
         "own_key", "configured_url", "shown_path", "on_offer", "kind_of", "can_edit", "answers_with_addresses"],
        "takes a model, a provider or a path that the person named",
    ),
    **dict.fromkeys(["dialect_of", "check_dialect", ], "looks up fields of what was parsed already"),
    "answer_for": "takes the two ends of a message, each of a bounded length",
    **dict.fromkeys(
        ["describe", "columns", "head", "sample", "value_counts", "signature", "source"],
        "runs in a worker: the rows of names that a tool looks at",
    ),
    **dict.fromkeys(["speak", "rehearse", "configure"], "takes a cell whose line and body were read"),
    **dict.fromkeys(["code_for", "reopen_chat_of", "continue_chat"], "looks up a turn or a chat by its name"),
    **dict.fromkeys(["about", "bundle", "options_for", "built", "files"], "takes words of the program or of a person"),
    "hear": "keeps the end of what comes, read from a pipe",
    "run": "runs code that was approved",
    "compiled": "compiles a script that `checked`, which has a row, let through",
}  # fmt: skip
"""Public functions that take a text and have no row, each with the reason."""

TEXTS = {"str", "bytes", "bytearray", "memoryview"}
"""The types of a parameter that makes a function a reader."""


def unread(readers: Mapping[str, tuple[Read, list[str]]]) -> list[str]:
    """Give the public functions of the parts that take a text or bytes, and that none of these readers runs."""
    reached: set[CodeType] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            reached.add(frame.f_code)

    for read, words in readers.values():
        read("")  # what is loaded lazily is loaded now, and is none of a reader's work
        sys.setprofile(note)
        try:
            read("".join(words))
        finally:
            sys.setprofile(None)
    return [name for name, code in _functions() if code not in reached]


def _functions() -> Iterator[tuple[str, CodeType]]:
    for info in pkgutil.walk_packages(nbtool.__path__, "nbtool."):
        if not any(info.name == part or info.name.startswith(f"{part}.") for part in PARTS):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                kinds = [str(one.annotation) for one in inspect.signature(value).parameters.values()]
                if any(TEXTS & set(kind.split(" | ")) for kind in kinds):
                    yield f"{module.__name__}.{name}", cast("Any", inspect.unwrap(value)).__code__
