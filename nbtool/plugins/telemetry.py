"""Report a turn as OpenTelemetry spans, following the semantic conventions for generative AI.

One span for the turn (`invoke_agent`), below it one for each request (`chat`) and one for each call that ran
(`execute_tool`), with the model, the duration and the tokens, and the content of messages only if requested. See
https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from nbtool import events
from nbtool.argument_check import check_arguments
from nbtool.audience import for_audience
from nbtool.chain.hooks import EventContext, RequestContext
from nbtool.clock import monotonic
from nbtool.errors import BadUsage
from nbtool.event_filter import EventFilter
from nbtool.plugins import semconv
from nbtool.text import shorten
from nbtool.wire.framing.known_secrets import hide_secrets

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer


class TracerSource(Protocol):
    """A tracer provider of OpenTelemetry."""

    @property
    def get_tracer(self) -> Callable[..., Tracer]:
        """Return the function that returns the tracer of a library."""


@dataclass(slots=True)
class _TurnSpans:
    """The open spans of one turn."""

    turn: Span
    model_attributes: dict[str, Any]
    request: Span | None = None
    start: float = 0.0
    is_waiting: bool = True
    error: str = ""
    filter: EventFilter = field(default_factory=lambda: EventFilter("span", hide_secrets))
    calls: dict[str, Span] = field(default_factory=dict)
    ready: dict[str, events.CallReady] = field(default_factory=dict)


@check_arguments
class Telemetry:
    """Records spans with `tracer_provider`, or with the global tracer provider.

    `content` adds the content in clear text: the messages of a request as they reach this plugin, the reply, and the
    arguments and results of calls. What only the person sees, and known secrets, are in no span.

    Raises:
        BadUsage: the package `opentelemetry-api` is not installed.
    """

    runs_on_loop = True

    def __init__(self, *, content: bool = False, tracer_provider: TracerSource | None = None) -> None:
        try:
            from opentelemetry import trace  # noqa: PLC0415 - an optional dependency
        except ImportError:
            raise BadUsage("Telemetry needs OpenTelemetry.", fix="Run `%pip install opentelemetry-api`.") from None
        self._trace = trace
        self._tracer: Tracer = (tracer_provider or trace).get_tracer("nbtool")
        self._content = content
        self._turns: dict[str, _TurnSpans] = {}
        self._request_content: dict[str, dict[str, Any]] = {}

    def on_before_request(self, request: RequestContext) -> None:
        """Store the content of the request until its span starts."""
        if self._content:
            self._request_content[request.turn.turn_id] = {
                "gen_ai.input.messages": semconv.messages_attribute(
                    for_audience(message, "span", hide=hide_secrets) for message in request.messages
                ),
                "gen_ai.system_instructions": semconv.system_attribute(hide_secrets(request.system)),
            }

    def on_event(self, context: EventContext) -> None:
        """Start and end spans."""
        event, turn_id = context.event, context.turn_id
        if isinstance(event, events.TurnStarted):
            new_spans = self._turns[turn_id] = self._begin_turn(event)
            new_spans.filter.feed(event)
        elif spans := self._turns.get(turn_id):
            if type(event) in events.DELTAS:
                if spans.is_waiting and spans.request:
                    spans.is_waiting = False
                    spans.request.set_attribute("gen_ai.response.time_to_first_chunk", monotonic() - spans.start)
                return
            if shown := spans.filter.feed(event):
                self._handle_event(spans, shown, turn_id)

    def _begin_turn(self, event: events.TurnStarted) -> _TurnSpans:
        model_attributes = semconv.model_attributes(event.model)
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "nbtool", **model_attributes}
        return _TurnSpans(self._tracer.start_span("invoke_agent nbtool", attributes=attributes), model_attributes)

    def _handle_event(self, spans: _TurnSpans, event: events.Event, turn_id: str) -> None:
        match event:
            case events.RequestStarted() if not event.given:
                spans.start, spans.is_waiting = monotonic(), True
                content = self._request_content.pop(turn_id, {})
                spans.request = self._start_request(spans, event, {} if spans.filter.has_no_content else content)
            case events.ReplyFinished() if spans.request:
                self._end_request(spans, spans.request, event)
            case events.CallReady():
                spans.ready[event.call_id] = event
            case events.CallStarted():
                spans.calls[event.call_id] = self._start_call(spans, event.call_id)
            case events.CallFinished() if event.call_id in spans.calls:
                self._end_call(spans.calls.pop(event.call_id), event)
            case events.ErrorRaised():
                spans.error = event.error or "error"
            case events.TurnEnded():
                self._end_turn(self._turns.pop(turn_id), event)

    def _start_child(self, spans: _TurnSpans, name: str, kind: Any, attributes: dict[str, Any]) -> Span:
        parent = self._trace.set_span_in_context(spans.turn)
        return self._tracer.start_span(name, parent, kind=kind, attributes=attributes)

    def _start_request(self, spans: _TurnSpans, event: events.RequestStarted, content: dict[str, Any]) -> Span:
        attributes = {
            "gen_ai.operation.name": "chat",
            **spans.model_attributes,
            **semconv.server_attributes(event.host),
            **content,
        }
        return self._start_child(
            spans, f"chat {spans.model_attributes['gen_ai.request.model']}", self._trace.SpanKind.CLIENT, attributes
        )

    def _end_request(self, spans: _TurnSpans, span: Span, event: events.ReplyFinished) -> None:
        """End the span of a complete reply; that of an incomplete one stays open until the turn's error is known."""
        reason = semconv.finish_reason(event.stop_reason)
        span.set_attributes(semconv.usage_attributes(event.usage))
        if self._content:
            span.set_attribute(
                "gen_ai.output.messages", semconv.messages_attribute([event.message], finish_reason=reason)
            )
        if event.complete:
            span.set_attribute("gen_ai.response.finish_reasons", [reason])
            span.end()
            spans.request = None

    def _start_call(self, spans: _TurnSpans, call_id: str) -> Span:
        ready = spans.ready.pop(call_id, None)
        name = ready.name if ready else "unknown"
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function"}
        attributes |= {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
        if self._content and ready:
            attributes["gen_ai.tool.call.arguments"] = shorten(ready.arguments, semconv.MAX_TEXT)
        return self._start_child(spans, f"execute_tool {name}", self._trace.SpanKind.INTERNAL, attributes)

    def _end_call(self, span: Span, event: events.CallFinished) -> None:
        if self._content:
            span.set_attribute("gen_ai.tool.call.result", shorten(event.shown, semconv.MAX_TEXT))
        self._end(span, "" if event.status == "ok" else event.status)

    def _end_turn(self, spans: _TurnSpans, event: events.TurnEnded) -> None:
        """End all open spans, with the turn's error."""
        error = "" if event.status == "completed" else spans.error or event.status
        for span in [*spans.calls.values(), *([spans.request] if spans.request else [])]:
            self._end(span, error or "incomplete")
        spans.turn.set_attributes(semconv.usage_attributes(event.usage))
        self._end(spans.turn, error)

    def _end(self, span: Span, error: str) -> None:
        if error:
            span.set_attribute("error.type", error)
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()
