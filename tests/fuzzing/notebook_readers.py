"""Readers of hostile texts in a notebook: lines of magics, completion, and tools that look at what a person has.

A line is a person's own, but it may be pasted, and the text at a name is a model's.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
from IPython.core.completer import CompletionContext
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbtool import Chat
from nbtool.errors import NbtoolError
from nbtool.event_json import load_events
from nbtool.magics.cell.cell_prompt import has_prompt, prompt_of
from nbtool.magics.commands.dispatch import COMMANDS, check_options
from nbtool.magics.flags.flag_parser import budget
from nbtool.magics.flags.tool_choice import choose_tools, find_source
from nbtool.magics.names.result_binding import bind_reference
from nbtool.magics.notebook.page_cells import page_context
from nbtool.messages import assistant, user
from nbtool.mime import sniff
from nbtool.plugins import semconv
from nbtool.server_url import parse_server_url
from nbtool.testing import ScriptedWire
from nbtool.text import as_text, map_media_text
from nbtool.tools.calls.normalized_contents import is_any_in, normalized_words
from nbtool.tools.mcp.stdio import stdio_messages
from nbtool.tools.mcp.stdio.stdio_messages import Complexity, Flow
from nbtool.toolsets import cell_texts, inspection
from nbtool.toolsets.notebook_access import CellOutput, CellRun, NotebookCell, digest_of
from nbtool.view import explorer_messages, map_messages, notebook_messages, page_messages
from nbtool.view.probe_widget import parse_report
from nbtool.wire.dialects.media.decoder import read_images, read_speech, read_transcription
from nbtool.wire.framing import json_payloads
from tests.shells import new_shell
from tests.tools.calling import ToolHarness, ask_for, make_harness

Read = Callable[[str], object]

WORDS = ["-c ", "--", "-", "'", '"', "\\", "$", "%", "*", "~", "#", "turn_", "config ", "x.y", "\t"]
NAMES = ["t", ".", "[", "]", "['", "']", "$VAR_REF{{", "}}", "\\", "`", "*", "__class__", "("]
CELL = ["%%chat ", "-t ", "--", "$`", "&`", "`", "nbtool:", "fr", ".", "\n"]

WRITES = frozenset({"code", "export", "record", "replay", "open", "env"})
"""Commands that write files or read those that a person names."""


@cache
def _magics() -> tuple[Any, Any]:
    """Return an IPython with the extension loaded, and its magics."""
    had_one = InteractiveShell.initialized()
    shell = InteractiveShell.instance() if had_one else new_shell()
    with contextlib.redirect_stdout(io.StringIO()):
        shell.run_line_magic("load_ext", "nbtool")
    return shell, shell.magics_manager.registry["ChatMagics"]


def of_command(command: str) -> Read:
    """Return what reads a text as the words of a command."""

    def read(text: str) -> None:
        _, magics = _magics()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(UsageError, NbtoolError):
            magics.chat(f"{command} {text}".replace("\n", " "))

    return read


def _completed(text: str) -> None:
    _, magics = _magics()
    for whole in (f"%%chat {text}", f"%%chat\n{text}", f"%chat {text}"):
        *above, last = whole.split("\n")
        magics.completer(CompletionContext(text, whole, len(last), len(above), 50))


@cache
def _queue() -> ToolHarness:
    table = pd.DataFrame({"a": [1], "b": ["x"]})
    harness = make_harness(inspection(), notebook={"t": table, "n": np.arange(3), "d": {"k": 1}, "f": len})
    for name in harness.notebook:
        harness.runtime.variables.expose(name, readable=True)
    return harness


def looked_at(tool: str, **more: str) -> Read:
    """Return what looks at a name with one of the tools, or at a thing whose name is given."""

    def read(text: str) -> None:
        names = {name: value if value != "?" else text for name, value in more.items()}
        _queue().run(ask_for(tool, **{"name": text, **names}))
        _queue().events.clear()

    return read


def _bytes(text: str) -> None:
    data = text.encode(errors="replace")
    sniff(data)
    map_media_text(data, "text/plain", str.upper)
    as_text(data)
    for read in (read_images, read_speech, read_transcription, json_payloads.parse):
        with contextlib.suppress(NbtoolError, ValueError):
            read(data)
        with contextlib.suppress(NbtoolError, ValueError):
            read(b'{"data": [{"b64_json": "' + data + b'"}]}')


def _of_server(text: str) -> None:
    line = text.encode(errors="replace")
    flow = Flow()
    flow.note_question(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n' + line)
    stdio_messages.pump_stdout(io.BytesIO(b"\n".join(_pieces(line)) + b"\n"), io.BytesIO(), flow)
    stdio_messages.skip_message(io.BytesIO(line), line, stdio_messages.MAX_DROPPED)
    stdio_messages.claims(line, stdio_messages.parse(line))
    stdio_messages.error_response(line.decode(errors="replace"), stdio_messages.UNREADABLE, len(line))
    stdio_messages.is_complex(line[:1_000])  # of a short one nothing is counted
    Complexity().exceeds_limits(line)


def _pieces(data: bytes) -> list[bytes]:
    return [data[at : at + 1_000] for at in range(0, len(data), 1_000)]


def _of_page(text: str) -> None:
    for value in (text, {"a": text}, [text]):
        content = {"v": 1, "nonce": "n", "turn": "t", "id": text[:40], "kind": "decide", "verdict": text, "args": value}
        page_messages.parse_message(content, turn_id="t", nonce="n")
        map_messages.parse_message(content, nonce="n")
        explorer_messages.parse_message({**content, "kind": "search", "text": text}, nonce="n")
    page_messages.is_valid_name(text)
    parse_report({"v": 1, "nonce": "n", "kind": "hello", "front_end": text, "notebook": text}, nonce="n")


def _of_file(text: str) -> None:
    for form in (text, f'[{{"role": "user", "parts": [{{"kind": "text", "text": "{text}"}}]}}]'):
        with contextlib.suppress(NbtoolError, ValueError):
            load_events(form.encode(errors="replace"))


def _bound(text: str) -> None:
    chat = Chat(wire=ScriptedWire([]))
    for written in (text, f"$VAR_REF{{{{{text}}}}}"):
        with contextlib.suppress(NbtoolError):
            bind_reference(chat, written, {})


def _text(text: str) -> None:
    has_prompt(text)
    with contextlib.suppress(NbtoolError):
        budget(text)
    with contextlib.suppress(NbtoolError):
        choose_tools(text[:20], inspection(), [text])
    find_source(text, [inspection()])
    with contextlib.suppress(NbtoolError):
        check_options("bind", text.split())


def _cells(text: str) -> None:
    """Read cells of a page: its answers, their texts for a model, and the words that name them."""
    output = {"kind": "text", "text": text, "length": len(text)}
    data = {"id": "a", "type": "code", "source": text, "length": len(text), "number": 1, "outputs": [output]}
    for answer in ({"kind": "cells", "cells": [{**data, "more_outputs": 0}], "more": 0}, {"kind": text}, text):
        notebook_messages.parse_answer(answer)
    found = NotebookCell("a", "code", text, len(text), 1, (CellOutput("text", text, len(text)),))
    for words in (text[:20], "all", "7:9"):
        with contextlib.suppress(NbtoolError):
            page_context([found], "chat", words, "chat")
    cell_texts.outline([found], text, 1, 10)
    cell_texts.read_text(found, 0)
    cell_texts.output_part(found, 1, 0)
    cell_texts.describe_run(text, CellRun(found.outputs, text))
    digest_of(text)
    flags = SimpleNamespace(cells="", cell_context=None, fill=False)
    prompt_of(None, Chat(wire=ScriptedWire([])), cast("Any", flags), text, "chat", cast("Any", None))


def _address(text: str) -> None:
    for address in (text, f"https://{text}", f"https://a.example/{text}"):
        with contextlib.suppress(NbtoolError):
            parse_server_url(address)


def _traced(text: str) -> None:
    semconv.model_attributes(text)
    semconv.server_attributes(text)
    semconv.system_attribute(text)
    semconv.messages_attribute([user(text), assistant(text)], fields=text)


NOTEBOOK: dict[str, tuple[Read, list[str]]] = {
    **{
        f"words of %chat {command}": (of_command(command), WORDS)
        for command in sorted(COMMANDS)
        if command not in WRITES
    },
    "completion": (_completed, CELL),
    **{f"a name that {name} looks at": (looked_at(name), NAMES) for name in sorted(inspection().tools())},
    "a column whose values are counted": (looked_at("value_counts", name="t", column="?"), NAMES),
    "lines of a server": (_of_server, ['{"', '"id":', "\n", "[", "]", '\\"', '"', ",", '"result"', "x"]),
    "messages of the page": (_of_page, ['{"', '"', "[", "]", "\\u", "turn_"]),
    "messages and events of a file": (_of_file, ['{"', '":', '"', "[", "{", "]", "}", ",", "\\u", "kind"]),
    "name of what is bound": (_bound, NAMES),
    "body of a cell and its flags": (_text, [*WORDS, "\n", "#", "0.", "$"]),
    "cells of a page": (_cells, ["%%chat", "\n", "`", "```", "\x1b[31m", "# ", " ", "1:", "é"]),
    "address of a server": (_address, ["http://", "a@", ":", "/", "..", "%2f", "[", "]", "?a=", "#", "xn--", "ü"]),
    "what is traced": (_traced, [":", "/", "0", '"', "\\"]),
    "words of a result": (lambda text: (normalized_words(text), is_any_in([text], text)), WORDS),
    "bytes of a reply": (_bytes, ['{"', '"data":', "[", "data:", "RIFF", "\xff", "ID3", "<html", "1\n00:00:01,0 --> "]),
}
"""Readers, and the pieces that each is about."""
