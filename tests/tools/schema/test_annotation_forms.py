"""Each form of an annotation means what the page says, wherever the function is defined."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.annotation_forms import FORMS, PLACES, Form, measure, places_of

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "form", [one for one in FORMS if one.is_available], ids=lambda form: f"{form.annotation} {form.written}"
)
def test_an_annotation_means_the_same_wherever_its_function_is_defined(form: Form) -> None:
    assert measure(form) == []


@pytest.mark.sampled(0)
def test_the_page_is_what_this_python_does() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs/annotations.py", "--check"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_no_python_of_the_page_has_another_outcome_than_the_stated_one() -> None:
    page = (ROOT / "docs/annotations.md").read_text("utf-8")

    assert all(done == of for done, of in re.findall(r"\| (\d+) of (\d+) ", page))
    assert len(re.findall(r"\d+ of \d+", page)) > 3 * len(FORMS)


def test_a_form_is_tried_at_each_place() -> None:
    assert len(PLACES) > 10
    assert {place for form in FORMS for place in places_of(form)} == set(PLACES)
