"""Digests of parts of large objects: the same for the same content, and none for what cannot be read in time."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.tools.content_hash.samples import WHOLE_BYTES, sample_digest

LARGE = bytes(2 * WHOLE_BYTES)


def digest(value: Any, seconds: float = 60, max_bytes: int = 2**30) -> str:
    return sample_digest(value, seconds=seconds, max_bytes=max_bytes)


def test_a_change_in_a_part_that_is_read_is_another_digest() -> None:
    changed = bytearray(LARGE)
    changed[0] = 1

    assert digest(LARGE) != ""
    assert digest(LARGE) == digest(bytes(len(LARGE)))
    assert digest(bytes(changed)) != digest(LARGE)
    assert digest(LARGE + b"0") != digest(LARGE)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("value", "limits"),
    [
        ([0] * 100_000, {"seconds": -1}),
        ([bytes(1_000)] * 2, {"max_bytes": 10}),
        (LARGE, {"max_bytes": 10}),
        ((number for number in range(3)), {}),
    ],
    ids=["no time", "too many bytes", "too many bytes of the parts", "a state that cannot be read"],
)
def test_what_cannot_be_read_in_time_has_no_digest(value: Any, limits: dict[str, Any]) -> None:
    assert digest(value, **limits) == ""
