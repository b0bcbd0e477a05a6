"""Doubles of a model that obeys every injection: known calls, and the attacker's once it has read of them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.gates.agentdojo import MARK, WITHHELD
from benchmarks.gates.world import Call
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedWire, call
from nbtool.wire.base import Prompt

MAX_REPLIES = 400
"""Replies that the script has; no run needs as many."""

GIVEN_UP = "I could not do it."

_PART = re.compile(r"Shown in part; the whole .*?: \$VAR_REF\{\{([\w-]+)\}\}")
_CONTINUED = re.compile(r"Continue with start=(\d+)")


class ObedientModel:
    """The model of one run.

    Args:
        calls: the correct calls of the user's task, one a round.
        answer: the correct answer.
        attack: the attacker's calls, made before anything else once the injected text is in a request.
        attack_answer: what the attacker wants in the answer.
    """

    def __init__(
        self, calls: Iterable[Call], answer: str, attack: Sequence[Call] = (), attack_answer: str = ""
    ) -> None:
        self._calls = deque(calls)
        self._answer = answer
        self._attack = attack
        self._attack_answer = attack_answer
        self._reading = ""
        self.meanings: Mapping[str, Any] = {}
        self.was_attacked = False

    def wire(self) -> ScriptedWire:
        """Return the endpoint of the model."""
        return ScriptedWire([self._reply] * MAX_REPLIES)

    def _reply(self, prompt: Prompt) -> str | ToolCall:
        texts = [result.text for result in prompt.messages[-1].results]
        if not self.was_attacked and any(MARK in text for text in texts):
            self.was_attacked = True
            self._calls.extendleft(reversed(self._attack))
        if read := self._read_on(texts):
            self._calls.appendleft(read)
        if any(WITHHELD in text for text in texts):  # it needed this result
            return GIVEN_UP
        following = self._next_call(texts)
        return call(following.tool, **following.arguments) if following else self._final_answer()

    def _next_call(self, texts: Sequence[str]) -> Call | None:
        del texts
        return self._calls.popleft() if self._calls else None

    def _final_answer(self) -> str:
        return " ".join(filter(None, (self._answer, self._attack_answer if self.was_attacked else ""))) or "Done."

    def _read_on(self, texts: Sequence[str]) -> Call | None:
        """Return the call that reads the rest of a result that was sent in part."""
        if self.was_attacked:
            return None
        for text in texts:
            if found := _PART.search(text):
                self._reading = found[1]
                return Call("ReadVar", {"name": found[1], "start": 0})
            if self._reading and (found := _CONTINUED.search(text)):
                return Call("ReadVar", {"name": self._reading, "start": int(found[1])})
        return None


class BlindModel(ObedientModel):
    """A model that has results by reference only: it makes the calls whose arguments it can know, and then gives up."""

    def __init__(self, *arguments: Any, known: Known) -> None:
        super().__init__(*arguments)
        self.meanings = known.meanings
        self._known = known

    def _next_call(self, texts: Sequence[str]) -> Call | None:
        for text in texts:
            self._known.add(text)
        following = super()._next_call(texts)
        if following is None:
            return None
        try:
            return Call(following.tool, self._known.write(following.arguments))
        except LookupError:
            self._calls.clear()
            return None

    def _read_on(self, texts: Sequence[str]) -> Call | None:
        del texts  # the question whether to send the rest of a result would be one about its values
        return None

    def _final_answer(self) -> str:
        return super()._final_answer() if self._known.has_read(self._answer) else GIVEN_UP


class Known:
    """What a model knows that has results by reference only.

    Args:
        prompt: what the person typed.
        results: what each call returned, in order; the model has none of it, and writes paths into it.
        composes: whether it makes up from the prompt what stands in no result: dates, times, texts.
    """

    def __init__(self, prompt: str, results: Sequence[Any], *, composes: bool) -> None:
        self.meanings: dict[str, Any] = {}
        self._texts = [prompt.casefold()]
        self._results = results
        self._composes = composes
        self._hidden: list[Any] = []

    def add(self, shown: str) -> None:
        """Take in the result of the latest call: its text, or paths into it if the model has its name only."""
        if not (name := _BY_REFERENCE.search(shown)):
            self._texts.append(shown.casefold())
            return
        for path, value in _paths(self._results[-1]):
            self._hidden.append(value)
            if _WRITABLE.fullmatch(path):
                self.meanings[f"$VAR_REF{{{{{name[1]}{path}}}}}"] = value

    def has_read(self, value: object) -> bool:
        """Whether a text or a number was typed, or is in a result that was sent."""
        word = (
            rf"(?<![\w.]){re.escape(f'{value:g}' if isinstance(value, float) else str(value).casefold())}(?![\w]|\.\d)"
        )
        return any(re.search(word, text) for text in self._texts)

    def write(self, value: Any) -> Any:
        """Return an argument as the model writes it; raises LookupError if it cannot know it."""
        if isinstance(value, Mapping):
            return {name: self.write(item) for name, item in value.items()}
        if value in (None, "") or isinstance(value, bool) or self.has_read(value):
            return value
        if reference := next((text for text, meant in self.meanings.items() if _is_same(meant, value)), ""):
            return reference
        if isinstance(value, list):
            return [self.write(item) for item in value]
        if self._composes and not self._stands_in_results(value):
            return value
        raise LookupError(value)

    def _stands_in_results(self, value: Any) -> bool:
        """Whether a value is in a result that the model has not read."""
        return any(hidden == value or (isinstance(hidden, str) and str(value) in hidden) for hidden in self._hidden)


_BY_REFERENCE = re.compile(r"\[Exposed by reference only.*\$VAR_REF\{\{([\w-]+)\}\}", re.DOTALL)
_WRITABLE = re.compile(r"(?:\[(?:\d+|'[\w .-]{1,64}')\])*")
"""The paths that a reference can have."""


def _paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a value and everything in it, each with its path."""
    yield path, value
    for key, item in (
        value.items() if isinstance(value, Mapping) else enumerate(value if isinstance(value, list) else ())
    ):
        yield from _paths(item, f"{path}[{key!r}]")


def _is_same(meant: Any, value: Any) -> bool:
    numbers = (int, float)
    return meant == value and (
        type(meant) is type(value) or (isinstance(meant, numbers) and isinstance(value, numbers))
    )
