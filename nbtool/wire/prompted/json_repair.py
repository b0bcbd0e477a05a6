"""Broken JSON from a model: one object, and the name of every mend it needed.

Strict first; then our own small steps over a string-aware reading of the text; then, for what is left (a missing
comma, a quote inside a string), the json-repair library on that one object, whose answer is believed only when it
kept every letter and digit. Syntax is mended, values never: an expression, an identifier, a string without its end
or brackets that do not pair are refused, because each of them has more than one meaning.

Only calls that were written as text come here. Native arguments are strict JSON (see `reply.parse_arguments`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.shorten import shorten
from nbtool.wire.prompted.json_tokens import BLANK, Token, find_end, is_closed_string, tokens, unfenced

MAX_LENGTH = 4 * 1024 * 1024
"""Characters of one object."""
MAX_DEPTH = 64
"""Nested brackets of one object."""
MAX_LIBRARY = 8 * 1024
"""Characters that are handed to the library, whose work can grow with the square of its input."""
MAX_GAPS = 16
"""Places in an object where two values meet without a comma; the library's work grows with them too."""

CONSTANTS = {
    "true": "true", "false": "false", "null": "null",
    "True": "true", "False": "false", "None": "null", "undefined": "null",
}  # fmt: skip
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\Z")
_LOOSE_NUMBER = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+)\Z")
_TAG = r"</?[|\uff5c]?[\w:=\u2581-]{1,40}[|\uff5c]?>"
_TAGS_BEFORE = re.compile(rf"(?:\s*{_TAG})+\s*(?=[{{\[])")
_TAGS_AFTER = re.compile(rf"(?:\s*{_TAG})+\s*")
_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|["\\/bfnrt]|.|\Z)|["\x00-\x1f]', re.DOTALL)
_SEAM = re.compile(r"""["']\s*[:,{\[]\s*["']""")
_LETTERS = re.compile(r"[^\W_]", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value that was read, and the names of the mends it needed, in the order in which they were made."""

    value: Any
    repairs: tuple[str, ...] = ()


def parse_object(text: str, *, ended: bool = False) -> Parsed:
    """Read one JSON object out of what a model wrote for one.

    Closers that lack at the very end are added only where a mark of the model's own says that the object had
    `ended` there; anywhere else the text may have been cut off.

    Raises:
        InvalidArguments: there is no object, there are several, or what is wrong cannot be mended without guessing.
    """
    parsed = parse_value(text, ended=ended)
    if not isinstance(parsed.value, dict):
        raise InvalidArguments(f"A JSON object is expected; a {type(parsed.value).__name__} came.")
    return parsed


def parse_value(text: str, *, ended: bool = False) -> Parsed:
    """Read one JSON object or array; an object that was encoded twice is decoded twice.

    Raises:
        InvalidArguments: see `parse_object`.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidArguments(f"The arguments have {len(text)} characters; at most {MAX_LENGTH} are read.")
    repairs: list[str] = []
    value = _strict(text)
    if value is _NOTHING:
        value = _mended(_bare(text, repairs, ended), repairs)
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        inner = parse_value(value)
        value, repairs = inner.value, [*repairs, "decoded twice", *inner.repairs]
    return Parsed(value, tuple(dict.fromkeys(repairs)))


def _strict(text: str) -> Any:
    if _is_deep(text):
        return _NOTHING
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOTHING


_NOTHING = object()


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _is_deep(text: str) -> bool:
    """Whether brackets nest deeper than is read; counted exactly only where there are many."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for token in tokens(text):
        depth += (token.text in ("{", "[")) - (token.text in ("}", "]"))
        if depth > MAX_DEPTH:
            return True
    return False


def _bare(text: str, repairs: list[str], ended: bool) -> str:
    """Take off what stands around the object: marks, a code fence, left-over tags, a closer too many."""
    bare = text.strip(BLANK)
    if bare != text.strip():
        repairs.append("invisible characters")
    if (fenced := unfenced(bare)) is not None:
        repairs.append("code fence")
        bare = fenced.strip(BLANK)
    if tags := _TAGS_BEFORE.match(bare):
        repairs.append("tag residue")
        bare = bare[tags.end() :]
    if not bare.startswith(("{", "[")):
        raise InvalidArguments("A JSON object is expected; the text holds none.")
    return _only(bare, repairs, ended or fenced is not None)


def _only(bare: str, repairs: list[str], ended: bool) -> str:
    """Cut at the end of the first value; only closers too many and tags may stand behind it."""
    end = find_end(bare)
    if end < 0:
        missing = _missing_closers(bare)
        if not ended:
            raise InvalidArguments(f"The text stops before {missing!r}: it was cut off, or closers are missing.")
        repairs.append("missing closer")
        return bare + missing
    rest = bare[end:].strip(BLANK + ";,")
    if tags := _TAGS_AFTER.match(rest):
        repairs.append("tag residue")
        rest = rest[tags.end() :]
    if rest.strip("}]"):
        raise InvalidArguments("One JSON object is expected; more text stands behind it.")
    if rest:
        repairs.append("extra closer")
    return bare[:end]


def _missing_closers(bare: str) -> str:
    """Give the closers that lack at the very end.

    Raises:
        InvalidArguments: a string has no end, brackets do not pair, or the text stops before a value.
    """
    stack: list[str] = []
    last = ""
    for token in tokens(bare):
        if token.kind == "string" and not is_closed_string(token.text):
            raise InvalidArguments("A string has no end: the text was cut off, or a quote is missing.")
        if token.text in ("{", "["):
            stack.append("}" if token.text == "{" else "]")
        elif token.text in ("}", "]") and (not stack or stack.pop() != token.text):
            raise InvalidArguments("Brackets do not pair.")
        if token.kind not in ("blank", "comment"):
            last = token.text
        if len(stack) > MAX_DEPTH:
            raise InvalidArguments(f"Brackets nest deeper than {MAX_DEPTH}.")
    if last in (":", ",") or last.isalnum():
        raise InvalidArguments("The text stops in the middle of an object.")
    return "".join(reversed(stack))


def _mended(bare: str, repairs: list[str]) -> Any:
    if _is_deep(bare):
        raise InvalidArguments(f"Brackets nest deeper than {MAX_DEPTH}.")
    bare = _without_tuples(bare, repairs)
    tidy = _tidied(bare, repairs)
    try:
        return json.loads(tidy, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _by_library(bare, repairs)


def _without_tuples(bare: str, repairs: list[str]) -> str:
    """Write Python tuples, `(1, 2)` where a value is due, as arrays; any other parenthesis stays as it is."""
    pieces: list[str] = []
    opened: list[int] = []
    tuples: set[int] = set()
    previous = ""
    for token in tokens(bare):
        if token.text == "," and opened and pieces[opened[-1]] == "(" and token.kind == "mark":
            tuples.add(opened[-1])
        if token.text in ("{", "[", "("):
            opened.append(len(pieces) if previous in (":", ",", "[", "(") else 0)
        elif token.text in ("}", "]", ")") and opened and (start := opened.pop()) in tuples and token.text == ")":
            pieces[start], token = "[", token._replace(text="]")
            repairs.append("tuple")
        pieces.append(token.text)
        previous = previous if token.kind in ("blank", "comment") else token.text
    return "".join(pieces)


def _tidied(bare: str, repairs: list[str]) -> str:
    """Write the text anew, token by token, as JSON; what may not be mended raises, the rest is left as it is."""
    pieces: list[str] = []
    previous = Token("mark", "", 0)
    for token, following in _with_next(bare):
        if token.kind == "comment":
            repairs.append("comment")
        elif token.kind != "blank":
            if token.text in ("}", "]", ",") and previous.text == ",":
                pieces.pop()
                repairs.append("trailing comma" if token.text != "," else "double comma")
            elif token.kind != "mark" and previous.kind != "mark":
                pieces.append(" ")  # two values that meet stay two: `1 2` is not 12
            pieces.append(_token_as_json(token, previous, following, repairs))
            previous = token
    return "".join(pieces)


def _with_next(bare: str) -> Iterator[tuple[Token, Token]]:
    """Give each token together with the next one that means something."""
    all_tokens = list(tokens(bare))
    following = Token("mark", "", len(bare))
    pairs = []
    for token in reversed(all_tokens):
        pairs.append((token, following))
        if token.kind not in ("blank", "comment"):
            following = token
    return reversed(pairs)


def _token_as_json(token: Token, previous: Token, following: Token, repairs: list[str]) -> str:
    match token.kind:
        case "string":
            return _string_as_json(token.text, repairs)
        case "word":
            return _word_as_json(token.text, previous, following, repairs)
        case "other" if previous.kind not in ("string", "word") or token.text in "+*%|&.()=":
            raise InvalidArguments(f"A value is expected; an expression with {token.text!r} came.")
    return token.text


def _string_as_json(text: str, repairs: list[str]) -> str:
    if text[0] != '"':
        repairs.append("single quotes" if text[0] == "'" else "smart quotes")
    mended = _ESCAPE.sub(lambda found: _escape_as_json(found[0], repairs), text[1:-1])
    return f'"{mended}"'


def _escape_as_json(found: str, repairs: list[str]) -> str:
    if found == '"':
        return '\\"'  # stood unescaped between other quotes
    if found[0] != "\\":
        repairs.append("control character")
        return json.dumps(found)[1:-1]
    if len(found) == 6 or found[1:] in tuple('"\\/bfnrt'):
        return found
    repairs.append("escape")
    if found[1:2] == "x" and len(found) == 4:
        return f"\\u00{found[2:]}"
    if found[1:] in ("'", "\n"):
        return found[1:].strip("\n")
    return "\\\\" + json.dumps(found[1:])[1:-1]


def _word_as_json(word: str, previous: Token, following: Token, repairs: list[str]) -> str:
    if previous.text in ("{", ",") and following.text == ":" and not word[0].isdigit():
        repairs.append("unquoted key")
        return json.dumps(word)
    if _NUMBER.match(word):
        return word
    if word in CONSTANTS:
        if CONSTANTS[word] != word:
            repairs.append("constant")
        return CONSTANTS[word]
    if _LOOSE_NUMBER.match(word) and "." in word:
        repairs.append("number")
        return json.dumps(float(word))
    if previous.kind == "string":
        return word  # a quote inside a string: for the library
    raise InvalidArguments(f"A value is expected; {shorten(word, 40)!r} is none.")


def _by_library(bare: str, repairs: list[str]) -> Any:
    if len(bare) > MAX_LIBRARY or _gaps(bare) > MAX_GAPS:
        raise InvalidArguments("The object is broken, and too long or in too many places to be mended.")
    from json_repair import repair_json  # noqa: PLC0415 - start-up time: hardly a reply needs it

    value = None
    with suppress(Exception):  # it asserts what strangers' texts do not hold to
        value = repair_json(bare, return_objects=True, skip_json_loads=True)
    if not isinstance(value, dict | list) or not _is_faithful(value, bare):
        raise InvalidArguments("The object is broken in a way that cannot be mended without guessing.")
    repairs.append("json-repair")
    return value


def _gaps(bare: str) -> int:
    kinds = [token.kind for token in tokens(bare) if token.kind not in ("blank", "comment")]
    return sum(kind != "mark" and after != "mark" for kind, after in pairwise(kinds))


def _is_faithful(value: Any, bare: str) -> bool:
    """Whether a mended value kept every letter, and made no string of what was not one."""
    if _letters(json.dumps(value, ensure_ascii=False)) != _letters(bare):
        return False
    return all(not _SEAM.search(text) and _stands_in(text, bare) for text in _strings(value))


def _stands_in(text: str, bare: str) -> bool:
    """Whether a string was one before; an empty one is what the library puts where a value is missing."""
    if not text:
        return '""' in bare or "''" in bare
    return f'"{text}' in bare or f"'{text}" in bare or json.dumps(text)[:-1] in bare


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value


def _letters(text: str) -> str:
    """Give the letters and digits outside comments, constants in one spelling: what a mend must not change."""
    kept = (CONSTANTS.get(token.text, token.text) for token in tokens(text) if token.kind != "comment")
    plain = re.sub(r"\\(?:u[0-9a-fA-F]{4}|[bfnrt])", "", "".join(kept))
    return "".join(_LETTERS.findall(plain))
