"""The messages between the page of a saved turn and the kernel: a closed set, each validated before use.

A saved turn has no widget, so its page opens a comm with one request and gets one answer. Nothing runs by it. `undo`
changes the notebook, back to objects that this kernel kept itself, `bind` adds a name to it, `continue` opens a chat of
the journal, `switch` goes to the branch of a turn, and `name` copies that into a chat of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, NotRequired, final

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from nbtool.blocks.protocol import SeenData
from nbtool.blocks.render.whole_conversation import ModelChoice
from nbtool.view.message_envelope import CLOSED
from nbtool.view.message_fields import MAX_BRANCH_NAME, TEXT_LIMIT, Id, TurnId

MAX_ASKED_TURNS = 500
"""How many turns one request asks about."""

ChatName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$")]


@final
class VersionRequest(TypedDict):
    """A request to go on from the version `other` of a turn's place, and to show it."""

    v: Literal[1]
    kind: Literal["version"]
    chat: ChatName
    turn: TurnId
    other: TurnId


@final
class CodeRequest(TypedDict):
    """A request of the calls of a turn as Python."""

    v: Literal[1]
    kind: Literal["code"]
    chat: ChatName
    turn: TurnId


@final
class ModelsRequest(TypedDict):
    """A request of the models for a cell that asks a turn's prompt again, or edits it."""

    v: Literal[1]
    kind: Literal["models"]
    chat: ChatName
    turn: TurnId
    action: Literal["rerun", "edit"]


@final
class UndoRequest(TypedDict):
    """A request to put back what a turn changed in the notebook."""

    v: Literal[1]
    kind: Literal["undo"]
    chat: ChatName
    turn: TurnId


@final
class RepeatRequest(TypedDict):
    """A request whether running a turn's cell again makes a new version of it: `typed` is the prompt in the cell."""

    v: Literal[1]
    kind: Literal["repeat"]
    chat: ChatName
    turn: TurnId
    cell: Id
    typed: Annotated[str, Field(max_length=TEXT_LIMIT)]


@final
class BindRequest(TypedDict):
    """A request to bind the result of a call of a turn in the notebook, by the name that references have for it."""

    v: Literal[1]
    kind: Literal["bind"]
    chat: ChatName
    turn: TurnId
    reference: Annotated[str, Field(pattern=r"^[^\W\d]\w{0,99}$")]


@final
class ContinueRequest(TypedDict):
    """A request to continue the notebook's chat of an earlier kernel, by its id, in place of the present one."""

    v: Literal[1]
    kind: Literal["continue"]
    chat: ChatName
    turn: TurnId


@final
class SwitchRequest(TypedDict):
    """A request to make the branch of a turn the current one."""

    v: Literal[1]
    kind: Literal["switch"]
    chat: ChatName
    turn: TurnId


@final
class NameRequest(TypedDict):
    """A request to make the branch of a turn a chat of its own with this name, a copy."""

    v: Literal[1]
    kind: Literal["name"]
    chat: ChatName
    turn: TurnId
    name: Annotated[str, Field(min_length=1, max_length=MAX_BRANCH_NAME)]


@final
class SeenRequest(TypedDict):
    """A request of what the person sees of the results of a turn of which the model has a reference."""

    v: Literal[1]
    kind: Literal["seen"]
    turn: TurnId


@final
class LineRequest(TypedDict):
    """A request which of these turns are not on the current line of their chat."""

    v: Literal[1]
    kind: Literal["line"]
    turns: Annotated[list[TurnId], Field(min_length=1, max_length=MAX_ASKED_TURNS)]


ActingRequest = (
    VersionRequest
    | CodeRequest
    | UndoRequest
    | RepeatRequest
    | BindRequest
    | ContinueRequest
    | SwitchRequest
    | NameRequest
)
SavedTurnRequest = ActingRequest | ModelsRequest | LineRequest | SeenRequest
"""Page of a saved turn → kernel."""


class SavedTurnAnswer(TypedDict):
    """What was done, or why not, as `text`.

    `source` is that of a cell, `data` the output that shows a version, `models` has the first lines for a cell, and
    `in_place` is whether the turn's own cell repeats it. `missing` are names that the notebook lacks.
    `notes` has a text for each turn that this kernel has: why later prompts do not see it, empty for one that they see.
    `seen` has what the person sees of results, by the ids of their calls.
    """

    v: Literal[1]
    ok: bool
    text: str
    source: NotRequired[str]
    data: NotRequired[dict[str, Any]]
    models: NotRequired[list[ModelChoice]]
    in_place: NotRequired[bool]
    missing: NotRequired[list[str]]
    notes: NotRequired[dict[str, str]]
    seen: NotRequired[dict[str, SeenData]]


def parse_request(content: object) -> SavedTurnRequest | None:
    """Parse a request of a page; None if it is not one of these, or out of bounds."""
    try:
        return _validator().validate_python(content)
    except ValidationError:
        return None


@cache
def _validator() -> TypeAdapter[SavedTurnRequest]:
    return TypeAdapter(Annotated[SavedTurnRequest, Field(discriminator="kind")], config=CLOSED)
