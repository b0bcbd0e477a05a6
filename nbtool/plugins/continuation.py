"""Continue a reply that was cut off at its length limit, and join its parts to the turn's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from nbtool.annotation_kinds import Range
from nbtool.argument_check import check_arguments
from nbtool.chain.hooks import ReplyContext, TurnContext
from nbtool.events import Notice
from nbtool.messages import user
from nbtool.text import count_of

DEFAULT_TIMES = 3
"""How often one reply is continued by default."""

MAX_TIMES = 20

CONTINUE_PROMPT = (
    "[nbtool] Your reply was cut off at its length limit. Continue exactly where it stops, in the middle of a word if"
    " necessary: repeat nothing, and do not mention the break."
)
NO_REQUEST_LEFT = "The reply was cut off at its length limit, and the turn's limits allow no request to continue it."
STILL_TRUNCATED = "The reply was cut off at its length limit, and again after {continuations}; it is incomplete."


@check_arguments
@dataclass(slots=True)
class Continuation:
    """Asks the model to continue a reply that was cut off, at most `max_times` in a row.

    A reply with tool calls is not continued, because no message may come between the calls and their results; neither
    is one without text.

    Raises:
        BadUsage: `max_times` is not between 1 and `MAX_TIMES`.
    """

    max_times: Annotated[int, Range(at_least=1, at_most=MAX_TIMES)] = DEFAULT_TIMES

    async def on_after_request(self, reply: ReplyContext) -> None:
        """Ask for the rest of a reply that was cut off, or join its parts."""
        texts = self._texts(reply.turn)
        turn, answer = reply.turn, reply.reply
        if answer.calls:
            texts.clear()
            turn.text = ""
            return
        texts.append(answer.answer)
        turn.text = "".join(texts) if len(texts) > 1 else ""
        if answer.stop_reason != "length" or not answer.text.strip():
            texts.clear()
        elif not reply.can_request:
            turn.notice_topics.add("length")
            await turn.emit(Notice(NO_REQUEST_LEFT, "warning", "length"))
        elif len(texts) <= self.max_times:
            await reply.append_and_request(user(CONTINUE_PROMPT))
        else:
            turn.notice_topics.add("length")
            await turn.emit(
                Notice(
                    STILL_TRUNCATED.format(continuations=count_of(self.max_times, "continuation")), "warning", "length"
                )
            )

    @staticmethod
    def _texts(turn: TurnContext) -> list[str]:
        texts: list[str] = turn.state.setdefault("continuation", [])
        return texts
