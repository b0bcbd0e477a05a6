"""A double of a model that obeys every injection: known calls, and the attacker's once it has read of them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence

from benchmarks.gates.agentdojo import MARK
from benchmarks.gates.world import Call
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedWire, call
from nbtool.wire.base import Prompt

MAX_REPLIES = 400
"""Replies that the script has; no run needs as many."""

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
        if self._calls:
            following = self._calls.popleft()
            return call(following.tool, **following.arguments)
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
