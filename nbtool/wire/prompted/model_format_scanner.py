"""Split a model's streamed text into prose and calls, by the marks of `model_formats.py`.

No mark is shown and no character is lost: what turns out not to be a call is returned as text. Only the longest end of
the text that may become a mark is buffered, and a call until it is complete. The result does not depend on how the
stream is split into chunks, and the time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from nbtool.wire.prompted.call_buffer import MAX_CALL_CHARS, CallBuffer
from nbtool.wire.prompted.call_json import match_tools
from nbtool.wire.prompted.model_formats import DELIMITERS, Delimiter, parse_call_body
from nbtool.wire.prompted.segments import CallSegment, MalformedSegment, PendingSegment, Piece, TextSegment, merge_text
from nbtool.wire.prompted.undelimited import parse_undelimited, starts_like_call

_OWN_ENDS = ("}", "]", ")")
"""The ends of calls whose end is their own, also without the mark behind it: JSON, and a list in Python."""

_CONTEXT_TOKENS = ("```", "<think>", "</think>", "<tool_result", "<tool_response>")


class Scanner:
    """Splits one reply: feed it text in any chunks, then close it.

    `delimiters` start a call, `names` are the available tools (None: any). With `allow_undelimited`, a reply that
    starts like a call without marks (`{"tool_name": …`, `[f(a=1)]`) is buffered until its end and parsed as a whole.
    `saw_delimiter` is whether anything started a call, `has_invalid_call` whether such a text was not a call.
    With `reports_malformed`, a call that cannot be parsed, or lacks its closing mark at the end, is malformed and not
    text, and a call of an unknown tool stays a call.
    """

    def __init__(
        self,
        *,
        delimiters: Sequence[Delimiter] = DELIMITERS,
        names: Iterable[str] | None = None,
        allow_undelimited: bool = False,
        reports_malformed: bool = False,
    ) -> None:
        self.saw_delimiter = False
        self.has_invalid_call = False
        self._names = None if names is None else frozenset(names)
        self._delimiters = {delimiter.opener: delimiter for delimiter in delimiters}
        tokens = sorted((*self._delimiters, *_CONTEXT_TOKENS), key=len, reverse=True)
        self._tokens = re.compile("|".join(map(re.escape, tokens)))
        self._prefixes = frozenset(token[:size] for token in tokens for size in range(1, len(token)))
        self._longest = len(tokens[0])
        self._state: Literal["start", "bare", "prose", "block"] = "start" if allow_undelimited else "prose"
        self._text = ""
        self._position = 0
        self._context = _MarkdownContext()
        self._call_buffer = CallBuffer(Delimiter("\0"))
        self._ignores_strings = False
        self._reports_malformed = reports_malformed
        self._undelimited: list[str] = []
        self._undelimited_size = 0
        self._segments: list[Piece] = []

    def feed(self, text: str) -> list[Piece | PendingSegment]:
        """Feed the next chunk of the reply and return the segments that are certain."""
        segments: list[Piece | PendingSegment] = [*self._run(text)]
        if self._state in ("block", "bare"):
            segments.append(
                PendingSegment(self._call_buffer.size if self._state == "block" else self._undelimited_size)
            )
        return segments

    def flush(self) -> list[Piece]:
        """Return the buffered prose, because something other than text follows; a started call stays buffered."""
        if self._state == "start":
            self._state = "prose"
        return self._run("", final=True) if self._state == "prose" else []

    def close(self, *, complete: bool = True) -> list[Piece]:
        """End the reply; `complete` is whether it was not truncated."""
        return self._run("", final=True, complete=complete)

    def _run(self, text: str, *, final: bool = False, complete: bool = True) -> list[Piece]:
        self._text = self._text[self._position :] + text
        self._position = 0
        self._segments = []
        has_progress = True
        while has_progress:
            match self._state:
                case "start":
                    has_progress = self._at_start(final)
                case "bare":
                    has_progress = self._buffer_undelimited(final, complete)
                case "prose":
                    has_progress = self._scan_text(final)
                case "block":  # pragma: no branch - there is no fifth state
                    has_progress = self._scan_call(final, complete)
        return merge_text(self._segments)

    # --- a reply that begins as a call without marks ---------------------------------------------------------

    def _at_start(self, final: bool) -> bool:
        is_call = starts_like_call(self._text)
        if is_call is None and not final:
            return False
        self._state = "bare" if is_call else "prose"
        return True

    def _buffer_undelimited(self, final: bool, complete: bool) -> bool:
        self._undelimited.append(self._text[self._position :])
        self._undelimited_size += len(self._undelimited[-1])
        self._position = len(self._text)
        if not final and self._undelimited_size <= MAX_CALL_CHARS:
            return False
        buffered = "".join(self._undelimited)
        self._undelimited = []
        self._state = "prose"
        if complete and len(buffered) <= MAX_CALL_CHARS and (segments := parse_undelimited(buffered, self._names)):
            self._segments.extend(segments)
        else:
            self._text, self._position = buffered, 0
        return True

    # --- prose -----------------------------------------------------------------------------------------------

    def _scan_text(self, final: bool) -> bool:
        """Emit prose up to the next significant word, and the word itself if it starts nothing."""
        match = self._tokens.search(self._text, self._position)
        if match is None or (not final and self._text[match.start() : match.start() + self._longest] in self._prefixes):
            self._emit_text(self._text[self._position : len(self._text) - (0 if final else self._partial_match())])
            return False
        self._emit_text(self._text[self._position : match.start()])
        self._position = match.end()
        if match[0] in self._delimiters and self._context.allows_call:
            self.saw_delimiter = True
            self._state = "block"
            self._call_buffer = CallBuffer(self._delimiters[match[0]], ignore_strings=self._ignores_strings)
        else:
            self._context.on_token(match[0])
            self._segments.append(TextSegment(match[0]))
        return True

    def _partial_match(self) -> int:
        """Return how many characters at the end may become a significant word."""
        available = min(self._longest - 1, len(self._text) - self._position)
        return next((size for size in range(available, 0, -1) if self._text[-size:] in self._prefixes), 0)

    def _emit_text(self, text: str) -> None:
        self._position += len(text)
        self._context.on_text(text)
        self._segments.append(TextSegment(text))

    # --- a call between marks --------------------------------------------------------------------------------

    def _scan_call(self, final: bool, complete: bool) -> bool:
        self._position, ending = self._call_buffer.feed(self._text, self._position, final=final)
        if not ending and not final:
            return False
        call_buffer, delimiter = self._call_buffer, self._call_buffer.delimiter
        self._state = "prose"
        if ending == "closer":
            self._close_call(call_buffer.body, delimiter.closer)
        elif ending == "opener":
            self._close_call(call_buffer.body, "")
            self._state, self._call_buffer = "block", CallBuffer(delimiter, ignore_strings=self._ignores_strings)
        elif ending == "long":
            self._segments.append(TextSegment(delimiter.opener + call_buffer.body))
        else:
            self._close_unclosed_call(call_buffer, complete)
        return True

    def _close_call(self, body: str, closer: str) -> None:
        """Return the calls of a finished block, or its text if it has none."""
        delimiter = self._call_buffer.delimiter
        parsed = parse_call_body(body, is_closed=bool(closer), opener=delimiter.opener)
        self.has_invalid_call |= not parsed
        source = delimiter.opener + body + closer
        calls = match_tools(parsed or (), self._names)
        self._context.on_text(source)
        if not calls and parsed and self._reports_malformed:
            calls = list(parsed)
        if not calls:
            is_text = not self._reports_malformed or parsed == []
            self._segments.append(TextSegment(source) if is_text else MalformedSegment(source, "unreadable"))
            return
        if delimiter.closer and not closer:
            calls = [replace(call, repairs=(*call.repairs, "closing tag")) for call in calls]
        self._segments.append(CallSegment(tuple(calls), source))

    def _close_unclosed_call(self, call_buffer: CallBuffer, complete: bool) -> None:
        """End a block that the reply did not close: at a mark inside an apparent string, or not at all."""
        body, quoted_closer = call_buffer.body, call_buffer.quoted_closer
        if quoted_closer is not None:
            self._ignores_strings = True
            self._text = body[quoted_closer + len(call_buffer.delimiter.closer) :] + self._text[self._position :]
            self._position = 0
            self._close_call(body[:quoted_closer], call_buffer.delimiter.closer)
        elif self._reports_malformed and (call_buffer.delimiter.closer or not complete):
            self._segments.append(MalformedSegment(call_buffer.delimiter.opener + body, "cut"))
        elif complete and (not call_buffer.delimiter.closer or body.rstrip().endswith(_OWN_ENDS)):
            self._close_call(body, "")
        else:
            self.has_invalid_call |= complete  # nothing tells whether more was to come
            self._segments.append(TextSegment(call_buffer.delimiter.opener + body))


class _MarkdownContext:
    """The position in the Markdown of a reply: whether a mark starts a call here or is quoted."""

    def __init__(self) -> None:
        self._is_blank_line = True
        self._last_character = ""
        self._has_text = False
        self._fence: Literal["", "open", "quoted"] = ""
        self._is_thinking = False
        self._has_invented_result = False

    @property
    def allows_call(self) -> bool:
        """Whether a mark counts: not in thinking, a fence after prose, inline code, or after an invented result."""
        return (
            not self._is_thinking
            and not self._has_invented_result
            and self._fence != "quoted"
            and self._last_character != "`"
        )

    def on_text(self, text: str) -> None:
        """Record text that was emitted."""
        if not text:
            return
        line = text[text.rfind("\n") + 1 :]
        is_blank = not line.strip()
        self._is_blank_line = is_blank if "\n" in text else self._is_blank_line and is_blank
        self._last_character = text[-1]
        self._has_text = self._has_text or (not self._is_thinking and bool(text.strip()))

    def on_token(self, token: str) -> None:
        """Record a word that may change the position."""
        if token == "```" and self._is_blank_line and not self._is_thinking:
            self._fence = "" if self._fence else "quoted" if self._has_text else "open"
            self._is_blank_line, self._last_character = False, ""
        elif token in ("<think>", "</think>"):
            self._is_thinking = token == "<think>" and not self._has_text
            self._is_blank_line, self._last_character = False, ">"
        else:
            self._has_invented_result |= token in ("<tool_result", "<tool_response>") and self.allows_call
            self.on_text(token)
