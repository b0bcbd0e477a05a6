from __future__ import annotations

import subprocess
import sys

import pytest

from nbtool import plugins


@pytest.mark.parametrize("name", plugins.__all__)
def test_a_plugin_is_imported_from_the_package(name: str) -> None:
    assert getattr(plugins, name).__name__ == name


def test_any_other_name_is_missing() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = plugins.Nothing


def test_no_plugin_is_imported_before_it_is_used() -> None:
    code = "import sys, nbtool.plugins; print([name for name in sys.modules if name.startswith('nbtool.plugins.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "[]\n"
