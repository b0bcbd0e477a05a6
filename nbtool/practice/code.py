"""Find Python in a prompt, in fences or quotes or as an expression; and write a cell where a prompt asks for one."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator
from itertools import islice

from nbtool.practice.request import MENTION, REFERENCE

MAX_CODE_CHARS = 4_000
"""Maximum number of characters of one piece of code."""

MAX_TRIES = 1_000
"""Maximum number of places in a prompt that are tried as code."""

FENCED = re.compile(r"```(?:python|py)?[ \t]*\n((?:[^`]|`(?!``))*?)\n[ \t]*```")
QUOTED = re.compile(r"(?<![$&@\w`])`((?:\$`[^`\n]{1,100}`|[^`$\n]|\$(?!`)){1,200}+)`|\"([^\"\n]+)\"|“([^“”\n]+)”")
_ATOM = r"(?:\$`[^\W\d]\w*`|[^\W\d]\w*)"
_TAIL = r"(?:\.[^\W\d]\w*|\((?:[^()\n]|\([^()\n]*\)){0,200}\)|\[[^\[\]\n]{0,200}\])"
EXPRESSION = re.compile(rf"(?<![\w`$&@.]){_ATOM}{_TAIL}+")
ARITHMETIC = re.compile(r"(?<![\w.])-?\d[\d.]*(?: ?(?:\*\*|//|[-+*/%]) ?-?\d[\d.]*)+(?<!\.)")
CODE_REQUEST = re.compile(
    r"\b(?:write|show|give|draft|suggest)\b(?:[^.?!\n]{0,80}?\b)(?:code|cells?|snippets?|scripts?|functions?|python)\b"
    r"|\bcode (?:for|that|to)\b",
    re.IGNORECASE,
)
"""A request for code, in words."""

NO_CODE_FOUND = (
    "# The practice model writes no code of its own: put Python in `backticks` in the prompt, and it writes that."
)
_TOOL = re.compile(r"[&@]`([^\W\d][\w.]*)`")


def find_code(prompt: str, variables: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the positions and texts of Python code, the most certain first; last a mentioned variable."""
    snippets = []
    for pattern in (FENCED, QUOTED, EXPRESSION, ARITHMETIC):
        for match in islice(pattern.finditer(prompt), MAX_TRIES):
            code = strip_mention_marks(next((group for group in match.groups() if group), match[0]))
            if _is_code(code, variables):
                snippets.append((*match.span(), code))
        if snippets:
            break
    yield from snippets or [(*match.span(), match[1]) for match in MENTION.finditer(prompt)]


def write_cell(prompt: str, variables: Collection[str]) -> str:
    """Return a cell for a prompt that asks for code: the last Python that the prompt contains, else an example."""
    found = [code for _, _, code in find_code(prompt, variables)]
    if not found:
        return f'{NO_CODE_FOUND}\nanswer = "an example"\nanswer'
    return found[-1].strip("\n")


def strip_mention_marks(text: str) -> str:
    """Return a text with mentions of variables and tools replaced by their names."""
    return _TOOL.sub(r"\1", REFERENCE.sub(r"\1", MENTION.sub(r"\1", text)))


def _is_code(text: str, variables: Collection[str]) -> bool:
    """Whether a text is Python code: a single word is code only if it is the name of a variable."""
    if len(text) > MAX_CODE_CHARS or "\0" in text:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the code warns when it runs
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    if len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Name):
        return text.strip() in variables
    return bool(body)
