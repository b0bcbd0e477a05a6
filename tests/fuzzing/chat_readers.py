"""Readers of hostile texts in a chat: files that are read back, the journal, exports of code, images, and the practice
model."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from types import SimpleNamespace

from nbtool.audience import hide_content
from nbtool.chat.attachments import has_location
from nbtool.chat.export import model_code
from nbtool.chat.export.document import load_conversation
from nbtool.chat.export.literals import NotLiteral, text_literal
from nbtool.chat.export.names import is_name
from nbtool.chat.export.visibility import without_local_paths
from nbtool.chat.journal import blobs, schema, search
from nbtool.chat.journal.retention import parse_limit
from nbtool.chat.prompt_context import as_message, system_prompt
from nbtool.chat.turn.compact import end_note
from nbtool.errors import BadUsage, NbtoolError
from nbtool.plugins.masks import Masks
from nbtool.plugins.pii_patterns import PII_TYPES, select_types
from nbtool.practice.code import find_code, write_cell
from nbtool.practice.phrases import code_answer
from nbtool.practice.pictures import make_png
from nbtool.secret import Secret
from nbtool.wire.framing.known_secrets import hide_secrets, remember_secrets
from tests.fuzzing.test_fuzz import EVENTS, JSON

Read = Callable[[str], object]

CODE = ["def f():\n", "(", ")", "[", "lambda: ", "f'{", "'''", "not ", "a.", "a=", "if a:\n ", "\\\n", "#"]
PROMPT = ["```python\n", "```", "`", '"', "\u201c", "$`a`", "@`f`", "a.b", "(", "[", "1 + ", "-1"]


def _model_code(text: str) -> None:
    with contextlib.suppress(NotLiteral):
        model_code.as_source(text, "r1")
    model_code.as_comment(text)


def _conversation(text: str) -> None:
    form = json.dumps({"format": "nbtool-conversation", "version": 1, "nodes": [], "turns": {"t": [text]}, "tip": text})
    for data in (text, text.encode(errors="replace"), form):
        with contextlib.suppress(NbtoolError):
            load_conversation(data)


def _event(text: str) -> str:
    return json.dumps({"kind": "call_finished", "name": text[:64], "shown": text, "reason": "", "turn_id": "t"})


def _searched(text: str) -> None:
    connection = schema.connect(None)
    body, _ = blobs.extract(_event(text))
    row = (0, "c", "t", "call_finished", body)
    connection.execute("INSERT INTO events (at, chat_id, turn_id, kind, body) VALUES (?, ?, ?, ?, ?)", row)
    connection.commit()
    search.update_index(connection)
    with contextlib.suppress(NbtoolError):
        search.search(connection, text)
    connection.close()


def _without_secrets(text: str) -> None:
    remember_secrets(SimpleNamespace(secrets=[Secret('sk-"+/=\\0a')]))
    hide_secrets(text)


def _limit(text: str) -> None:
    with contextlib.suppress(BadUsage):
        parse_limit("days", text)


CHAT: dict[str, tuple[Read, list[str]]] = {
    "code of a model in an export": (_model_code, CODE),
    "names in the code of a model": (lambda text: list(model_code.names_in(text)), CODE),
    "text in an export": (
        lambda text: (text_literal(text), is_name(text), model_code.compiles(text_literal(text))),
        ["'", '"', "\\", "\x00", "\u202e"],
    ),
    "paths in an export": (without_local_paths, ["File ", '"', "/", "~", "a", ":1", ", line 1", "\n", " "]),
    "conversation in a file": (_conversation, [*EVENTS, *JSON]),
    "location of an image": (
        lambda text: has_location(text.encode("latin-1", errors="replace")),
        ["II*\x00", "MM\x00*", "\xff\xff", "\x00", "exif:GPS", "%\x88"],
    ),
    "contents of an event": (lambda text: blobs.digest(blobs.extract(_event(text))[0]), JSON),
    "private values in an event": (
        lambda text: hide_content(text, Masks(select_types(PII_TYPES, ("Ada",), {})).erase),
        [*JSON, "sk-", "a@b.c", "+49 ", "4111 ", "DE89", "1.2.3.4"],
    ),
    "known secrets in a text": (
        _without_secrets,
        ["sk-", '"', "+", "/", "=", "\\", "%2B", "&quot;"],
    ),
    "search of the journal": (_searched, ["a ", "\u00e9", "\u4e2d", '"', "*", "NEAR("]),
    "limit of the journal": (_limit, ["1", "e", ".", "_", "-"]),
    "context of a prompt": (
        lambda text: (system_prompt(text, text), as_message(text, ()), end_note("error", text)),
        ["\n", " ", "**"],
    ),
    "code in a prompt": (
        lambda text: (list(find_code(text, {"a"})), code_answer(write_cell(text, {"a"})), make_png(text)),
        PROMPT,
    ),
}
"""Readers, and the pieces that each is about."""
