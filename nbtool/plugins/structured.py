"""Answers as values: a schema is told, what comes is validated, and asked for again where it does not fit.

The schema stands in the system text, where every model reads it. Where the provider also takes it as a rule for its
answer (the ability `json_schema`), it is sent as that too, in rounds without tools: a server that writes by a schema
cannot call anything. JSON is read strictly and never repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nbtool.chain.hooks import ReplyContext, RequestContext, TurnContext
from nbtool.errors import BadUsage, InvalidAnswer
from nbtool.messages import user
from nbtool.plugins.structured_schema import answer_schema, is_strict, options_for
from nbtool.shorten import shorten

RETRIES = 2
"""How often an answer that does not fit is asked for again unless you say otherwise."""

MAX_PROBLEMS, MAX_GOT = 5, 80
"""Problems that are told, and characters of each wrong value."""

RULE = "Your final answer must be JSON that fits this schema, and nothing else:\n{schema}"
AGAIN = "[nbtool] Your answer does not fit the schema: {problem}\nAnswer again, with the whole JSON and nothing else."

_FENCED = re.compile(r"```\w*\s*\n(.*?)```", re.DOTALL)


@dataclass(slots=True)
class _State:
    """How far one turn is with its answer; `pieces` are those of a reply that comes in several."""

    problem: str = ""
    asked: int = 0
    is_found: bool = False
    pieces: list[str] = field(default_factory=list)


class Structured:
    """Makes the answer of a turn a value of a type, and keeps it as `value`.

        fruit = Structured(list[Fruit])
        Chat(plugins=[fruit]).send("Which fruit is in season?")
        fruit.value

    A type is anything that pydantic can read from JSON: a model, a dataclass, a TypedDict, `list[…]`, `dict[…]`, an
    enum. An answer that does not fit is asked for again at most `retries` times, with the problem told and without
    tools; then the turn ends with `InvalidAnswer`. `chat.send(…, as_=Fruit)` makes one for you.

    Raises:
        BadUsage: the type cannot be read from JSON.
    """

    runs_on_loop = True

    def __init__(self, type_: Any, *, retries: int = RETRIES) -> None:
        if retries < 0:
            raise BadUsage(f"retries must be 0 or more, not {retries!r}.")
        self.name = getattr(type_, "__name__", "") if isinstance(type_, type) else str(type_)
        self.adapter, self.schema, self._is_wrapped = answer_schema(type_)
        self.retries = retries
        self.value: Any = None
        self._key = f"structured {id(self)}"

    def on_turn_start(self, turn: TurnContext) -> None:
        """Forget the value of the turn before."""
        self.value = None
        turn.state[self._key] = _State()

    def on_before_request(self, request: RequestContext) -> None:
        """Tell the schema; the person's own options win."""
        told = RULE.format(schema=json.dumps(self.schema, ensure_ascii=False))
        request.system = f"{request.system}\n\n{told}".lstrip()
        if self._of(request.turn).asked:
            request.is_final = True  # an answer that is asked for again needs no tools
        if "json_schema" in request.turn.abilities and not request.prompt().tools:
            ours = options_for(request.turn.dialect, self.schema, strict=is_strict(self.schema))
            request.options = {**ours, **request.options}

    async def on_after_request(self, reply: ReplyContext) -> None:
        """Read an answer, or ask for it again."""
        state, said = self._of(reply.turn), reply.reply
        if said.calls or said.refusal:
            state.pieces.clear()
            return
        state.pieces.append(said.text)
        if said.stop_reason in ("length", "paused"):
            return  # whoever continues it brings the rest
        text = "".join(state.pieces)
        state.pieces.clear()
        if not self._read(text, state) and state.asked < self.retries and reply.can_request:
            state.asked += 1
            await reply.append_and_request(user(AGAIN.format(problem=state.problem)))

    def on_turn_end(self, turn: TurnContext) -> None:
        """Make the turn an error where it brought no value.

        Raises:
            InvalidAnswer: it says why.
        """
        state = self._of(turn)
        if state.is_found or turn.status != "completed":
            return
        last = turn.chain[-1].text if turn.chain else ""
        if not self._read("".join(state.pieces) or last, state):
            raise InvalidAnswer(f"The answer is no {self.name}: {state.problem}.", fix="Ask again, or for less.")

    def take(self, text: str) -> None:
        """Take the value out of an answer that is there already.

        Raises:
            InvalidAnswer: it says why.
        """
        state = _State()
        if not self._read(text, state):
            raise InvalidAnswer(f"The answer is no {self.name}: {state.problem}.", fix="Ask again, or for less.")

    def _of(self, turn: TurnContext) -> _State:
        state: _State = turn.state[self._key]
        return state

    def _read(self, text: str, state: _State) -> bool:
        """Take the first JSON of an answer that fits; keeps the problem where none does."""
        from pydantic import ValidationError  # noqa: PLC0415 - loaded when the type was read

        state.problem = "it holds no JSON"
        for found in _json_in(text):
            if self._is_wrapped and isinstance(found, dict) and found.keys() == {"value"}:
                found = found["value"]
            try:
                self.value = self.adapter.validate_json(json.dumps(found), strict=True)
            except ValidationError as error:
                state.problem = _problems(error)
            else:
                state.is_found = True
                return True
        return False


def _json_in(text: str) -> Iterator[Any]:
    """Give what reads as JSON: the whole text, what stands in fences, and what stands between the outer brackets."""
    spans = [text, *_FENCED.findall(text)]
    spans += [text[text.find(begin) : text.rfind(end) + 1] for begin, end in ("{}", "[]") if begin in text]
    for span in dict.fromkeys(map(str.strip, spans)):
        try:
            yield json.loads(span)
        except (ValueError, RecursionError):
            continue


def _problems(error: Any) -> str:
    problems = error.errors(include_url=False, include_context=False)
    told = []
    for one in problems[:MAX_PROBLEMS]:
        place = ".".join(map(str, one["loc"])) or "the answer"
        got = json.dumps(one["input"], default=str, ensure_ascii=False)
        told.append(f"{place}: {one['msg']}, not {shorten(got, MAX_GOT)}")
    return "; ".join(told) + (f" and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else "")
