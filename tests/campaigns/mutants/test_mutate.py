from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from tests.campaigns.mutants.__main__ import Reach
from tests.campaigns.mutants.mutate import mutants_of

ROOT = Path(__file__).parents[3]
REASONS = Path(__file__).with_name("survivors.toml")


def changes(tmp_path: Path, source: str) -> set[str]:
    """Return every changed source of a file; each can be parsed, and keeps the lines that follow."""
    file = tmp_path / "code.py"
    file.write_text(source, encoding="utf-8")
    made = {mutant.of(file.read_bytes()).decode() for mutant in mutants_of(file, tmp_path)}
    for changed in made:
        ast.parse(changed)
        assert changed.count("\n") == source.count("\n")
    return made


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("a = b == c\n", {"a = (b != c)\n"}),
        ("a = b < c\n", {"a = (b <= c)\n"}),
        ("a = b and c\n", {"a = (b or c)\n"}),
        ("a = not b\n", {"a = (b)\n"}),
        ("a = b + c\n", {"a = (b - c)\n"}),
        ("a = b if c else d\n", {"a = (d if c else b)\n"}),
        ("a = 7\n", {"a = 8\n"}),
        ("a = True\n", {"a = False\n"}),
        ("a = 'é'\n", {"a = 'XXéXX'\n"}),
        ("f(a, b=c)\n", {"(f(a))\n", "pass\n"}),
        ("raise a\n", {"pass\n"}),
        ("def f():\n    return a\n", {"def f():\n    return None\n"}),
        ("def f():\n    a = b\n", {"def f():\n    a = None\n"}),
        ("def f():\n    a += b\n", {"def f():\n    a -= b\n"}),
        ("while a:\n    break\n", {"while (not (a)):\n    break\n", "while a:\n    continue\n"}),
        ("if a:\n    f\n", {"if (not (a)):\n    f\n"}),
        ("if not a:\n    f\n", {"if (a):\n    f\n"}),
        ("a = (b ==\n     c)\n", {"a = ((b != c\n))\n"}),
        ("a = f(\n    b,\n    c=d,\n)\n", {"a = (f(b)\n\n\n)\n"}),
    ],
)
def test_each_kind_of_change_is_made_in_its_place_alone(tmp_path: Path, source: str, changed: set[str]) -> None:
    assert changes(tmp_path, source) == changed


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""\n',
        "a: int\n",
        "def f(a: 'int') -> 'str':\n    b\n",
        "@dataclass(frozen=True)\nclass A:\n    b\n",
        "f = 'words for people'\n",
        "f = f'{a + 1}'\n",
        "__all__ = ['a']\n",
        "if TYPE_CHECKING:\n    a = 1\n",
        "a = Literal['b']\n",
        "a = 1  # pragma: no cover - never\n",
        "def f():  # pragma: no cover - never\n    return 1\n",
        "def f():\n    return False\n",
    ],
)
def test_what_says_nothing_about_the_tests_is_left_as_it_is(tmp_path: Path, source: str) -> None:
    assert changes(tmp_path, source) <= {"def f():\n    return True\n"}


def test_an_id_stays_where_the_code_moves_and_distinguishes_equal_changes(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text("def f():\n    g()\n    g()\n")
    before = [mutant.mutant_id for mutant in mutants_of(file, tmp_path)]
    file.write_text("# moved\n\n\ndef f():\n    h\n    g()\n    g()\n")

    assert len(set(before)) == 2
    assert [mutant.mutant_id for mutant in mutants_of(file, tmp_path)] == before
    assert before[0].startswith("code.py:f:")


def test_a_function_that_its_module_calls_is_changed_where_it_is_imported(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text("def names():\n    return 1\n\nNAMES = names()\n\ndef later():\n    return names()\n")
    at_import = {mutant.place: mutant.at_import for mutant in mutants_of(file, tmp_path)}

    assert at_import == {"names": True, "later": False}


def test_a_module_that_only_runs_when_it_is_imported_is_reached_by_the_tests_of_its_package(tmp_path: Path) -> None:
    file = tmp_path / "nbtool" / "chain" / "names.py"
    file.parent.mkdir(parents=True)
    file.write_text("LIMIT = 7\n\n\ndef later():\n    return LIMIT + 1\n")
    at_import, *later = mutants_of(file, tmp_path)
    reach = Reach({"tests/chain/a.py::a": 2.0, "tests/chain/b.py::b": 1.0, "tests/wire/c.py::c": 1.0}, {})

    assert reach.tests_of(at_import) == ["tests/chain/b.py::b", "tests/chain/a.py::a"]
    assert [reach.tests_of(mutant) for mutant in later] == [[], [], []]


def test_every_survivor_is_a_mutant_of_the_code_as_it_is() -> None:
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    files = {ROOT / name.partition(":")[0] for name in reasons}
    ids = {mutant.mutant_id for file in files if file.is_file() for mutant in mutants_of(file, ROOT)}

    assert reasons.keys() - ids == set(), "their code has changed: give the ids of today, or delete the reasons"


def test_every_survivor_that_is_reported_has_a_reason_in_words() -> None:
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))

    assert all(len(why.split()) > 2 and name.startswith("nbtool/") for name, why in reasons.items())
