"""Structured output: send a schema, validate the answer, and ask again if it does not match.

The schema is part of the system text, which every model reads. If the provider supports it (the ability `json_schema`),
it is also sent as the response format, in rounds without tools: a server that enforces a schema cannot call tools. Of
an answer's JSON only what can be read in one way is read (see `answer_json`); for the rest the model is asked again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from nbtool.annotation_kinds import NOT_NEGATIVE
from nbtool.argument_check import check_arguments
from nbtool.chain.hooks import ReplyContext, RequestContext, TurnContext
from nbtool.errors import BadUsage, InvalidAnswer
from nbtool.json_schema.dialects import is_strict
from nbtool.json_schema.keywords import map_subschemas
from nbtool.messages import user
from nbtool.plugins.answer_json import find_values
from nbtool.text import shorten
from nbtool.tools.schema.annotations import takes_objects, to_json_type
from nbtool.tools.schema.json_schema import ANSWER_SCHEMA_PROMPT, drop_titles, inline_refs
from nbtool.tools.schema.validator import Validator, compile_validator
from nbtool.wire.dialect import find_dialect


def schema_for(type_: Any) -> tuple[Validator, dict[str, Any], bool]:
    """Return a type's validator, its schema as an object, and whether it is wrapped as `{"value": …}`.

    Raises:
        BadUsage: the type cannot be read from JSON.
    """
    from pydantic import PydanticUserError  # noqa: PLC0415 - only where an answer is to be a value

    unfit = BadUsage(f"An answer cannot be read as {type_!r}.", fix="Use a pydantic model, a dataclass or a list.")
    try:
        lifted = to_json_type(type_)
        if takes_objects(lifted):
            raise unfit  # an answer is JSON: it cannot contain objects without a JSON form
        validator = compile_validator(lifted, closes_records=False)
        schema = _close_objects(inline_refs(drop_titles(validator.json_schema)))
    except (PydanticUserError, BadUsage, TypeError, NameError):
        raise unfit from None
    if schema.get("type") == "object":
        return validator, schema, False
    shared = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    wrapped = {"type": "object", "properties": {"value": schema}, "required": ["value"], "additionalProperties": False}
    return validator, {**wrapped, **shared}, True


def _close_objects(schema: Any) -> Any:
    """Set `additionalProperties` to False in every object."""
    if not isinstance(schema, dict):
        return schema
    copy = map_subschemas(schema, _close_objects)
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        copy.setdefault("additionalProperties", False)
    return copy


RETRIES = 2
"""Default number of retries after an answer that does not match."""

MAX_PROBLEMS, MAX_INPUT_CHARS = 5, 80
"""Maximum number of problems sent to the model, and characters of each invalid value."""

RETRY_PROMPT = (
    "[nbtool] Your answer does not match the schema: {problem}\nAnswer again, with the complete JSON and nothing else."
)

QUOTES_AND_EMPHASIS = "\"'`*_“”"
"""What a model writes around a single word."""

AT_LIMIT = "it was cut off at its length limit, before its JSON was complete"
SEVERAL = "it contains {count} values that match; one is expected"


@dataclass(slots=True)
class _State:
    """The state of one turn; `pieces` are the parts of a reply that is continued, and `is_cut` if that did not help."""

    problem: str = ""
    retries: int = 0
    is_found: bool = False
    is_cut: bool = False
    pieces: list[str] = field(default_factory=list)


@check_arguments
class Structured:
    """Parses the answer of a turn as a value of a type, and stores it as `value`.

        fruit = Structured(list[Fruit])
        Chat(plugins=[fruit]).send("Which fruit is in season?")
        fruit.value

    A type is anything that pydantic can read from JSON: a model, a dataclass, a TypedDict, `list[…]`, `dict[…]`, an
    enum; `str` is the text of the answer as it is, for which no schema is sent. An answer without JSON counts if the
    whole of it is a value: `Yes`, a name of an enum, a date. After an answer that does not match,
    the model is asked again at most `retries` times, with the problem and without tools; then the turn ends with
    `InvalidAnswer`. `chat.send(…, as_=Fruit)` creates one for you.

    Raises:
        BadUsage: the type cannot be read from JSON.
    """

    runs_on_loop = True

    def __init__(self, type_: Any, *, retries: Annotated[int, NOT_NEGATIVE] = RETRIES) -> None:
        self.name = getattr(type_, "__name__", "") if isinstance(type_, type) else str(type_)
        self.validator, self.schema, self._is_wrapped = schema_for(type_)
        self.retries, self._is_text = retries, type_ is str
        self.value: Any = None
        self._key = f"structured {id(self)}"

    def on_turn_start(self, turn: TurnContext) -> None:
        """Reset the value of the previous turn."""
        self.value = None
        turn.state[self._key] = _State()

    def on_before_request(self, request: RequestContext) -> None:
        """Add the schema to the request; the user's own options take precedence."""
        if self._is_text:
            return
        prompt = ANSWER_SCHEMA_PROMPT + json.dumps(self.schema, ensure_ascii=False)
        request.system = f"{request.system}\n\n{prompt}".lstrip()
        is_enforceable = "json_schema" in request.turn.abilities
        if self._state_of(request.turn).retries or (request.is_final and is_enforceable):
            request.has_tools = False
        if is_enforceable and not request.prompt().tools:
            defaults = find_dialect(request.turn.dialect).answer_options(self.schema, is_strict(self.schema))
            request.options = {**defaults, **request.options}

    async def on_after_request(self, reply: ReplyContext) -> None:
        """Parse the answer, or ask again."""
        state, answer = self._state_of(reply.turn), reply.reply
        if answer.calls or answer.refusal:
            state.pieces.clear()
            return
        state.pieces.append(answer.answer)
        state.is_cut = answer.stop_reason == "length"
        if answer.stop_reason in ("length", "paused"):
            return  # the rest follows when the reply is continued
        text = "".join(state.pieces)
        state.pieces.clear()
        if not self._find_value(text, state) and state.retries < self.retries and reply.can_request:
            state.retries += 1
            await reply.append_and_request(user(RETRY_PROMPT.format(problem=state.problem)))

    def on_turn_end(self, turn: TurnContext) -> None:
        """Fail a completed turn without a value.

        Raises:
            InvalidAnswer: the answer does not match; the text says why.
        """
        state = self._state_of(turn)
        if state.is_found or turn.status != "completed":
            return
        last = turn.chain[-1].answer if turn.chain else ""
        if not self._find_value("".join(state.pieces) or last, state):
            raise InvalidAnswer(
                f"The answer is not a valid {self.name}: {state.problem}.", fix="Ask again, or for less."
            )

    def parse(self, text: str) -> None:
        """Parse the value of an existing answer.

        Raises:
            InvalidAnswer: the answer does not match; the text says why.
        """
        state = _State()
        if not self._find_value(text, state):
            raise InvalidAnswer(
                f"The answer is not a valid {self.name}: {state.problem}.", fix="Ask again, or for less."
            )

    def _state_of(self, turn: TurnContext) -> _State:
        state: _State = turn.state[self._key]
        return state

    def _find_value(self, text: str, state: _State) -> bool:
        """Store the JSON value of an answer that matches, or else the problem."""
        if self._is_text:
            self.value, state.is_found = text, True
            return True
        found = find_values(text)
        matches: list[Any] = []
        problems: list[str] = []
        for value in found.values:
            match, problem = self._validate(value)
            if problem:
                problems.append(problem)
            else:
                matches.append(match)
        if not found.values and self._is_wrapped:
            matches = self._find_plain(text)
        if len(matches) == 1:
            self.value, state.is_found = matches[0], True
            return True
        state.problem = SEVERAL.format(count=len(matches)) if matches else (problems or [found.problem])[-1]
        if state.is_cut and not found.values:
            state.problem = AT_LIMIT
        return False

    def _find_plain(self, text: str) -> list[Any]:
        """Return the value that an answer without JSON is as a whole, such as `Yes` or a date; none otherwise."""
        plain = text.strip()
        for form in dict.fromkeys((plain, plain.rstrip(".").strip(QUOTES_AND_EMPHASIS))):
            match, problem = self._validate(form, is_strict=False)
            if form and not problem:
                return [match]
        return []

    def _validate(self, value: Any, *, is_strict: bool = True) -> tuple[Any, str]:
        """Return a JSON value as a value of the type, and the problem if it is none."""
        from pydantic import ValidationError  # noqa: PLC0415 - loaded when the type was read

        if self._is_wrapped and isinstance(value, dict) and value.keys() == {"value"}:
            value = value["value"]
        try:
            match = self.validator.validate_json(json.dumps(value), is_strict=is_strict)
        except ValidationError as error:
            return None, _describe_errors(error)
        return match, ""


def _describe_errors(error: Any) -> str:
    problems = error.errors(include_url=False, include_context=False)
    lines = []
    for problem in problems[:MAX_PROBLEMS]:
        location = ".".join(map(str, problem["loc"])) or "the answer"
        received = json.dumps(problem["input"], default=str, ensure_ascii=False)
        lines.append(f"{location}: {problem['msg']}, not {shorten(received, MAX_INPUT_CHARS)}")
    return "; ".join(lines) + (f" and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else "")
