"""Everything to which a turn goes beside the person and the model: files, spans, pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from nbtool import Chat
from nbtool.blocks.history import static_history, turn_steps
from nbtool.blocks.history.conversation_search import search
from nbtool.blocks.history.tree_rows import tree_rows
from nbtool.blocks.history.usage_totals import totals
from nbtool.blocks.render import whole_conversation
from nbtool.blocks.render.whole_conversation import ConversationTurn
from nbtool.blocks.render.whole_text import to_whole_text
from nbtool.chat.export import document
from nbtool.chat.export.call_code import ExportContext
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.export.notebook import as_notebook
from nbtool.chat.export.visibility import shareable_turn
from nbtool.chat.journal import journal
from nbtool.chat.turn import Turn
from nbtool.plugins.event_log import EventLog
from nbtool.plugins.telemetry import Telemetry


@dataclass
class Sinks:
    """The plugins that write, and the places in a folder; `of` gives what stands in each after a turn."""

    folder: Path
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)

    def plugins(self) -> list[object]:
        """Return an event log, and telemetry with content."""
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        return [EventLog(self.folder / "events.jsonl"), Telemetry(content=True, tracer_provider=provider)]

    def watch(self, chat: Chat) -> Chat:
        """Record a chat."""
        chat.record(self.folder / "turns.nbtool.json")
        return chat

    def of(self, chat: Chat, turn: Turn, plugins: Sequence[object] = ()) -> dict[str, str]:
        """Return what was written of a turn, by place."""
        return dict(self._written(chat, turn, plugins))

    def _written(self, chat: Chat, turn: Turn, plugins: Sequence[object]) -> Iterator[tuple[str, str]]:
        recording = self.folder / "turns.nbtool.json"
        yield "journal", json.dumps(journal().events(turn.turn_id), ensure_ascii=False)
        yield "recording", recording.read_text() if recording.exists() else ""
        yield "event log", (self.folder / "events.jsonl").read_text()
        spans = [(one.name, dict(one.attributes or {})) for one in self.exporter.get_finished_spans()]
        yield "spans", json.dumps(spans, ensure_ascii=False)
        yield "export json", document.dump_conversation(chat.tree, plugins)
        yield "export md", as_markdown([shareable_turn(turn, plugins)])
        context = ExportContext(chat.tools.tools(), chat.variables, {}, plugins=plugins)
        yield "export ipynb", as_notebook([turn], context, plugins)
        yield "saved notebook", json.dumps(turn._repr_mimebundle_(), ensure_ascii=False)
        conversation = [ConversationTurn(turn.prompt.text, turn.transcript().document(), {})]
        yield "shown conversation", json.dumps(whole_conversation.mimebundle(conversation), ensure_ascii=False)
        yield "whole text", to_whole_text(turn.transcript().document())
        yield "explorer", json.dumps(turn_steps.detail(turn), ensure_ascii=False)
        index = tree_rows(chat.tree.roots, {node.node_id for node in chat.tree.active_path})
        page = static_history.to_html(index, totals([turn]), {turn.turn_id: turn})
        yield "saved history", page
        yield "search", json.dumps(search([turn], "canary"))


def found_in(texts: dict[str, str], *canaries: str) -> list[tuple[str, str]]:
    """Return in which places which canaries are."""
    return [(place, one) for place, text in texts.items() for one in canaries if one in text]


def person_log(turn: Turn) -> str:
    """Return what a person could see of a turn."""
    return repr(turn.log)
