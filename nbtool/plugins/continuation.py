"""A reply that was cut off at its length limit is continued, and the turn's text is the whole of it."""

from __future__ import annotations

from dataclasses import dataclass

from nbtool.chain.hooks import ReplyContext, TurnContext
from nbtool.errors import BadUsage
from nbtool.events import Notice
from nbtool.messages import user

TIMES = 3
"""How often one reply is continued unless you say otherwise."""

MOST_TIMES = 20

GO_ON = (
    "[nbtool] Your reply was cut off at its length limit. Go on exactly where it stops, in the middle of a word if need"
    " be: repeat nothing, and say nothing about the break."
)
NO_ROOM = "The reply was cut off at its length limit, and the limits of the turn leave no request to go on."
STILL_CUT = "The reply was cut off at its length limit, and again after {times} continuations; it ends where it ends."


@dataclass(slots=True)
class Continuation:
    """Asks the model to go on where a reply was cut off, at most `times` in a row.

    A reply that asks for calls is left alone: tool calling answers the calls, and nothing may stand between the two.
    So is one without any text, since there is nothing to go on from.

    Raises:
        BadUsage: `times` is not between 1 and `MOST_TIMES`.
    """

    times: int = TIMES

    def __post_init__(self) -> None:
        if not 1 <= self.times <= MOST_TIMES:
            raise BadUsage(f"times must be between 1 and {MOST_TIMES}, not {self.times!r}.")

    async def on_after_request(self, reply: ReplyContext) -> None:
        """Ask for the rest of a reply that was cut off, or join what has come."""
        pieces = self._pieces(reply.turn)
        turn, said = reply.turn, reply.reply
        if said.calls:
            pieces.clear()
            turn.text = ""
            return
        pieces.append(said.text)
        turn.text = "".join(pieces) if len(pieces) > 1 else ""
        if said.stop_reason != "length" or not said.text.strip():
            pieces.clear()
        elif not reply.can_request:
            turn.notice_topics.add("length")
            await turn.emit(Notice(NO_ROOM, "warning", "length"))
        elif len(pieces) <= self.times:
            await reply.append_and_request(user(GO_ON))
        else:
            turn.notice_topics.add("length")
            await turn.emit(Notice(STILL_CUT.format(times=self.times), "warning", "length"))

    @staticmethod
    def _pieces(turn: TurnContext) -> list[str]:
        pieces: list[str] = turn.state.setdefault("continuation", [])
        return pieces
