"""An object that a notebook shows in a form of its own is read in that form."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.tools.values.display_form import display_form


class Shown:
    """An object whose bundle is what a test says."""

    def __init__(self, **bundle: Any) -> None:
        self.bundle = {name.replace("__", "/").replace("_plus_", "+"): one for name, one in bundle.items()}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.bundle


SPEC = {"mark": "bar", "data": {"values": [{"a": 1}]}}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("bundle", "form"),
    [
        ({"application__vnd.vegalite.v5_plus_json": SPEC, "text__plain": "<chart>"}, SPEC),
        ({"text__markdown": "# Title", "text__plain": "<title>"}, "# Title"),
        ({"text__plain": "three"}, "three"),
    ],
)
def test_of_a_bundle_its_data_is_read_before_its_text(bundle: dict[str, Any], form: Any) -> None:
    read = display_form(Shown(**bundle))

    assert read is not None
    assert read[0] == form


def test_of_a_bundle_with_nothing_but_a_summary_nothing_is_read() -> None:
    assert display_form(Shown(text__plain="<Shown at 0x7f>")) is None
