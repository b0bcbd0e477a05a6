"""The compact form of a finished turn in later requests: the tools that ran, their references, and the answer.

Native tool messages would send all results of every turn again with every later request. The compact form is one
assistant message: the *system hint* lists the tools and the references under which their arguments and results can be
read again; the *natural flow* is the text with a short log of each call. `hint_size` is the length of the hint.

The form is only written: nothing parses it, so neither a model that imitates a log block nor a block in some text is
ever treated as a call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from nbtool.events import EndReason
from nbtool.messages import COMMENTARY, Media, Message, Refusal, Text, ToolCall
from nbtool.text import map_text
from nbtool.tools.values.sanitize import excerpt
from nbtool.turn_state import Call

PREVIEW = 200
"""Maximum characters of a result in a log block."""
ARGUMENT = 50
"""Maximum characters of a string argument in a log block."""

LOG_TITLE = "[Tool Execution Log]"
QUOTED_TITLE = "[tool execution log, quoted]"

_HINT = """<SYSTEM-CONTEXT>
Tool results of this turn are kept as variables while they last. Read one again with the tool ReadVar, or pass it on \
as $VAR_REF{{{{name}}}}.

Executed tools:
{tools}

[WARNING] {title} blocks are written by the system. Writing one runs nothing; a tool runs only when it is called.
</SYSTEM-CONTEXT>
---
"""

ADDED = "[The user added during this turn: {text}]"
"""What the person added while the turn ran."""

_SEPARATOR = "\n\n"

_RUNS = re.compile("`+")

_STATUS = {
    "ok": "✓ Success",
    "denied": "⚠ Denied",
    "withheld": "⚠ Result withheld",
    "cancelled": "⚠ Cancelled",
    "stopped": "⚠ Stopped by the user",
    "not_run": "⚠ Not run",
    "unknown": "⚠ Outcome unknown",
    "timed_out": "✗ Timed out",
}


def system_hint(calls: Sequence[Call]) -> str:
    """Return the list of the tools that ran and their references; empty if none ran."""
    if not calls:
        return ""
    return _HINT.format(tools="\n".join(map(_tool_line, calls)), title=LOG_TITLE)


def _tool_line(call: Call) -> str:
    references = (("args", call.arguments_reference), ("result", call.reference))
    targets = ", ".join(f"{what}=$VAR_REF{{{{{name}}}}}" for what, name in references if name)
    return f"- `{call.name}` ({targets})" if targets else f"- `{call.name}`: {call.status}"


def natural_flow(chain: Iterable[Message], calls: Sequence[Call]) -> str:
    """Return a turn's messages as text, with each call as a log block."""
    return _SEPARATOR.join(piece.text for piece in flow_pieces(chain, calls))


def flow_pieces(chain: Iterable[Message], calls: Sequence[Call]) -> list[Text]:
    """Return the pieces of the natural flow, each text with its phase."""
    records = {call.call_id: call for call in calls}
    pieces: list[Text] = []
    for message in chain:
        pieces += (Text(ADDED.format(text=_escape_title(text.strip()))) for text in message.added)
        if message.role != "assistant":
            continue
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                pieces.append(Text(_escape_title(part.text.strip()), phase=part.phase))
            elif isinstance(part, Refusal) and part.text.strip():
                pieces.append(Text(f"[The model refused: {_escape_title(part.text.strip())}]"))
            elif isinstance(part, Media):
                name = f"[{part.mime}, kept as $VAR_REF{{{{{part.name}}}}}]" if part.name else f"[{part.mime}]"
                pieces.append(Text(name))
            elif isinstance(part, ToolCall):
                pieces.append(Text(_log_block(part, records.get(part.call_id))))
    return pieces


def as_texts(pieces: Iterable[Text], hint: str = "", note: str = "") -> tuple[Text, ...]:
    """Join pieces of one phase to a text each, which joined again are all of it: hint, pieces, and the note.

    In a turn with phases what has none, such as a log block, is commentary; the note belongs to the text before it.
    """
    pieces = [piece for piece in pieces if piece.text.strip()]
    other = COMMENTARY if any(piece.phase for piece in pieces) else ""
    runs: list[tuple[str, list[str]]] = []
    for piece in pieces:
        phase = piece.phase or other
        if not runs or runs[-1][0] != phase:
            runs.append((phase, []))
        runs[-1][1].append(piece.text)
    if note:
        runs = runs or [("", [])]
        runs[-1][1].append(note)
    texts = [(phase, _SEPARATOR.join(run)) for phase, run in runs] or [("", "")]
    before = [hint, *[_SEPARATOR] * (len(texts) - 1)]
    return tuple(Text(start + text, phase=phase) for start, (phase, text) in zip(before, texts, strict=True))


_END_NOTES: Mapping[str, str] = {
    "refused": "The model refused to answer this",
    "filtered": "The provider's content filter stopped this reply",
    "thinking_only": "The model thought about this and gave no answer",
    "provider_action": "This reply waited for something that cannot be done here",
    "too_many_calls": "This reply was stopped, and none of its calls ran",
    "broken_off": "The provider broke off this reply",
    "length": "This reply was cut off at its length limit",
}


def end_note(end_reason: EndReason, explanation: str = "") -> str:
    """Return the note for later requests why a turn has no finished answer; empty if it has one."""
    reason = _truncate(_escape_title(" ".join(explanation.split())), PREVIEW)
    return f"[nbtool] {_END_NOTES[end_reason]}{f': {reason}' if reason else '.'}" if end_reason in _END_NOTES else ""


BREAK_NOTES: Mapping[str, str] = {
    "cancelled": "[nbtool] The user stopped this reply here.",
    "timeout": "[nbtool] The time for this reply was over here.",
    "error": "[nbtool] This reply failed here.",
}
"""Follows the text of a reply that was broken off, by the status of its turn: the model takes its end for its own."""


def _log_block(call: ToolCall, record: Call | None) -> str:
    status = _STATUS.get(record.status, f"✗ {record.status}") if record else _STATUS["not_run"]
    changed = " (the user changed the arguments before it ran)" if record and record.edited else ""
    lines = [f"Arguments: {_arguments(call)}", f"Status: {status}{changed}"]
    if record and record.shown.strip():
        lines += ["", _truncate(_escape_title(record.own_text.strip()), PREVIEW)]
    body = "\n".join(lines)
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"**{LOG_TITLE}**: {_escape_title(call.name)}\n{fence}accesslog\n{body}\n{fence}"


def _arguments(call: ToolCall) -> str:
    if call.args is None:
        return _truncate(_escape_title(call.arguments), PREVIEW)
    short = map_text(call.args, lambda text: _truncate(text, ARGUMENT))
    return _escape_title(json.dumps(short, ensure_ascii=False, default=str))


def _truncate(text: str, size: int) -> str:
    return text if len(text) <= size else f"{excerpt(text, 0, size)}…[+{len(text) - size:,}]"


def _escape_title(text: str) -> str:
    """Escape the title of our log blocks in a text from outside."""
    return text.replace(LOG_TITLE, QUOTED_TITLE)


def _longest_run(text: str) -> int:
    """Return the number of backquotes in the longest run of them."""
    return max(map(len, _RUNS.findall(text)), default=0)
