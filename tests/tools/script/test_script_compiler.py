from __future__ import annotations

import pytest

from nbtool.tools.script.script_compiler import validate


@pytest.mark.parametrize("script", ["a = '\0'", "(" * 300 + ")" * 300, "-" * 9_000 + "1"])
def test_a_script_that_python_cannot_even_parse_is_refused_in_its_words(script: str) -> None:
    with pytest.raises(ValueError, match="Python: "):
        validate(script)


def test_a_reference_in_a_pattern_is_left_as_it_is() -> None:
    assert validate(
        "match {'$VAR_REF{{a}}': 1}:\n    case {'$VAR_REF{{a}}': 1}:\n        1\n    case '$VAR_REF{{a}}':\n        2"
    )


def test_what_a_script_may_not_hold_is_named() -> None:
    refused = {
        "import os": "imports",
        "from os import path": "imports",
        "class A: pass": "classes",
        "async def f(): pass": "async",
        "def f():\n    yield 1": "yield",
        "def f():\n    yield from a": "yield",
        "try:\n    1\nexcept:\n    2": "a bare except",
        "a.__class__": "names that begin with _",
        "global _a": "names that begin with _",
    }

    for script, what in refused.items():
        with pytest.raises(ValueError, match=rf"^a script without {what}\b"):
            validate(script)
