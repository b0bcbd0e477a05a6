"""A sentence is for people: no program compares, parses or replaces one. What a program needs is a field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "nbtool"
PAGE = ROOT / "js" / "src"

TEXT_METHODS = {
    "startswith", "endswith", "removeprefix", "removesuffix", "replace", "partition", "rpartition", "split", "find",
    "index", "count",
}  # fmt: skip
PATTERN_FUNCTIONS = {"compile", "match", "search", "fullmatch", "sub", "split", "findall", "finditer"}
PROSE = {"message", "fix", "explanation", "notice", "why", "problem", "description"}
"""Attributes that hold prose, whatever they are attributes of."""
PROSE_OF_EVENTS = {"text", "error", "reason"}
"""Attributes that hold prose where they are attributes of an event or an error."""
EVENTS = {"event", "notice", "ended", "finished", "error", "raised", "failure", "exc", "decided", "record"}

A_MODEL = "the embedded model reads what any model reads: texts"
OF_MODELS = "a form in which models write calls"

ALLOWED: dict[str, dict[str, str]] = {
    "blocks/confusables.py": {"FULLWIDTH LATIN": "names of Unicode's database"},
    "chat/turn/compact.py": {
        "LOG_TITLE, QUOTED_TITLE": "a mark of ours that stands in a text of others is taken apart"
    },
    "chat/journal/search.py": {
        "no such module: fts5": "SQLite has no code for it",
        "_LIST": "a statement, which SQLite keeps as it was given",
    },
    "practice/arguments.py": {"LIST_SEPARATOR": A_MODEL},
    "practice/phrases.py": {"NOBODY_ASKED": A_MODEL},
    "practice/plan.py": {"IDENTITY_QUESTION": A_MODEL, "FAILURE_TEXT": A_MODEL},
    "practice/request.py": {
        "ANSWER_SCHEMA_PROMPT": A_MODEL + ", by the constant that the prompt is written with",
        "EDITED_NOTICE": A_MODEL + ", by the constant that the result is written with",
    },
    "practice/prompted.py": {"RESULT": A_MODEL, "RESULTS_INTRODUCTION": A_MODEL, "NO_CALL": A_MODEL},
    "tools/execution/executors.py": {"_PICKLE_ERROR_WORDS": "pickle has no class of its own for what it cannot write"},
    "tools/schema/parameters.py": {'first["msg"]': "pydantic's words, made shorter"},
    "tools/secret_patterns.py": {"_COPY_MARK": "names of files"},
    "tools/tool.py": {"str(error).replace": "the words of an error in one line, for a person"},
    "wire/agents/transcript.py": {"ENDING": "a mark of ours that stands in a text of others is taken apart"},
    "wire/prompted/forms/labelled_lines.py": {"_ACTION": OF_MODELS},
    "wire/transport/errors/connection_errors.py": {"407": "httpx gives a proxy's status in its text alone"},
    "js/lab/definingCells.ts": {"UNDEFINED": "a saved NameError has its name in its words only; it decides an advice"},
    "js/rich/approval/validate.ts": {".exec(error)": "a validator's words, made shorter"},
}
"""The places where it is right, by a part of the line, with the reason."""


SENTENCE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]|\}\\?\}: ")
"""Words with a blank between them; or `}}: `, which stands between a reference and what it is said to stand for."""


class Found(NamedTuple):
    """A place where prose decides something."""

    file: str
    number: int
    line: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}: {self.line}"


def test_no_text_decides_anything() -> None:
    assert [str(one) for one in all_places() if not allowed(one)] == []


def test_every_exception_is_still_needed() -> None:
    found = all_places()
    unneeded = [
        (file, part) for file, parts in ALLOWED.items() for part in parts
        if not any(one.file == file and part in one.line for one in found)
    ]  # fmt: skip

    assert unneeded == []


@pytest.mark.parametrize(
    "line",
    [
        'if event.text == "This turn was imported.": pass',
        'SAID = "It went wrong."\nif said != SAID: pass',
        'if "out of range" in str(error): pass',
        'error.message.startswith("The")',
        'said = text.removeprefix("The provider ")',
        're.match(r"it is (.*) already", said)',
        'match said:\n    case "not yet": pass',
        'if type(error).__name__ == "ProxyError": pass',
        'error.fix = "Try again."',
        'if ended.error == other: pass',
        'LINE = re.compile(r"VAR_REF{{(.*)}}: (.*)")',
    ],
)  # fmt: skip
def test_each_way_to_read_prose_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(line + "\n")

    assert len(list(places_in_python(tmp_path))) == 1


@pytest.mark.parametrize(
    "line",
    ['if (notice.text === "It is over.") stop();', 'text.startsWith("The kernel")',
     r"const LINE = /VAR_REF\{\{(.*?)\}\}: (.*)$/s;", "/^The call (.*) ran/.exec(text)",
     'line.replace("was denied", "no")', 'if (error.message.includes("gone")) stop();'],
)  # fmt: skip
def test_each_way_to_read_prose_is_found_on_the_page(line: str, tmp_path: Path) -> None:
    (tmp_path / "sample.ts").write_text(line + "\n")

    assert len(list(places_on_the_page(tmp_path))) == 1


def allowed(found: Found) -> bool:
    """Whether a place is one of the exceptions."""
    return any(part in found.line for part in ALLOWED.get(found.file, ()))


# --- Python -------------------------------------------------------------------------------------------------------


@cache
def all_places() -> tuple[Found, ...]:
    """Return where the package and the page's script read prose."""
    return (*places_in_python(PACKAGE), *places_on_the_page(PAGE))


def places_in_python(root: Path) -> Iterator[Found]:
    """Return where a package compares, parses, cuts or rewrites prose."""
    sources = {file: file.read_text() for file in sorted(root.rglob("*.py"))}
    trees = {file: ast.parse(source) for file, source in sources.items()}
    constants = dict(constant for tree in trees.values() for constant in sentences_of(tree))
    for file, tree in trees.items():
        lines = sources[file].splitlines()
        numbers = {node.lineno for node in ast.walk(tree) if hasattr(node, "lineno") and reads_prose(node, constants)}
        for number in sorted(numbers):
            yield Found(file.relative_to(root).as_posix(), number, lines[number - 1].strip())


def sentences_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Return the module's constants that are sentences."""
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and is_sentence(value.value):
            yield target.id, str(value.value)


def reads_prose(node: ast.AST, constants: dict[str, str]) -> bool:
    """Whether an expression compares, parses, cuts or rewrites prose."""
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            is_text = not all(
                isinstance(op, ast.Is | ast.IsNot | ast.Lt | ast.Gt | ast.LtE | ast.GtE) for op in node.ops
            )
            by_class = any(isinstance(side, ast.Attribute) and side.attr == "__name__" for side in sides)
            named = [side for side in sides if isinstance(side, ast.Constant) and str(side.value).endswith("Error")]
            return is_text and (
                any(holds_sentence(side, constants) or is_prose(side) for side in sides) or bool(by_class and named)
            )
        case ast.MatchValue():
            return holds_sentence(node.value, constants)
        case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=name), args=args) if name in PATTERN_FUNCTIONS:
            return any(holds_sentence(one, constants) or is_prose(one) for one in args)
        case ast.Call(func=ast.Attribute(value=ast.Name("self"))):
            return False  # a method of our own
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=args) if name in TEXT_METHODS:
            return is_prose(value) or any(holds_sentence(one, constants) for one in args)
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(owner), attr=name)]) if owner in EVENTS:
            return name in {"message", "fix", "args", "text"}
    return False


def holds_sentence(node: ast.AST, constants: dict[str, str]) -> bool:
    """Whether a sentence stands in an expression, itself or by the name of its constant."""
    inner = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return any(
        (isinstance(one, ast.Constant) and is_sentence(one.value))
        or (isinstance(one, ast.Name) and one.id in constants)
        for one in inner
    )


def is_prose(node: ast.AST) -> bool:
    """Whether an expression is the text of an error or of an event."""
    match node:
        case ast.Call(func=ast.Name("str"), args=[ast.Name(name)]):
            return name in EVENTS
        case ast.Attribute(value=ast.Name(owner), attr=name):
            return name in PROSE or (name in PROSE_OF_EVENTS and owner in EVENTS)
        case ast.Attribute(attr=name):
            return name in PROSE
    return False


def is_sentence(value: object) -> bool:
    """Whether a literal reads as prose: words with a blank between them."""
    return isinstance(value, str) and SENTENCE.search(value) is not None


# --- TypeScript ---------------------------------------------------------------------------------------------------

WORDS = r"[A-Za-z]{2,},? [A-Za-z]+"
LITERAL = rf"(?:\"[^\"\n]*{WORDS}[^\"\n]*\"|'[^'\n]*{WORDS}[^'\n]*'|`[^`\n]*{WORDS}[^`\n]*`)"
METHODS = r"(?:startsWith|endsWith|includes|indexOf|replace|replaceAll|split|match|matchAll|search)"
ON_THE_PAGE = re.compile(
    rf"[!=]==? {LITERAL}|case {LITERAL}:|\.{METHODS}\({LITERAL}"
    rf"|(?<![\w)<])/(?![/*])[^/\n]*(?:{WORDS}|\\}}\\}}: )[^/\n]*/[a-z]*(?:\.(?:exec|test)\(|[,);])"
    rf"|\.(?:message|problem)\.{METHODS}\(|\.(?:message|problem) [!=]=="
)


def places_on_the_page(root: Path) -> Iterator[Found]:
    """Return where the page's script compares, parses or rewrites prose."""
    for file in sorted(file for file in root.rglob("*") if file.suffix in (".ts", ".tsx")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if not line.lstrip().startswith(("//", "*", "/*")) and ON_THE_PAGE.search(line):
                yield Found(f"js/{file.relative_to(root).as_posix()}", number, line.strip())
