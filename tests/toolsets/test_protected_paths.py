from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from nbtool.toolsets.protected_paths import protected_reason


def test_a_path_without_any_part_is_private_to_nobody() -> None:
    assert protected_reason(PurePosixPath()) == ""
    assert protected_reason(PurePosixPath("/proc")) == "it belongs to the system"
    assert protected_reason(PurePosixPath("/home/ada/.jupyter/notebook_cookie_secret"))


@pytest.mark.parametrize("name", ["notebook_cookie_secret", "jupyter_cookie_secret"])
def test_the_secrets_of_the_notebook_server_are_private_wherever_they_lie(name: str) -> None:
    assert protected_reason(PurePosixPath("/data") / name) != ""
