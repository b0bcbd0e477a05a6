"""Repairs invalid JSON of a model: returns one object, and the name of every repair.

Strict parsing comes first; then small repairs on the tokens of the text; then, for the rest (a missing comma, a quote
inside a string), the json-repair library, whose result is accepted only if it kept every letter and digit. Only syntax
is repaired: an expression, an identifier, an unterminated string or unbalanced brackets are refused, because they are
ambiguous.

Only calls that were written as text are repaired. Native arguments are strict JSON (see `reply.parse_arguments`).
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
from nbtool.text import count_of, shorten, with_article
from nbtool.wire.prompted.json_tokens import BLANK, Token, find_end, is_closed_string, split_values, strip_fence, tokens

MAX_LENGTH = 4 * 1024 * 1024
"""Maximum characters of one object."""
MAX_DEPTH = 64
"""Maximum nesting of brackets in one object."""
MAX_LIBRARY_CHARS = 8 * 1024
"""Maximum characters that the library gets: its time can grow with the square of the input."""
MAX_GAPS = 16
"""Maximum number of missing commas in an object: the library's time grows with them too."""

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
_SUSPICIOUS_STRING = re.compile(r"""["']\s*[:,{\[]\s*["']""")
_LETTERS = re.compile(r"[^\W_]", re.UNICODE)


@dataclass(frozen=True, slots=True)
class RepairedJson:
    """A parsed value, and the names of its repairs, in order."""

    value: Any
    repairs: tuple[str, ...] = ()


def parse_object(text: str, *, is_closed: bool = False) -> RepairedJson:
    """Parse one JSON object from a model's text.

    Missing brackets at the end are added only if the model wrote a closing mark after the object (`is_closed`);
    otherwise the text may have been cut off.

    Raises:
        InvalidArguments: there is no object, there are several, a number is out of range, or it cannot be repaired
            without guessing.
    """
    parsed = parse_value(text, is_closed=is_closed)
    if not isinstance(parsed.value, dict):
        raise InvalidArguments(f"A JSON object is expected; {with_article(type(parsed.value).__name__)} came.")
    return parsed


def parse_value(text: str, *, is_closed: bool = False) -> RepairedJson:
    """Parse one JSON object or array; an object that was encoded twice is decoded twice.

    Raises:
        InvalidArguments: see `parse_object`.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidArguments(f"The arguments have {count_of(len(text), 'character')}; at most {MAX_LENGTH} are read.")
    repairs: list[str] = []
    value = _strict(text)
    if value is _INVALID:
        value = _repair(_strip_wrapping(text, repairs, is_closed), repairs)
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        nested = parse_value(value)
        value, repairs = nested.value, [*repairs, "decoded twice", *nested.repairs]
    _check_finite(value)
    return RepairedJson(value, tuple(dict.fromkeys(repairs)))


def parse_values(text: str, *, is_closed: bool = False) -> Iterator[RepairedJson | None]:
    """Parse consecutive JSON values, one at a time; a last None means that one cannot be parsed (see `parse_object`).

    A reader that stops at a value that is none of its own pays for no other: repairs are dear, and there may be many.
    """
    values = split_values(text) or ([text] if is_closed else [])
    if values and not is_closed and find_end(values[-1]) < 0:
        return
    try:
        for value in values:
            yield parse_value(value, is_closed=is_closed)
    except InvalidArguments:
        yield None


def _check_finite(value: Any) -> None:
    """Refuse a number beyond the range of a float, which Python reads as infinite: it could not be sent back.

    Raises:
        InvalidArguments: there is one.
    """
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise InvalidArguments("A number is out of range.", fix="Write a smaller number, or a text.") from error


def _strict(text: str) -> Any:
    if _is_deep(text):
        return _INVALID
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return _INVALID


_INVALID = object()


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)


def _is_deep(text: str) -> bool:
    """Whether brackets are nested too deeply; counted exactly only if there are many."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for token in tokens(text):
        depth += (token.text in ("{", "[")) - (token.text in ("}", "]"))
        if depth > MAX_DEPTH:
            return True
    return False


def _strip_wrapping(text: str, repairs: list[str], is_closed: bool) -> str:
    """Remove what surrounds the object: marks, a code fence, remaining tags, an extra closing bracket."""
    stripped = text.strip(BLANK)
    if stripped != text.strip():
        repairs.append("invisible characters")
    if (fenced := strip_fence(stripped)) is not None:
        repairs.append("code fence")
        stripped = fenced.strip(BLANK)
    if tags := _TAGS_BEFORE.match(stripped):
        repairs.append("tag residue")
        stripped = stripped[tags.end() :]
    if not stripped.startswith(("{", "[")):
        raise InvalidArguments("A JSON object is expected; the text holds none.")
    return _single_object(stripped, repairs, is_closed or fenced is not None)


def _single_object(text: str, repairs: list[str], is_closed: bool) -> str:
    """Cut at the end of the first value; only extra closing brackets and tags may follow it."""
    end = find_end(text)
    if end < 0:
        missing = _missing_closers(text)
        if not is_closed:
            raise InvalidArguments(f"The text stops before {missing!r}: it was cut off, or closers are missing.")
        repairs.append("missing closer")
        return text + missing
    rest = text[end:].strip(BLANK + ";,")
    if tags := _TAGS_AFTER.match(rest):
        repairs.append("tag residue")
        rest = rest[tags.end() :]
    if rest.strip("}]"):
        raise InvalidArguments("One JSON object is expected; more text follows it.")
    if rest:
        repairs.append("extra closer")
    return text[:end]


def _missing_closers(text: str) -> str:
    """Return the closing brackets that are missing at the end.

    Raises:
        InvalidArguments: a string is unterminated, brackets are unbalanced, or the text ends before a value.
    """
    stack: list[str] = []
    last = ""
    for token in tokens(text):
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


def _repair(text: str, repairs: list[str]) -> Any:
    if _is_deep(text):
        raise InvalidArguments(f"Brackets nest deeper than {MAX_DEPTH}.")
    text = _without_tuples(text, repairs)
    normalized = _normalize_tokens(text, repairs)
    try:
        return _DECODER.decode(normalized)
    except (ValueError, RecursionError):
        return _repair_with_library(text, repairs)


def _without_tuples(text: str, repairs: list[str]) -> str:
    """Replace Python tuples, `(1, 2)` at the position of a value, by arrays; other parentheses are unchanged."""
    output: list[str] = []
    open_positions: list[int] = []
    tuples: set[int] = set()
    previous = ""
    for token in tokens(text):
        if token.text == "," and open_positions and output[open_positions[-1]] == "(" and token.kind == "mark":
            tuples.add(open_positions[-1])
        if token.text in ("{", "[", "("):
            open_positions.append(len(output) if previous in (":", ",", "[", "(") else 0)
        elif (
            token.text in ("}", "]", ")")
            and open_positions
            and (start := open_positions.pop()) in tuples
            and token.text == ")"
        ):
            output[start], token = "[", token._replace(text="]")
            repairs.append("tuple")
        output.append(token.text)
        previous = previous if token.kind in ("blank", "comment") else token.text
    return "".join(output)


def _normalize_tokens(text: str, repairs: list[str]) -> str:
    """Rewrite the text as JSON, token by token; raise for what cannot be repaired."""
    output: list[str] = []
    previous = Token("mark", "", 0)
    for token, following in _with_following(text):
        if token.kind == "comment":
            repairs.append("comment")
        elif token.kind != "blank":
            if token.text in ("}", "]", ",") and previous.text == ",":
                output.pop()
                repairs.append("trailing comma" if token.text != "," else "double comma")
            elif token.kind != "mark" and previous.kind != "mark":
                output.append(" ")  # adjacent values stay separate: `1 2` is not 12
            output.append(_token_as_json(token, previous, following, repairs))
            previous = token
    return "".join(output)


def _with_following(text: str) -> Iterator[tuple[Token, Token]]:
    """Return each token with the next significant one."""
    all_tokens = list(tokens(text))
    following = Token("mark", "", len(text))
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
    escaped = _ESCAPE.sub(lambda found: _escape_as_json(found[0], repairs), text[1:-1])
    return f'"{escaped}"'


def _escape_as_json(escape: str, repairs: list[str]) -> str:
    if escape == '"':
        return '\\"'  # was unescaped between other quotes
    if escape[0] != "\\":
        repairs.append("control character")
        return json.dumps(escape)[1:-1]
    if len(escape) == 6 or escape[1:] in tuple('"\\/bfnrt'):
        return escape
    repairs.append("escape")
    if escape[1:2] == "x" and len(escape) == 4:
        return f"\\u00{escape[2:]}"
    if escape[1:] in ("'", "\n"):
        return escape[1:].strip("\n")
    return "\\\\" + json.dumps(escape[1:])[1:-1]


def _word_as_json(token_text: str, previous: Token, following: Token, repairs: list[str]) -> str:
    if previous.text in ("{", ",") and following.text == ":" and not token_text[0].isdigit():
        repairs.append("unquoted key")
        return json.dumps(token_text)
    if _NUMBER.match(token_text):
        return token_text
    if token_text in CONSTANTS:
        if CONSTANTS[token_text] != token_text:
            repairs.append("constant")
        return CONSTANTS[token_text]
    if _LOOSE_NUMBER.match(token_text) and "." in token_text:
        repairs.append("number")
        return json.dumps(float(token_text))
    if previous.kind == "string":
        return token_text  # a quote inside a string: left to the library
    raise InvalidArguments(f"A value is expected; {shorten(token_text, 40)!r} is none.")


def _repair_with_library(text: str, repairs: list[str]) -> Any:
    if len(text) > MAX_LIBRARY_CHARS or _missing_commas(text) > MAX_GAPS:
        raise InvalidArguments("The object is broken, and too long or in too many places to be repaired.")
    from json_repair import repair_json  # noqa: PLC0415 - start-up time: rarely needed

    value = None
    with suppress(Exception):  # its assertions fail on some inputs
        value = repair_json(text, return_objects=True, skip_json_loads=True)
    if not isinstance(value, dict | list) or not _keeps_content(value, text):
        raise InvalidArguments("The object is broken in a way that cannot be repaired without guessing.")
    repairs.append("json-repair")
    return value


def _missing_commas(text: str) -> int:
    kinds = [token.kind for token in tokens(text) if token.kind not in ("blank", "comment")]
    return sum(kind != "mark" and after != "mark" for kind, after in pairwise(kinds))


def _keeps_content(value: Any, source: str) -> bool:
    """Whether a repaired value has all letters of the text, and no new strings."""
    if _content_letters(json.dumps(value, ensure_ascii=False)) != _content_letters(source):
        return False
    return all(not _SUSPICIOUS_STRING.search(text) and _is_in_source(text, source) for text in _strings(value))


def _is_in_source(text: str, source: str) -> bool:
    """Whether a string was in the text; the library inserts an empty one for a missing value."""
    if not text:
        return '""' in source or "''" in source
    return f'"{text}' in source or f"'{text}" in source or json.dumps(text)[:-1] in source


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value


def _content_letters(text: str) -> str:
    """Return the letters and digits outside of comments, with constants normalized: a repair must not change them."""
    texts = (CONSTANTS.get(token.text, token.text) for token in tokens(text) if token.kind != "comment")
    unescaped = re.sub(r"\\(?:u[0-9a-fA-F]{4}|[bfnrt])", "", "".join(texts))
    return "".join(_LETTERS.findall(unescaped))
