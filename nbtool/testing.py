"""Test doubles for your own tests: a scripted model and a scripted approver.

Both return their scripted steps in order. An unexpected request is an error that states what was expected and what
came; so is an unused step. No test framework is needed.

    >>> from nbtool.testing import ScriptedWire, call, play, say
    >>> from nbtool.wire.base import Prompt
    >>> from nbtool.messages import user
    >>> with ScriptedWire([call("price", ticker="A"), "It costs 10."]) as wire:
    ...     first = play(wire, Prompt((user("What does A cost?"),)))
    ...     second = play(wire, Prompt((user("And now?"),)))
    >>> first.calls[0].args, second.text
    ({'ticker': 'A'}, 'It costs 10.')
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Generic, NoReturn, Self, TypeVar

from nbtool.argument_check import check_arguments
from nbtool.errors import BadUsage
from nbtool.events import CallDelta, Delta, ProviderDelta, RefusalDelta, ReplyEnd, TextDelta, ThinkingDelta
from nbtool.ids import new_id
from nbtool.messages import Citation, Media, Part, ProviderCall, Refusal, Text, Thinking, ToolCall, ToolResult
from nbtool.text import shorten
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import Approved, Decision, Denied, Question, Released, Withheld
from nbtool.wire.base import Endpoint, Prompt
from nbtool.wire.reply import Reply, ReplyBuilder

__all__ = ["Cut", "ScriptError", "ScriptedApprover", "ScriptedWire", "call", "cut", "play", "say", "thinking"]

FRAGMENT = 6
"""Number of characters of a scripted text, or of a call's arguments, in one delta."""

MAX_EXCERPT = 120
"""Maximum number of characters of a prompt or a question quoted in an error."""
DECISION_TYPES: dict[str, tuple[type, ...]] = {"run": (Approved, Denied), "result": (Released, Withheld)}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cut:
    """The reply is cut off here, without the provider's terminal signal."""


Step = str | Part | Delta | Cut | BaseException
Steps = Step | Sequence[Step]
ScriptedReply = Steps | Callable[[Prompt], Steps]
ScriptedDecision = Decision | BaseException | Callable[[Question], Decision]


class ScriptError(AssertionError):
    """The requests do not match the script."""


@check_arguments
def say(text: str) -> Text:
    """Return a text of the model."""
    return Text(text)


@check_arguments
def thinking(text: str) -> Thinking:
    """Return thinking of the model."""
    return Thinking(text)


@check_arguments
def call(name: str, /, **arguments: Any) -> ToolCall:
    """Return a tool call of the model; for invalid arguments use `ToolCall(name, '{"ticker": ')`.

    Raises:
        BadUsage: an argument is no JSON.
    """
    try:
        return ToolCall(name, json.dumps(arguments, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadUsage(f"The arguments of call({name!r}) are no JSON ({error}).", fix="Pass JSON values.") from None


def cut() -> Cut:
    """Return a step that cuts off the reply."""
    return Cut()


class _Script(Generic[T]):
    """Steps that are taken in order, from any thread; as a context manager it checks that none is left."""

    def __init__(self, steps: Sequence[T], *, item: str, argument: str) -> None:
        self._steps = list(steps)
        self._item, self._argument = item, argument
        self._lock = threading.Lock()
        self._position = 0
        self._mistakes: list[str] = []

    def assert_done(self) -> None:
        """Check that every step was used, and nothing else was requested.

        Raises:
            ScriptError: states what was expected and what came.
        """
        remaining = self._steps[self._position :]
        if self._mistakes:
            raise ScriptError(self._mistakes[0])
        if remaining:
            unused = "" if self._position else f" Was it passed to the chat as `{self._argument}=`?"
            raise ScriptError(
                f"Expected {len(self._steps)} {self._item} to be requested, but {self._position} were."
                f"{unused} Next in the script: {remaining[0]!r}."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.assert_done()

    def _next_step(self, description: str) -> T:
        with self._lock:
            if self._position < len(self._steps):
                self._position += 1
                return self._steps[self._position - 1]
        self._fail(f"Expected no more than {len(self._steps)} {self._item} to be requested, but got {description}.")

    def _fail(self, message: str) -> NoReturn:
        """Raise an error and store it: the code under test may catch it."""
        self._mistakes.append(message)
        raise ScriptError(message)


@check_arguments
class ScriptedWire(_Script[ScriptedReply]):
    """A model with scripted replies, one per request; it has the interface of an endpoint.

    A reply is a text; a part or a delta, or a list of them (`[thinking("Hm."), call("price", ticker="A")]`); an error
    to raise, also inside the list; or a function from the prompt to any of these. A reply is complete unless it
    contains a `cut()` or an error. `prompts` are the received prompts; `abilities` those of the simulated provider.

    >>> wire = ScriptedWire(["Hello."], model="tiny")
    >>> wire.assert_done()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    nbtool.testing.ScriptError: Expected 1 replies to be requested, but 0 were. Was it passed ... script: 'Hello.'.
    """

    abilities: frozenset[str] = frozenset()

    def __init__(
        self,
        replies: Sequence[ScriptedReply],
        *,
        host: str = "scripted",
        model: str = "scripted",
        abilities: Iterable[str] = (),
    ) -> None:
        super().__init__(replies, item="replies", argument="wire")
        if abilities:
            self.abilities = frozenset(abilities)
        self.host = host
        self.model = model
        self.dialect = "scripted"
        self.prompts: list[Prompt] = []

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Yield the deltas of the next reply.

        Raises:
            ScriptError: the script has no reply left.
        """
        self.prompts.append(prompt)
        reply = self._next_step(_describe_prompt(prompt))
        try:
            for delta in _deltas(reply(prompt) if callable(reply) else reply):
                yield delta
        except ScriptError as error:
            self._mistakes.append(str(error))
            raise


@check_arguments
class ScriptedApprover(_Script["ScriptedDecision | tuple[str, ScriptedDecision]"]):
    """An approver with scripted decisions, one per question.

    A decision is an `Approved`, `Denied`, `Released` or `Withheld`; an error to raise; or a function from the question
    to a decision. A pair `("price", Approved())` also checks which tool the question is about. `questions` are the
    received questions. It can be passed as an approver object or as a function.

    >>> from nbtool.tools.approval import Approved, Question
    >>> approver = ScriptedApprover([("price", Approved())])
    >>> approver.ask(Question("c1", "run", "digest", "sell", "{}"))
    Traceback (most recent call last):
    ...
    nbtool.testing.ScriptError: Expected a question about 'price' as number 1, but got the run gate of 'sell': {}.
    """

    def __init__(self, decisions: Sequence[ScriptedDecision | tuple[str, ScriptedDecision]]) -> None:
        super().__init__(decisions, item="decisions", argument="approver")
        self.questions: list[Question] = []

    def ask(self, question: Question) -> Decision:
        """Return the decision on the next question.

        Raises:
            ScriptError: the script has no decision left, or the next one is for another tool or another gate.
        """
        self.questions.append(question)
        description = f"the {question.gate} gate of {question.tool!r}: {shorten(question.shown, MAX_EXCERPT)}"
        step = self._next_step(description)
        tool, decision = step if isinstance(step, tuple) else (question.tool, step)
        if tool != question.tool:
            self._fail(f"Expected a question about {tool!r} as number {len(self.questions)}, but got {description}.")
        if isinstance(decision, BaseException):
            raise decision
        answer = decision(question) if callable(decision) else decision
        if not isinstance(answer, DECISION_TYPES[question.gate]):
            self._fail(f"Expected a question that {answer!r} answers, but got {description}.")
        return answer

    def __call__(self, question: Question) -> Decision:
        """Return the decision on the next question; see `ask`."""
        return self.ask(question)


@check_arguments
def play(endpoint: Endpoint, prompt: Prompt) -> Reply:
    """Send one prompt to an endpoint, scripted or real, and return the whole reply."""

    async def read() -> Reply:
        builder = ReplyBuilder(wire=endpoint.dialect, host=endpoint.host, model=endpoint.model)
        async for delta in endpoint.stream(prompt):
            builder.add(delta)
        return builder.reply()

    return run_sync(read())


def _deltas(reply: Step | Sequence[Step]) -> Iterator[Delta]:
    steps = [reply] if isinstance(reply, str) or not isinstance(reply, Sequence) else reply
    has_calls = any(isinstance(step, ToolCall | CallDelta) for step in steps)
    for index, step in enumerate(steps):
        match step:
            case Cut():
                return
            case BaseException():
                raise step
            case ReplyEnd():
                yield step
                return
            case _:
                yield from _step_deltas(step, key=str(index))
    yield ReplyEnd("tools", "tool_calls") if has_calls else ReplyEnd("end", "stop")


def _step_deltas(step: str | Part | Delta, key: str) -> Iterator[Delta]:
    match step:
        case str() | Text():
            yield from map(TextDelta, _fragments(step if isinstance(step, str) else step.text))
        case Thinking():
            yield from map(ThinkingDelta, _fragments(step.text))
        case Refusal():
            yield from map(RefusalDelta, _fragments(step.text))
        case ToolCall():
            yield CallDelta(key, step.id or new_id("scripted"), step.name)
            for fragment in _fragments(step.arguments):
                yield CallDelta(key, arguments=fragment)
        case ProviderCall() | Citation():
            yield ProviderDelta(step)
        case Media() | ToolResult():
            raise ScriptError(f"Expected a reply of a model, but got {step!r} in the script.")
        case _:
            yield replace(step)


def _fragments(text: str) -> list[str]:
    return [text[start : start + FRAGMENT] for start in range(0, len(text), FRAGMENT)]


def _describe_prompt(prompt: Prompt) -> str:
    last = prompt.messages[-1] if prompt.messages else None
    text = " ".join(part.text for part in last.parts if isinstance(part, Text | ToolResult)) if last else ""
    tools = ", ".join(tool.name for tool in prompt.tools) or "none"
    return (
        f"a request that ends with {last.role if last else 'no message'} {shorten(text, MAX_EXCERPT)!r}, tools: {tools}"
    )
