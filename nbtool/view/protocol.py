"""The messages between kernel and page, in both directions.

`js/src/generated.ts` is generated from the types here, in `nbtool.blocks.protocol` and in `nbtool.blocks.history`.
Messages of a page are validated against them: see `page_messages` and `explorer_messages`. Their envelope (`v`,
`nonce`, `id`, and `turn` for a turn's widget) is checked first and is not part of these types.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, final

from pydantic import Field
from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from nbtool.blocks.history.protocol import Detail, Index, SearchHit, Totals
from nbtool.blocks.protocol import Document, Patch
from nbtool.view.actions import ActionId
from nbtool.view.message_fields import (
    ADDITION_LIMIT,
    MAX_BRANCH_NAME,
    MAX_ROUND,
    QUERY_LIMIT,
    TEXT_LIMIT,
    Digest,
    EditedArguments,
    Id,
    MediaKey,
    NotebookPath,
    OptionalId,
    Reason,
    SessionId,
)

# --- from the page of a turn ----------------------------------------------------------------------------------


@final
class PlainRequest(TypedDict):
    """A request without content.

    `gone` says that the last view of the page was removed; `resync` requests a snapshot, `rich` and `formulas` a
    later module; `took` says that the output was replaced.
    """

    kind: Literal["gone", "stop", "resync", "ping", "rich", "formulas", "took"]


class Greeting(TypedDict):
    """`present` says that the page has the widget, `hello` that it draws it.

    A page that writes the notebook's file says the path of the `notebook`, and the `session` of its requests.
    """

    kind: Literal["present", "hello"]
    notebook: NotRequired[NotebookPath]
    session: NotRequired[SessionId]


class ActRequest(TypedDict):
    """An action on the turn: its cell is inserted below and not run."""

    kind: Literal["act"]
    action: ActionId


class StopCallRequest(TypedDict):
    """A request to stop one running call; the turn goes on."""

    kind: Literal["stop_call"]
    call_id: Id


class AdditionRequest(TypedDict):
    """A text that the running turn gets with its next request."""

    kind: Literal["add"]
    text: Annotated[str, Field(max_length=ADDITION_LIMIT)]


class MediaRequest(TypedDict):
    """A request of the bytes of an image or a sound."""

    kind: Literal["media"]
    key: MediaKey


class ApproveRequest(TypedDict):
    """An approval; `arguments` are the edited ones, as the text of their JSON."""

    kind: Literal["approve"]
    digest: Digest
    remember: NotRequired[Literal["call", "tool"] | None]
    arguments: NotRequired[EditedArguments | None]


class DenyRequest(TypedDict):
    """A denial of a call, or of the release of its result."""

    kind: Literal["deny", "withhold"]
    digest: Digest
    reason: NotRequired[Reason | None]


class ReleaseRequest(TypedDict):
    """A release of a result; `text` is the edited one."""

    kind: Literal["release"]
    digest: Digest
    text: NotRequired[Annotated[str, Field(max_length=TEXT_LIMIT)] | None]


class BindingRequest(TypedDict):
    """A request to bind the result of a call to a name in the notebook; without `name` one is derived."""

    kind: Literal["bind"]
    call_id: Id
    name: NotRequired[str | None]
    replace: NotRequired[bool | None]


PageDecision = ApproveRequest | DenyRequest | ReleaseRequest
PageMessage = (
    PlainRequest
    | Greeting
    | ActRequest
    | StopCallRequest
    | AdditionRequest
    | MediaRequest
    | PageDecision
    | BindingRequest
)
"""Page → kernel; the connection adds the envelope."""


# --- to the page of a turn ------------------------------------------------------------------------------------

EncodedPatch = Annotated[Patch | list[str], "Patch | [id: string, text: string, field?: 'arguments' | 'progress']"]
"""A patch as it is sent: the frequent ones are the id of a block, the text, and the field unless that is `text`."""


class LazyModuleMessage(TypedDict):
    """One of the later modules, in the message's one buffer; its version names it."""

    v: Literal[1]
    kind: Literal["rich"]
    version: str


class MediaMessage(TypedDict):
    """The bytes of an image or a sound, in the message's one buffer."""

    v: Literal[1]
    kind: Literal["media"]
    key: str


class PatchesMessage(TypedDict):
    """The next patches of the document; a gap in `seq` is a lost message."""

    v: Literal[1]
    kind: Literal["patches"]
    seq: int
    patches: list[EncodedPatch]


class SnapshotMessage(TypedDict):
    """The whole document."""

    v: Literal[1]
    kind: Literal["snapshot"]
    seq: int
    document: Document


class AckMessage(TypedDict):
    """The message with this id arrived."""

    v: Literal[1]
    kind: Literal["ack", "pong"]
    id: str


class DecidedMessage(TypedDict):
    """Whether a decision was accepted; `text` is why not."""

    v: Literal[1]
    kind: Literal["decided"]
    id: str
    digest: str
    ok: bool
    text: str


class CellMessage(TypedDict):
    """The source of a cell to insert, or the reason why there is none."""

    v: Literal[1]
    kind: Literal["cell"]
    id: str
    ok: bool
    text: str


class OutputReplacement(TypedDict):
    """A new output; `was` identifies the former one: the id of its widget, or its plain text."""

    was: str
    data: dict[str, Any]


class ReplacedMessage(TypedDict):
    """The widget's output is replaced; `pages` are the names of the pages, the newest first."""

    v: Literal[1]
    kind: Literal["left"]
    pages: list[str]
    places: list[OutputReplacement]


class AddedMessage(TypedDict):
    """Whether a text was added to the turn; `text` is why not."""

    v: Literal[1]
    kind: Literal["added"]
    id: str
    ok: bool
    text: str


class SavedFormMessage(TypedDict):
    """What a notebook that is saved now keeps in the place of the widget, by media types."""

    v: Literal[1]
    kind: Literal["form"]
    data: dict[str, Any]


class BoundMessage(TypedDict):
    """The name that a result was bound to, or in `text` the reason why not."""

    v: Literal[1]
    kind: Literal["bound"]
    id: str
    call_id: str
    ok: bool
    name: str
    text: str


KernelMessage = (
    LazyModuleMessage
    | MediaMessage
    | PatchesMessage
    | SnapshotMessage
    | AckMessage
    | DecidedMessage
    | CellMessage
    | ReplacedMessage
    | SavedFormMessage
    | BoundMessage
    | AddedMessage
)
"""Kernel → page of a turn."""


# --- from and to the page of an explorer ----------------------------------------------------------------------


class ExplorerPlainRequest(TypedDict):
    """A request without content: the index, the totals, or the second module."""

    kind: Literal["hello", "totals", "rich", "formulas"]


class OpenRequest(TypedDict):
    """A request of one turn in detail."""

    kind: Literal["open"]
    turn: Id


class SearchRequest(TypedDict):
    """A search in all turns."""

    kind: Literal["search"]
    text: Annotated[str, Field(max_length=QUERY_LIMIT)]


class CellRequestData(TypedDict):
    """A request of a cell; `round` is its first round, `call` the id of its call."""

    kind: Literal["cell"]
    action: ActionId
    turn: NotRequired[OptionalId]
    round: NotRequired[Annotated[int, Field(ge=0, le=MAX_ROUND)]]
    call: NotRequired[OptionalId]


class TurnMediaRequest(TypedDict):
    """A request of the bytes of an image or a sound of a turn."""

    kind: Literal["media"]
    turn: Id
    key: MediaKey


class BranchNameRequest(TypedDict):
    """A request to make the branch of a turn a chat of its own with this name, a copy."""

    kind: Literal["name"]
    turn: Id
    name: Annotated[str, Field(min_length=1, max_length=MAX_BRANCH_NAME)]


ExplorerRequest = (
    ExplorerPlainRequest | OpenRequest | SearchRequest | CellRequestData | TurnMediaRequest | BranchNameRequest
)
"""Page of an explorer → kernel; the connection adds the envelope."""


class IndexAnswer(TypedDict):
    """The tree of turns."""

    v: Literal[1]
    kind: Literal["index"]
    id: str
    index: Index


class DetailAnswer(TypedDict):
    """One turn."""

    v: Literal[1]
    kind: Literal["turn"]
    id: str
    detail: Detail


class SearchAnswer(TypedDict):
    """The turns that match a search."""

    v: Literal[1]
    kind: Literal["found"]
    id: str
    found: list[SearchHit]


class TotalsAnswer(TypedDict):
    """The usage of the conversation."""

    v: Literal[1]
    kind: Literal["totals"]
    id: str
    totals: Totals


class TextAnswer(TypedDict):
    """The source of a cell, that a branch was named, or why a request was refused."""

    v: Literal[1]
    kind: Literal["cell", "named", "refused"]
    id: str
    text: str


Answer = IndexAnswer | DetailAnswer | SearchAnswer | TotalsAnswer | TextAnswer
"""Kernel → page of an explorer; each answers the message with this id."""


# --- from the page of a probe ---------------------------------------------------------------------------------

FrontEnd = Literal["jupyterlab", "notebook", "vscode", "colab", "other"]


class PageReport(TypedDict):
    """What a page can do, as its hello: see `view.probe`.

    `notebook`: it knows the cells of the notebook; `control`: it can send over the control channel; `extension`,
    `typesetter` and `diagrams`: JupyterLab's extension gave it links to cells, JupyterLab's formulas, and Mermaid.
    """

    kind: Literal["hello"]
    front_end: FrontEnd
    notebook: bool
    control: bool
    extension: bool
    typesetter: bool
    diagrams: bool
