from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nbtool.magics import load, unload
from nbtool.magics.views.map_view import show_map
from nbtool.map_progress import MapProgress, get_progress_view
from nbtool.messages import Usage
from tests.shells import new_shell

UNATTENDED = SimpleNamespace(_allow_stdin=False, get_parent=lambda _: {})


@pytest.mark.parametrize("kernel", [None, UNATTENDED], ids=["terminal", "unattended"])
def test_where_nobody_sees_a_page_there_is_no_view(kernel: Any) -> None:
    assert show_map(SimpleNamespace(kernel=kernel), MapProgress(Usage()), lambda: None) is None


def test_the_view_is_registered_while_the_extension_is_loaded() -> None:
    shell = new_shell()
    load(shell)
    make_view = get_progress_view()
    unload(shell)

    assert make_view is not None
    assert make_view(MapProgress(Usage()), lambda: None) is None
    assert get_progress_view() is None
