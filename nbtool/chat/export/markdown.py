"""Export a branch as Markdown: all content is in code fences, so that none of it is parsed as structure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from nbtool.blocks.fold.provider_texts import provider_call_text
from nbtool.blocks.sanitize import escape_invisible, one_line
from nbtool.chat.turn import Turn
from nbtool.messages import Media, Message, ProviderCall, Refusal, Text, Thinking, ToolCall
from nbtool.tools.calls.record import CallRecord

TITLES = {"text": "Reply", "thinking": "Thinking", "refusal": "Refusal"}


def as_markdown(turns: Sequence[Turn]) -> str:
    """Return turns as Markdown, with each call, its arguments, decisions and result."""
    models = ", ".join(dict.fromkeys(span(turn.model) for turn in turns)) or "no model"
    lines = [piece for number, turn in enumerate(turns, 1) for piece in _turn(turn, number)]
    return "\n\n".join([f"# A chat with {models}", *lines]) + "\n"


def fenced(text: str, language: str) -> str:
    """Return a text in a fence that is longer than any inside it, with invisible characters escaped."""
    escaped = escape_invisible(text)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", escaped)), default=0))
    return f"{fence}{language}\n{escaped}\n{fence}"


def span(text: str) -> str:
    """Return a text as an inline code span."""
    escaped = one_line(text)
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", escaped)), default=0))
    padding = " " if escaped[:1] in ("`", "") or escaped[-1:] == "`" else ""
    return f"{ticks}{padding}{escaped}{padding}{ticks}"


def _turn(turn: Turn, number: int) -> Iterable[str]:
    yield f"## {number}. Prompt"
    yield from _message(turn.prompt, {}, own=True)
    records = {record.call_id: record for record in turn.calls}
    for message in turn.messages.chain:
        if message.role == "assistant":
            yield from _message(message, records)
    for record in records.values():  # calls that no message requests: made by a script of the model
        yield from _call(record.display_name, record.arguments, record)
    if turn.error:
        yield f"### Error\n\n{fenced(str(turn.error), 'text')}"
    usage, stats = turn.usage, turn.stats
    yield (
        f"*{turn.status}; {stats.rounds} requests, {stats.calls} calls, "
        f"{usage.input_tokens} tokens in, {usage.output_tokens} out*"
    )


def _message(message: Message, records: dict[str, CallRecord], *, own: bool = False) -> Iterable[str]:
    for part in message.parts:
        match part:
            case Text() | Thinking() | Refusal() if part.text.strip():
                title = "" if own else f"### {TITLES[part.kind]}\n\n"
                yield f"{title}{fenced(part.text, 'markdown')}"
            case Media():
                yield f"Attached: {span(str(part))}" if own else f"### Media\n\n{span(str(part))}"
            case ProviderCall():
                yield f"### Run by the provider: {span(part.tool)}\n\n{fenced(provider_call_text(part), 'text')}"
            case ToolCall():
                record = records.pop(part.call_id, None)
                yield from _call(record.display_name if record else part.name, part.arguments, record)
    if message.citations:
        links = dict.fromkeys(citation.link for citation in message.citations)
        yield "### Sources\n\n" + "\n".join(f"- {span(f'{link.title} {link.url}'.strip())}" for link in links)


def _call(name: str, arguments: str, record: CallRecord | None) -> Iterable[str]:
    yield f"### Call of {span(name)}: {record.status if record else 'not_run'}"
    yield fenced(_indented(record.edited if record and record.edited else arguments), "json")
    if record and record.edited:
        yield "Edited before it ran. Arguments requested by the model:"
        yield fenced(_indented(arguments), "json")
    for decided in record.decisions if record else ():
        edited = ", edited" if decided.edited else ""
        reason = f": {span(decided.reason)}" if decided.reason else ""
        yield f"{decided.verdict.capitalize()} by {span(decided.by)}{edited}{reason}"
    if record and record.shown.strip():
        yield f"Sent to the model:\n\n{fenced(record.shown, 'text')}"


def _indented(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments or "{}"), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
