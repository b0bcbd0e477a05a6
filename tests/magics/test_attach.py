from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool.messages import Media, Text
from tests.chaos import serve
from tests.magics.cell.test_run import failure
from tests.samples import JPEG, PNG, WAV, as_base64, form_of, form_values, image_response

USE = "%%chat -m practice:fast -o answer "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cat.png").write_bytes(PNG)
    (tmp_path / "with space.jpg").write_bytes(JPEG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def last_parts(shell: Any) -> tuple[Any, ...]:
    """Give the parts of what the last cell said."""
    parts: tuple[Any, ...] = shell.user_ns["answer"].prompt.parts
    return parts


def test_files_are_attached_by_their_paths(shell: Any, folder: Path) -> None:
    shell.run_cell(f'{USE} -a cat.png "with space.jpg" {folder}/cat.png\nWhat is this?')

    cat = Media("image/png", data=PNG, name="cat.png")
    assert last_parts(shell) == (Text("What is this?"), cat, Media("image/jpeg", data=JPEG, name="with space.jpg"), cat)


def test_a_name_of_the_notebook_wins_over_a_file(shell: Any, folder: Path) -> None:
    (folder / "picture").write_bytes(PNG)
    shell.user_ns["picture"] = JPEG
    shell.run_cell(USE + "-a picture\nWhat is this?")

    assert last_parts(shell)[1:] == (Media("image/jpeg", data=JPEG),)


def test_a_file_without_an_ending_is_found(shell: Any, folder: Path) -> None:
    (folder / "picture").write_bytes(PNG)
    shell.run_cell(USE + "--attach picture\nWhat is this?")

    assert last_parts(shell)[1:] == (Media("image/png", data=PNG, name="picture"),)


def test_a_variable_may_hold_a_path_or_several_things(shell: Any, folder: Path) -> None:
    shell.user_ns["several"] = [folder / "cat.png", WAV]
    shell.run_cell(USE + "-a several\nWhat is this?")

    assert [part.mime for part in last_parts(shell)[1:]] == ["image/png", "audio/wav"]


@pytest.mark.usefixtures("folder")
def test_an_attachment_may_speak_for_itself(shell: Any) -> None:
    shell.run_cell(USE + "-a cat.png\n ")

    assert shell.user_ns["answer"].status == "completed"
    assert [part for part in last_parts(shell) if isinstance(part, Media)] == [
        Media("image/png", data=PNG, name="cat.png")
    ]


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ("-a fram", "There is no variable or file called 'fram' in this notebook. Did you mean frame or Frame?"),
        ("-a nowhere/cat.png", "nowhere/cat.png does not exist, so it cannot be attached. Check the path."),
        ("-a frame", "A Frame cannot be attached."),
        ("-a .env", ".env looks like a file of secrets and was not attached."),
        ("-a", "expected at least one argument"),
    ],
)
def test_what_cannot_be_attached_is_one_line_and_changes_nothing(
    shell: Any, folder: Path, capsys: pytest.CaptureFixture[str], flags: str, line: str
) -> None:
    (folder / ".env").write_text("KEY=1")
    actual = failure(shell, f"{USE} -v frame {flags}\nWhat is this?", capsys)

    assert line in actual
    assert "Traceback" not in actual
    assert "answer" not in shell.user_ns
    assert shell.magics_manager.registry["ChatMagics"].kernel_chats.chat("main").exposed_variables() == []


def test_a_cell_edits_an_image_and_shows_the_new_one(
    shell: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(image_response(as_base64(JPEG))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
        shell.run_cell("%%chat -m openai:gpt-image-1 -o answer -a cat.png\nMake it blue.")

    assert form_values(form_of(server.requests[0]), "image") == [PNG]
    assert shell.user_ns["answer"].media[0].data == JPEG
    assert "(image/jpeg), 24 bytes" in capsys.readouterr().out
    assert folder.joinpath("cat.png").read_bytes() == PNG


@pytest.mark.usefixtures("folder")
def test_a_dry_run_names_the_files_that_would_leave(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    shell.run_cell("%%chat --dry-run -m openai:gpt-image-1 -a cat.png\nMake it blue.")

    actual = capsys.readouterr().out
    assert "POST https://api.openai.com/v1/images/edits\n" in actual
    assert f"image: cat.png (image/png, {len(PNG)} bytes)\n" in actual
