"""Unusual tools and objects: without a module, with a deleted source, with a state that is forgotten."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from nbtool.tools.content_hash import content_hash
from nbtool.tools.content_hash.code_names import passes_self
from nbtool.tools.content_hash.fields import module_of
from nbtool.tools.content_hash.tool_states import MAX_STATES, ToolStates


def test_a_class_without_a_module_has_none() -> None:
    namespace = {"__builtins__": {"type": type}}  # without a `__name__`
    exec("kind = type('Kind', (), {})", namespace)

    assert module_of(namespace["kind"]) == ""


def test_a_method_that_is_no_python_function_may_pass_its_object_on() -> None:
    assert passes_self(print)


def test_a_function_has_a_hash_after_the_file_of_a_module_that_it_uses_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "prices_of_a_test.py"
    file.write_text("PRICE = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("prices_of_a_test")
    namespace = {"__name__": "__main__", "prices": module}
    exec("def price(): return prices.PRICE", namespace)
    before = content_hash(namespace["price"])
    file.unlink()
    after = content_hash(namespace["price"])
    del sys.modules["prices_of_a_test"]

    assert before != after


def test_the_oldest_states_of_tools_are_forgotten() -> None:
    states = ToolStates()
    for number in range(MAX_STATES + 1):
        states.record(f"before {number}", f"after {number}")

    assert states.first_token("after 0") == "after 0"
    assert states.first_token(f"after {MAX_STATES}") == f"before {MAX_STATES}"
