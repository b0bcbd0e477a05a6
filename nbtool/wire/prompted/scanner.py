"""Model text as it streams in, cut into prose and calls.

A mark never shows and a character is never lost: what turns out to be no call comes out as the text it is. Held back
is only the longest end of the text that may become a mark, and a call until it is whole. What comes out does not
depend on where the stream was cut, and the work is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from nbtool.wire.prompted.call_buffer import MAX_HELD, Block
from nbtool.wire.prompted.call_json import known_calls
from nbtool.wire.prompted.delimiters import MARKS, Mark, read_body
from nbtool.wire.prompted.segments import Calls, Held, Prose, joined
from nbtool.wire.prompted.undelimited import begins_as_call, read_unmarked

_PLACES = ("```", "<think>", "</think>", "<tool_result", "<tool_response>")


class Scanner:
    """Reads one reply: feed it text cut anywhere, then close it.

    `marks` says what opens a call, `names` which tools there are (None: any). With `bare`, a reply that begins as
    a call without marks (`{"tool_name": …`, `[f(a=1)]`) is held back until its end and read as a whole.
    `saw_mark` tells whether anything opened a call, `damaged` whether something that did so was none.
    """

    def __init__(
        self, *, marks: Sequence[Mark] = MARKS, names: Iterable[str] | None = None, bare: bool = False
    ) -> None:
        self.saw_mark = False
        self.damaged = False
        self._names = None if names is None else frozenset(names)
        self._marks = {mark.opener: mark for mark in marks}
        words = sorted((*self._marks, *_PLACES), key=len, reverse=True)
        self._words = re.compile("|".join(map(re.escape, words)))
        self._prefixes = frozenset(word[:size] for word in words for size in range(1, len(word)))
        self._longest = len(words[0])
        self._state: Literal["start", "bare", "prose", "block"] = "start" if bare else "prose"
        self._text = ""
        self._at = 0
        self._place = _Place()
        self._block = Block(Mark("\0"))
        self._plain = False
        self._held: list[str] = []
        self._held_size = 0
        self._found: list[Prose | Calls] = []

    def feed(self, text: str) -> list[Prose | Calls | Held]:
        """Take the next piece of the reply and give what can be told by now."""
        found: list[Prose | Calls | Held] = [*self._run(text)]
        if self._state in ("block", "bare"):
            found.append(Held(self._block.size if self._state == "block" else self._held_size))
        return found

    def flush(self) -> list[Prose | Calls]:
        """Give what is held back of prose, because something other than text comes next; a begun call stays held."""
        if self._state == "start":
            self._state = "prose"
        return self._run("", final=True) if self._state == "prose" else []

    def close(self, *, complete: bool = True) -> list[Prose | Calls]:
        """Take note that the reply has ended; `complete` only where it was not cut short."""
        return self._run("", final=True, complete=complete)

    def _run(self, text: str, *, final: bool = False, complete: bool = True) -> list[Prose | Calls]:
        self._text = self._text[self._at :] + text
        self._at = 0
        self._found = []
        moved = True
        while moved:
            match self._state:
                case "start":
                    moved = self._begin(final)
                case "bare":
                    moved = self._hold(final, complete)
                case "prose":
                    moved = self._speak(final)
                case "block":  # pragma: no branch - there is no fifth state
                    moved = self._collect(final, complete)
        return joined(self._found)

    # --- a reply that begins as a call without marks ---------------------------------------------------------

    def _begin(self, final: bool) -> bool:
        begins = begins_as_call(self._text)
        if begins is None and not final:
            return False
        self._state = "bare" if begins else "prose"
        return True

    def _hold(self, final: bool, complete: bool) -> bool:
        self._held.append(self._text[self._at :])
        self._held_size += len(self._held[-1])
        self._at = len(self._text)
        if not final and self._held_size <= MAX_HELD:
            return False
        whole = "".join(self._held)
        self._held = []
        self._state = "prose"
        if complete and len(whole) <= MAX_HELD and (found := read_unmarked(whole, self._names)):
            self._found.extend(found)
        else:
            self._text, self._at = whole, 0
        return True

    # --- prose -----------------------------------------------------------------------------------------------

    def _speak(self, final: bool) -> bool:
        """Pass prose on up to the next word that matters, and the word itself where it opens nothing."""
        found = self._words.search(self._text, self._at)
        if found is None or (not final and self._text[found.start() : found.start() + self._longest] in self._prefixes):
            self._say(self._text[self._at : len(self._text) - (0 if final else self._undecided())])
            return False
        self._say(self._text[self._at : found.start()])
        self._at = found.end()
        if found[0] in self._marks and self._place.may_open:
            self.saw_mark = True
            self._state = "block"
            self._block = Block(self._marks[found[0]], plain=self._plain)
        else:
            self._place.meet(found[0])
            self._found.append(Prose(found[0]))
        return True

    def _undecided(self) -> int:
        """How many characters at the end may become a word that matters."""
        room = min(self._longest - 1, len(self._text) - self._at)
        return next((size for size in range(room, 0, -1) if self._text[-size:] in self._prefixes), 0)

    def _say(self, text: str) -> None:
        self._at += len(text)
        self._place.pass_by(text)
        self._found.append(Prose(text))

    # --- a call between marks --------------------------------------------------------------------------------

    def _collect(self, final: bool, complete: bool) -> bool:
        self._at, ending = self._block.read(self._text, self._at, final=final)
        if not ending and not final:
            return False
        block, mark = self._block, self._block.mark
        self._state = "prose"
        if ending == "closer":
            self._settle(block.body, mark.closer)
        elif ending == "opener":
            self._settle(block.body, "")
            self._state, self._block = "block", Block(mark, plain=self._plain)
        elif ending == "long":
            self._found.append(Prose(mark.opener + block.body))
        else:
            self._settle_unclosed(block, complete)
        return True

    def _settle(self, body: str, closer: str) -> None:
        """Give the calls of a block that has ended, or its text where it holds none."""
        mark = self._block.mark
        read = read_body(body, closed=bool(closer), opener=mark.opener)
        self.damaged |= not read
        source = mark.opener + body + closer
        calls = known_calls(read or (), self._names)
        self._place.pass_by(source)
        if not calls:
            self._found.append(Prose(source))
            return
        if mark.closer and not closer:
            calls = [replace(call, repairs=(*call.repairs, "closing tag")) for call in calls]
        self._found.append(Calls(tuple(calls), source))

    def _settle_unclosed(self, block: Block, complete: bool) -> None:
        """End a block that the reply did not end: at a mark inside what looked like a string, or not at all."""
        body, first = block.body, block.first_closer
        if first is not None:
            self._plain = True
            self._text = body[first + len(block.mark.closer) :] + self._text[self._at :]
            self._at = 0
            self._settle(body[:first], block.mark.closer)
        elif complete:
            self._settle(body, "")
        else:
            self._found.append(Prose(block.mark.opener + body))


class _Place:
    """Where in the Markdown of a reply we are: in which places a mark opens a call, and in which it is quoted."""

    def __init__(self) -> None:
        self._blank_line = True
        self._last = ""
        self._said = False
        self._fence: Literal["", "open", "quoted"] = ""
        self._thinks = False
        self._invents = False

    @property
    def may_open(self) -> bool:
        """Neither thinking, nor a code fence that follows prose, nor inline code, nor behind an invented result."""
        return not self._thinks and not self._invents and self._fence != "quoted" and self._last != "`"

    def pass_by(self, text: str) -> None:
        """Note that text went by."""
        if not text:
            return
        line = text[text.rfind("\n") + 1 :]
        blank = not line.strip()
        self._blank_line = blank if "\n" in text else self._blank_line and blank
        self._last = text[-1]
        self._said = self._said or (not self._thinks and bool(text.strip()))

    def meet(self, word: str) -> None:
        """Note that a word went by that may change the place."""
        if word == "```" and self._blank_line and not self._thinks:
            self._fence = "" if self._fence else "quoted" if self._said else "open"
            self._blank_line, self._last = False, ""
        elif word in ("<think>", "</think>"):
            self._thinks = word == "<think>" and not self._said
            self._blank_line, self._last = False, ">"
        else:
            self._invents |= word in ("<tool_result", "<tool_response>") and self.may_open
            self.pass_by(word)
