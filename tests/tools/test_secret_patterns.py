"""Names of files of secrets, and of the copies that editors, archivers and people make of them."""

from __future__ import annotations

import pytest

from nbtool.tools.secret_patterns import is_secret_name, original_names


@pytest.mark.parametrize("name", [".netrc", ".netrc~", ".#.netrc", "id_rsa.bak.gz", "kaggle (1).json", ".netrc.swp"])
def test_a_file_of_secrets_is_recognized_by_its_name_and_by_those_of_its_copies(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["netrcs.txt", "notes.bak", "prices (1).json", "data.csv"])
def test_other_files_and_their_copies_are_not(name: str) -> None:
    assert not is_secret_name(name)


def test_a_copy_of_a_copy_is_recognized_up_to_its_fourth_mark() -> None:
    assert ".netrc" in original_names(".netrc.bak.old.orig.gz")
    assert is_secret_name(".netrc.bak.old.orig.gz")
