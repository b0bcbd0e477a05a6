"""The former private vocabulary is in no name, sentence, page or notebook of the project."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

IDENTIFIERS = re.compile(
    "|".join(
        (
            # participles that do not say what they hold
            r"told|said|heard|kept|asked|lent|mended|drawn|came|gone|begun|meant|unsaid|unkept|unheard|spoken",
            # metaphors
            r"ink|veil|bench|desk|deeds?|ears|scribe|speaker|workbench|turnstile|roads?|glance|ticket|keeper|ruling|lend",
            r"last_word|patience|pace|island|shelf|pile|homeless|fingerprint|ledger|neighbou?rs",
            # archaic
            r"anew|whoever|hither|mine",
        )
    )
)
"""Names of functions, classes, arguments and variables, without underscores around them, as a whole."""

PROSE = re.compile(
    r"\b(?:anew|whoever|whosoever|hither|mend|mends|mended|mending|lent|lend|lends|desk|scribe|veil|veils|inks?|keeper|"
    r"ruling|deeds|ears|hears|heard of|tells of|told of|stands for itself|stands behind|of its own accord|"
    r"by another road|roads?|takes turns at|draws a ticket|goes its way|comes about|came about|brings about)\b",
    re.IGNORECASE,
)
"""Words of docstrings, comments, messages, docs and notebooks."""

TEST_WORDS = re.compile(
    r"(?:^|_)(?:told|tells?|said|heard|hears?|stands?|stood|anew|whoever|mend|mends|mended|mending|lent|lends?|desk|scribe|veil\w*|"
    r"inks?|keeper|ruling|deeds?|ears|roads?|bench|tickets?|drawn|begun|meant|spelt|spoken|fingerprint|odd|accord|last_word)(?=_|$)"
)
"""Words of the names of tests, which are sentences."""

DATA_KEYS = frozenset({"said", "asked", "may_park"})
"""Names that are keys of saved notebooks, journals or page messages, which older files hold."""

DOCS = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    *(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")),
]


def names_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def private_names(source: str) -> set[str]:
    return {
        name for name in names_in(source) if IDENTIFIERS.fullmatch(name.strip("_").lower()) and name not in DATA_KEYS
    }


def names_of_tests(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                yield name


def private_words(text: str) -> set[str]:
    return {found.group().lower() for found in PROSE.finditer(text)}


def modules() -> list[Path]:
    return sorted((ROOT / "nbtool").rglob("*.py"))


def notebook_text(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


def test_no_name_of_the_package_or_the_tests_is_of_the_private_vocabulary() -> None:
    paths = [*modules(), *(ROOT / "tests").rglob("*.py")]
    found = {str(path.relative_to(ROOT)): private_names(path.read_text(encoding="utf-8")) for path in paths}

    assert {path: names for path, names in found.items() if names} == {}


def test_no_sentence_of_the_package_is_of_the_private_vocabulary() -> None:
    found = {str(path.relative_to(ROOT)): private_words(path.read_text(encoding="utf-8")) for path in modules()}

    assert {path: words for path, words in found.items() if words} == {}


def test_no_test_is_named_in_the_private_vocabulary() -> None:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    named = [path.stem for path in files]
    named += [name for path in files for name in names_of_tests(path.read_text(encoding="utf-8"))]

    assert [name for name in named if TEST_WORDS.search(name)] == []


@pytest.mark.parametrize("page", DOCS)
def test_no_page_is_of_the_private_vocabulary(page: str) -> None:
    assert private_words((ROOT / page).read_text(encoding="utf-8")) == set()


def test_no_notebook_is_of_the_private_vocabulary() -> None:
    found = {path.name: private_words(notebook_text(path)) for path in (ROOT / "notebooks").glob("*.ipynb")}

    assert found
    assert {name: words for name, words in found.items() if words} == {}


def test_no_script_of_the_page_is_of_the_private_vocabulary() -> None:
    paths = list((ROOT / "js" / "src").rglob("*.ts*"))
    found = {str(path.relative_to(ROOT)): private_words(path.read_text(encoding="utf-8")) for path in paths}

    assert found
    assert {path: words for path, words in found.items() if words} == {}


def test_a_private_word_would_be_found() -> None:
    assert private_names("def told(desk): _veil = 1") == {"told", "desk", "_veil"}
    assert list(names_of_tests("def test_it_is_told(): ...\ndef told(): ...")) == ["test_it_is_told"]
    assert TEST_WORDS.search("test_it_is_told")
    assert not TEST_WORDS.search("test_understanding_is_drawing")
    assert private_words("Whoever mended it begins anew.") == {"whoever", "mended", "anew"}
