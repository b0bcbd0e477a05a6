"""The calls of other programs as one document: each is a turn of its own, of which its call is shown with who asked.

It has the part of a `Transcript`'s interface that a widget reads, so that one widget shows all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from nbtool.blocks.confusables import escape_confusables
from nbtool.blocks.display_limits import DISPLAY_LIMITS
from nbtool.blocks.fold.document_builder import DocumentBuilder
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.labels import status_line
from nbtool.blocks.protocol import Block, Document, Head, Patch
from nbtool.blocks.sanitize import one_line
from nbtool.events import Event, TurnStatus
from nbtool.messages import Media

MAX_SHOWN = 20
"""Number of calls that are shown."""

DROPPED_AT_ONCE = 4
"""Number of the oldest calls that are no longer shown when there is no room, so that the others seldom move."""

FOR_CLIENT = " for {client}?"
"""The end of the question whether to run a call; its result goes to that client."""

NOT_SHOWN = "{count:,} earlier {calls} not shown here: {commands}"

UNDER_WAY: tuple[TurnStatus, ...] = ("waiting", "running")
"""The states of a turn that has not ended, the one that needs a person first."""

SAVED_STATUSES: dict[TurnStatus, TurnStatus] = {"parked": "completed", "waiting": "parked"}
"""The states of all calls in a saved notebook, where they differ: nothing waits where no call is under way."""

NAME_LENGTH = 40
"""Characters of a client's name."""


class _ServedTurn:
    """One turn: who asked, and its blocks."""

    def __init__(self, key: str, client: str, history: str) -> None:
        self.key, self.client, self.history = key, one_line(escape_confusables(client), NAME_LENGTH), history
        self.transcript = Transcript()

    @property
    def is_under_way(self) -> bool:
        return self.transcript.head["status"] in UNDER_WAY

    def feed(self, event: Event) -> list[Patch]:
        """Fold an event; return the patches of the blocks that are shown."""
        folded = (self._shown_patch(patch) for patch in self.transcript.feed(event))
        return [patch for patch in folded if patch is not None]

    def blocks(self) -> list[Block]:
        """Return what is shown: the calls, and what went wrong around them."""
        document = self.transcript.document()
        blocks = [self._shown(block) for block in document["blocks"] if _is_shown(block)]
        end = status_line(document["head"]) if document["head"]["status"] in ("error", "timeout") else ""
        if end:
            blocks.append({"id": f"{self.key}.end", "kind": "notice", "text": end, "level": "error"})
        return blocks

    def _shown_patch(self, patch: Patch) -> Patch | None:
        if patch["op"] == "head":
            return None
        if patch["op"] == "open":
            return {"op": "open", "block": self._shown(patch["block"])} if _is_shown(patch["block"]) else None
        if not _is_shown(self.transcript.block(patch["id"])):
            return None
        own = {**patch, "id": self._id(patch["id"])}
        if patch["op"] == "update":
            own["set"] = self._worded(patch["set"])
        return cast("Patch", own)

    def _shown(self, block: Block) -> Block:
        return cast("Block", self._worded({**block, "id": self._id(block["id"])}))

    def _id(self, block_id: str) -> str:
        return f"{self.key}.{block_id}"

    def _worded(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return fields of a call with who asked: in its facts, and in the question whether to run it."""
        words = dict(fields)
        if "facts" in words:
            words["facts"] = " · ".join(filter(None, (words["facts"], self.client)))
        if (question := words.get("question")) and question["gate"] == "run":
            first, *others = question["ask"]
            ask = [first, *others[:-1], FOR_CLIENT.format(client=self.client)]
            words["question"] = {**question, "ask": ask if others[-1] == "?" else [f"{self.client}: {first}", *others]}
        return words


class ServedCalls:
    """The calls of programs in order of time, the newest last; `MAX_SHOWN` are shown.

    The document is parked while no call runs: nothing waits for it, and its place remains.
    """

    def __init__(self, document_id: str) -> None:
        self._turns: dict[str, _ServedTurn] = {}
        self._dropped: Counter[str] = Counter()
        self._blocks = DocumentBuilder(DISPLAY_LIMITS)
        self._blocks.set_head(turn_id=document_id, acts=[])
        self._set_status("parked")

    @property
    def head(self) -> Head:
        """The state of all calls."""
        return self._blocks.head

    @property
    def are_under_way(self) -> bool:
        """Whether a call has yet to end."""
        return any(turn.is_under_way for turn in self._turns.values())

    @property
    def media(self) -> Mapping[str, Media]:
        """The images, sounds and files of the calls, by key."""
        return {key: item for turn in self._turns.values() for key, item in turn.transcript.media.items()}

    def add(self, key: str, client: str, history: str) -> list[str]:
        """Add the turn of a call that is about to start; return the keys of those that are no longer shown.

        `history` is the command that lists the client's calls.
        """
        ended = [key for key, turn in self._turns.items() if not turn.is_under_way]
        dropped = ended[:DROPPED_AT_ONCE] if len(self._turns) >= MAX_SHOWN else []
        self._dropped.update(self._turns.pop(old).history for old in dropped)
        self._turns[key] = _ServedTurn(key, client, history)
        return dropped

    def feed(self, key: str, event: Event) -> list[Patch]:
        """Fold the next event of a turn; return the patches."""
        turn = self._turns[key]
        patches = turn.feed(event)
        if event.kind == "turn_ended" and turn.transcript.head["status"] in ("error", "timeout"):
            patches.append({"op": "open", "block": turn.blocks()[-1]})
        statuses = {turn.transcript.head["status"] for turn in self._turns.values()}
        return patches + self._set_status(next((status for status in UNDER_WAY if status in statuses), "parked"))

    def end(self) -> None:
        """Note that no further call follows."""
        self._set_status("completed")

    def saved(self) -> Document:
        """Return the document as a notebook saves it."""
        document = self.document()
        head = document["head"]
        head["status"] = SAVED_STATUSES.get(head["status"], head["status"])
        return document

    def document(self) -> Document:
        """Return all calls that are shown: JSON, sharing nothing with this object."""
        blocks = [block for turn in self._turns.values() for block in turn.blocks()]
        if self._dropped:
            text = _describe_dropped(self._dropped)
            blocks.insert(0, {"id": "dropped", "kind": "notice", "text": text, "level": "info"})
        return {**self._blocks.document(), "blocks": blocks}

    def find_media(self, key: str) -> Media | None:
        """Return the media of a key: of a call, or of a pending question."""
        found = (turn.transcript.find_media(key) for turn in self._turns.values())
        return next((item for item in found if item is not None), None)

    def _set_status(self, status: TurnStatus) -> list[Patch]:
        """Set the state of all; in words it is said of each call."""
        if status == self.head["status"]:
            return []
        self.head["status"], self.head["end"] = status, ""
        return [{"op": "head", "set": {"status": status, "end": ""}}]


def _is_shown(block: Block) -> bool:
    return block["kind"] == "call" or (block["kind"] == "notice" and not block.get("aside"))


def _describe_dropped(dropped: Counter[str]) -> str:
    """Return the line about calls that are no longer shown, with the commands that list all calls of their clients."""
    count = dropped.total()
    commands = [f"`{line}`{f' ({number:,})' if len(dropped) > 1 else ''}" for line, number in dropped.items()]
    return NOT_SHOWN.format(count=count, calls="call is" if count == 1 else "calls are", commands=", ".join(commands))
