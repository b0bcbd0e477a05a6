"""Every error that nbtool raises.

    NbtoolError
    ├── BadUsage                 a flag, an option or an argument of ours that makes no sense
    ├── SettingsError            a settings file or an environment variable that cannot be read
    ├── ModelError               no request could be made
    │   ├── UnknownModel
    │   ├── MissingKey
    │   ├── EnvFileNotAllowed    only a `.env` names the model or the address, and nobody allowed it
    │   └── Unsupported          the model or its wire cannot do what was asked
    ├── WireError                a request was made, and no whole reply came of it
    │   ├── ConnectionFailed
    │   ├── TimedOut
    │   ├── BadReply             what came is not what the dialect says (HTML, broken JSON)
    │   ├── IncompleteReply      the bytes ended before the provider's terminal signal
    │   ├── TooLarge
    │   └── ProviderError        the provider says no, by status or inside its stream
    │       ├── AuthFailed
    │       ├── ModelNotFound
    │       ├── RateLimited
    │       ├── ContextTooLong
    │       ├── ToolsRefused
    │       └── Overloaded
    ├── ToolFailed               raised by a tool: its text is what the model reads
    │   └── McpFailed            an MCP server that cannot be used
    ├── ToolError                a call that did not run; its text is what the model reads
    │   ├── UnknownTool
    │   ├── InvalidArguments
    │   └── UnknownReference     a reference that is unknown, malformed or dead
    ├── ApprovalError
    │   └── AlreadyDecided
    ├── InvalidAnswer            an answer that does not fit the type it was asked for as
    ├── LimitReached             rounds, calls, seconds, tokens or money ran out
    ├── Cancelled                the turn was stopped by a person
    ├── HookFailed               a plugin raised
    ├── NotRecorded              only recordings may answer, and none of them does
    └── JournalError
        ├── UnreadableEvent      data that is no event of a turn
        └── BadRecording         a recording that cannot be read or written

Every message is one line that says what was expected, what came, and what to do about it.
"""

from __future__ import annotations

from typing import Self

_NBTOOL_FRAMES = __file__.removesuffix("errors.py")


class NbtoolError(Exception):
    """An error of nbtool: one line of what happened, and one of what to do about it.

    A notebook shows these words and the caller's own lines, not ours below them; anywhere else the traceback is whole.
    """

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}" if self.fix else self.message

    def changed(self, *, message: str | None = None, fix: str | None = None) -> Self:
        """Return the same error with another message or fix; one that was raised is never changed itself."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.message = self.message if message is None else message
        copy.fix = self.fix if fix is None else fix
        copy.args = (copy.message,)
        copy.__cause__ = self.__cause__
        return copy

    def _render_traceback_(self) -> list[str]:
        """Show the error as IPython asks its exceptions to."""
        import traceback  # noqa: PLC0415 - only where an error is shown

        frames = traceback.extract_tb(self.__traceback__)
        first_own = next(
            (index for index, frame in enumerate(frames) if frame.filename.startswith(_NBTOOL_FRAMES)), len(frames)
        )
        callers = [frame for frame in frames[:first_own] if "-packages" not in frame.filename]
        return [*(f"line {frame.lineno}: {frame.line}" for frame in callers), f"{type(self).__name__}: {self}"]


class BadUsage(NbtoolError):
    """A flag, an option or an argument that makes no sense."""


class SettingsError(NbtoolError):
    """A settings file or an environment variable that cannot be read."""


class ModelError(NbtoolError):
    """No request could be made."""


class UnknownModel(ModelError):
    """The model id names no provider or no model that is known."""


class MissingKey(ModelError):
    """The provider asks for a key and none was found."""


class EnvFileNotAllowed(ModelError):
    """Only a `.env` names the model or its address, and no person has allowed that file yet; nothing was sent."""

    def __init__(self, path: str, names: list[str], destination: str) -> None:
        super().__init__(
            f"{path} names {' and '.join(names)}, so prompts would go to {destination}; nothing was sent.",
            fix="If that is what you want: `%chat env allow`, or NBTOOL_ALLOW_ENV_FILE=1 in the environment.",
        )
        self.path = path
        self.names = names
        self.destination = destination


class Unsupported(ModelError):
    """The model, or the wire it is spoken to over, cannot do what was asked."""


class WireError(NbtoolError):
    """A request was made, and no whole reply came of it; `source` is the provider with its host, empty if unknown."""

    source: str = ""

    def with_source(self, source: str) -> Self:
        """Return the same error with its source, where it had none."""
        if self.source:
            return self
        copy = self.changed()
        copy.source = source
        return copy


class ConnectionFailed(WireError):
    """The provider could not be reached, or the connection broke."""


class TimedOut(WireError):
    """Nothing came, or nothing moved, for longer than was allowed."""


class InvalidReply(WireError):
    """What came is not what the dialect says."""


class IncompleteReply(WireError):
    """The bytes ended before the provider's terminal signal was seen."""


class ReplyTooLarge(WireError):
    """A line, an event or a body grew over its bound."""


class ProviderError(WireError):
    """The provider says no, by its status or inside its stream.

    `status` is the HTTP status (None inside a stream), `code` and `type` are the provider's own words,
    `retry_after` counts seconds. Where a `source` is given (provider and host; empty where it is not known yet), the
    message is what that source did: `answered 401: …`.
    """

    def __init__(  # noqa: PLR0913 - all that a provider says of one error
        self,
        message: str,
        *,
        fix: str = "",
        status: int | None = None,
        code: str | None = None,
        type: str | None = None,
        retry_after: float | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(message if source is None else f"{source or 'The provider'} {message}", fix=fix)
        self.source = source or ""
        self._did = message if source == "" else ""
        self.status = status
        self.code = code
        self.type = type
        self.retry_after = retry_after

    def with_source(self, source: str) -> Self:
        """Return the same error with its source, which its message names too, where it had none."""
        named = super().with_source(source)
        if not self._did:
            return named
        named = named.changed(message=f"{source} {self._did}")
        named._did = ""
        return named


class AuthenticationFailed(ProviderError):
    """The key was refused."""


class ModelNotFound(ProviderError):
    """The provider does not know the model."""


class RateLimited(ProviderError):
    """Too many requests; `retry_after` says when to come again."""


class ContextTooLong(ProviderError):
    """The conversation does not fit into the model's context."""


class ToolsNotSupported(ProviderError):
    """The model or its server does not take tools."""


class ServerOverloaded(ProviderError):
    """The provider is out of order or out of capacity for now."""


class ToolFailed(NbtoolError):
    """Raised by a tool to say why it could not do its work: the model reads the text."""


class McpFailed(ToolFailed):
    """An MCP server that cannot be started or reached, does not answer, or has ended."""


class ToolError(NbtoolError):
    """A call that did not run; the model reads the text and may try again."""


class UnknownTool(ToolError):
    """The model named a tool that is not offered."""


class InvalidArguments(ToolError):
    """The arguments are not JSON, or do not fit the tool's schema."""


class UnknownReference(ToolError):
    """A reference that names nothing exposed, is malformed, or whose object is gone."""


class ApprovalError(NbtoolError):
    """A decision that cannot be taken."""


class AlreadyDecided(ApprovalError):
    """Somebody, or something, was first."""


class InvalidAnswer(NbtoolError):
    """An answer that does not fit the type it was asked for as."""


class LimitReached(NbtoolError):
    """Rounds, calls, seconds, tokens or money ran out."""


class Cancelled(NbtoolError):
    """The turn was stopped by a person."""


class HookFailed(NbtoolError):
    """A plugin raised; `__cause__` is what it raised."""


class NotRecorded(NbtoolError):
    """Only recordings may answer, and this turn is in none as it is now; the text says what changed."""


class JournalError(NbtoolError):
    """The journal cannot be read or written."""


class UnreadableEvent(JournalError):
    """Data that is no event of a turn: of another shape, of an unknown kind, or beyond its bounds."""


class BadRecording(JournalError):
    """A recording that cannot be read or written, or a turn that cannot be kept in one."""
