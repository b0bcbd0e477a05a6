"""Every error that nbtool raises.

    NbtoolError
    ├── BadUsage                 an invalid flag, option or argument
    ├── SettingsError            a settings file or an environment variable that cannot be read
    │   └── PolicyUnreadable     the administrator's policy cannot be read, so nothing is sent
    ├── PolicyRefused            the administrator's policy does not allow it
    ├── ModelError               no request could be made
    │   ├── UnknownModel
    │   ├── MissingKey
    │   ├── EnvFileNotAllowed    only a `.env` names the model or the address, and it was not allowed
    │   └── Unsupported          the model or its wire does not support the request
    ├── WireError                a request was made, but no complete reply was received
    │   ├── ConnectionFailed
    │   ├── TimedOut
    │   ├── InvalidReply         the response does not follow the dialect (HTML, broken JSON)
    │   ├── IncompleteReply      the response ended before the provider's terminal signal
    │   ├── ReplyTooLarge
    │   ├── AgentStopped         an agent did what it may not do here, and was ended
    │   └── ProviderError        the provider reported an error, by status or in its stream
    │       ├── AuthenticationFailed
    │       ├── ModelNotFound
    │       ├── RateLimited
    │       ├── ContextTooLong
    │       ├── ToolsNotSupported
    │       ├── WireNotSupported
    │       └── ServerOverloaded
    ├── ToolFailed               raised by a tool; the model reads its text
    │   └── McpFailed            an MCP server that cannot be used
    ├── ToolError                a call that did not run; the model reads its text
    │   ├── UnknownTool
    │   ├── InvalidArguments
    │   └── UnknownReference     a reference that is unknown, malformed or no longer valid
    ├── ApprovalError
    │   └── AlreadyDecided
    ├── InvalidAnswer            an answer that does not match the requested type
    ├── LimitReached             a limit of rounds, calls, seconds, tokens or cost was reached
    ├── Cancelled                the turn was stopped by a person
    ├── NotRepeated              a call of the prompt had started in an earlier map
    ├── AnswersNotWritten        the disk is full, or the file of a map cannot be written
    ├── WorkerLost               the worker of a cluster or a pool ended before it returned the answer
    ├── HookFailed               a plugin raised
    ├── NotRecorded              replay only, and no recording matches
    └── JournalError
        ├── UnreadableEvent      data that is not an event of a turn
        └── BadRecording         a recording that cannot be read or written

Every message is one line: what was expected, what was received, and the fix.
"""

from __future__ import annotations

from typing import Self

_NBTOOL_FRAMES = __file__.removesuffix("errors.py")


class NbtoolError(Exception):
    """Base class of nbtool's errors: `message` says what happened, a text or another error; `fix` what to do.

    A notebook shows the message and the caller's own lines, without nbtool's frames; elsewhere the traceback is
    complete.
    """

    def __init__(self, message: str | BaseException, *, fix: str = "") -> None:
        for name, value in (("message", message), ("fix", fix)):
            if not isinstance(value, str) and not (name == "message" and isinstance(value, BaseException)):
                problem = f"{type(self).__name__}: {name} cannot be {value!r:.60}."
                raise BadUsage(problem, fix=f"Pass a text: {type(self).__name__}(str(…)).")
        self.message = str(message)
        super().__init__(self.message)
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}" if self.fix else self.message

    def __repr__(self) -> str:
        fix = f", fix={self.fix!r}" if self.fix else ""
        return f"{type(self).__name__}({self.message!r}{fix})"

    def changed(self, *, message: str | None = None, fix: str | None = None) -> Self:
        """Return a copy with another message or fix; a raised error is never modified."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.message = self.message if message is None else message
        copy.fix = self.fix if fix is None else fix
        copy.args = (copy.message,)
        copy.__cause__ = self.__cause__
        return copy

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows for this error."""
        import traceback  # noqa: PLC0415 - only where an error is shown

        frames = traceback.extract_tb(self.__traceback__)
        first_own = next(
            (index for index, frame in enumerate(frames) if frame.filename.startswith(_NBTOOL_FRAMES)), len(frames)
        )
        callers = [frame for frame in frames[:first_own] if "-packages" not in frame.filename]
        return [*(f"line {frame.lineno}: {frame.line}" for frame in callers), f"{type(self).__name__}: {self}"]


class BadUsage(NbtoolError):
    """An invalid flag, option or argument."""


class SettingsError(NbtoolError):
    """A settings file or an environment variable that cannot be read."""


class PolicyUnreadable(SettingsError):
    """The administrator's policy cannot be read or is invalid; nothing is sent."""


class PolicyRefused(NbtoolError):
    """The administrator's policy does not allow something; the message names its file."""


class ModelError(NbtoolError):
    """No request could be made."""


class UnknownModel(ModelError):
    """The model id names an unknown provider or model."""


class MissingKey(ModelError):
    """The provider requires a key and none was found."""


class EnvFileNotAllowed(ModelError):
    """Only a `.env` names the model or its address, and the user has not allowed that file; nothing was sent."""

    def __init__(self, path: str, names: list[str], destination: str) -> None:
        super().__init__(
            f"{path} sets {' and '.join(names)}, so prompts would go to {destination}; nothing was sent.",
            fix="To trust this file: `%chat env allow` (`%chat env forget` takes that back), or set"
            " NBTOOL_ALLOW_ENV_FILE=1.",
        )
        self.path = path
        self.names = names
        self.destination = destination


class Unsupported(ModelError):
    """The model or its wire does not support the request."""


class WireError(NbtoolError):
    """No complete reply was received; `source` is the provider with its host, empty if unknown."""

    source: str = ""

    def with_source(self, source: str) -> Self:
        """Return a copy with this source, unless the error already has one."""
        if self.source:
            return self
        copy = self.changed()
        copy.source = source
        return copy


class ConnectionFailed(WireError):
    """The provider could not be reached, or the connection broke."""


class TimedOut(WireError):
    """No data was received within the timeout."""


class InvalidReply(WireError):
    """The response does not follow the dialect."""


class IncompleteReply(WireError):
    """The response ended before the provider's terminal signal."""


class ReplyTooLarge(WireError):
    """A line, an event or a body exceeds its size limit."""


class AgentStopped(WireError):
    """An agent did what it may not do here, or ended its answer by itself; its process was ended."""


class ProviderError(WireError):
    """The provider reported an error, by its status or in its stream.

    `status` is the HTTP status (None in a stream), `code` and `type` are the provider's values, `param` is the field
    of the request that it refuses, `retry_after` is in seconds. With `source` (provider and host; empty if not known
    yet) the message is a predicate of that source: `answered 401: …`.
    """

    def __init__(  # noqa: PLR0913 - the fields of a provider's error
        self,
        message: str,
        *,
        fix: str = "",
        status: int | None = None,
        code: str | None = None,
        type: str | None = None,
        retry_after: float | None = None,
        param: str | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(message if source is None else f"{source or 'The provider'} {message}", fix=fix)
        self.source = source or ""
        self._did = message if source == "" else ""
        self.status = status
        self.code = code
        self.type = type
        self.retry_after = retry_after
        self.param = param

    def with_source(self, source: str) -> Self:
        """Return a copy whose source and message name this source, unless the error already has one."""
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
    """Too many requests; `retry_after` is the delay before a retry."""


class ContextTooLong(ProviderError):
    """The conversation does not fit into the model's context."""


class ToolsNotSupported(ProviderError):
    """The model or its server does not support tools."""


class WireNotSupported(ProviderError):
    """The model has to be called over another dialect."""


class ServerOverloaded(ProviderError):
    """The provider is temporarily unavailable or over capacity."""


class ToolFailed(NbtoolError):
    """Raised by a tool to report why it failed; the model reads the text."""


class McpFailed(ToolFailed):
    """An MCP server that cannot be started or reached, does not answer, or has ended."""


class ToolError(NbtoolError):
    """A call that did not run; the model reads the text and may retry."""


class UnknownTool(ToolError):
    """The model named a tool that is not offered."""


class InvalidArguments(ToolError):
    """The arguments are not JSON, or do not fit the tool's schema."""


class UnknownReference(ToolError):
    """A reference that names no exposed object, is malformed, or whose object no longer exists."""


class ApprovalError(NbtoolError):
    """A decision that cannot be made."""


class AlreadyDecided(ApprovalError):
    """The question was already decided."""


class InvalidAnswer(NbtoolError):
    """An answer that does not match the requested type."""


class LimitReached(NbtoolError):
    """A limit of rounds, calls, seconds, tokens or cost was reached."""


class Cancelled(NbtoolError):
    """The turn was stopped by a person."""


class WorkerLost(NbtoolError):
    """The worker of a cluster or a pool ended before it returned the answer, or the process of an earlier map did.

    With `may_have_run` a call of the prompt may have started: nbtool does not send such a prompt again by itself.
    """

    def __init__(self, message: str, *, fix: str = "", may_have_run: bool = False) -> None:
        super().__init__(message, fix=fix)
        self.may_have_run = may_have_run


class NotRepeated(NbtoolError):
    """A prompt of a map that is not sent again by itself, because a call of it had started in an earlier map."""


class AnswersNotWritten(NbtoolError):
    """The file of a map cannot be written: the disk is full, for example."""


class HookFailed(NbtoolError):
    """A plugin raised an error; see `__cause__`."""


class NotRecorded(NbtoolError):
    """Replay only, and no recording matches this turn; the text lists what changed."""


class JournalError(NbtoolError):
    """The journal cannot be read or written."""


class UnreadableEvent(JournalError):
    """Data that is not an event of a turn: an invalid shape, an unknown kind, or over its limits."""


class BadRecording(JournalError):
    """A recording that cannot be read or written, or a turn that cannot be recorded."""
