from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nbtool import Chat
from nbtool.errors import EnvFileNotAllowed, MissingKey, SettingsError
from nbtool.settings import data_dir
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.providers import env_consent
from nbtool.wire.providers.catalog import BUILTIN
from nbtool.wire.providers.env_file import find_env_file
from tests.chaos import ChaosServer, finish, head, serve, text

KEY = "sk-canary-0123456789"
WITH_ADDRESS = [name for name, provider in BUILTIN.items() if provider.addresses]


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Work in a folder that came with somebody's project, without keys of one's own."""
    for provider in BUILTIN.values():
        for name in (*provider.keys, *provider.addresses):
            monkeypatch.delenv(name, raising=False)
    (tmp_path / ".env").touch()
    monkeypatch.chdir(tmp_path)
    find_env_file.cache_clear()
    yield tmp_path
    find_env_file.cache_clear()


@contextmanager
def server_of_a_stranger() -> Iterator[ChaosServer]:
    with serve(head(), text("Hello"), finish()) as server:
        yield server


def write_env(folder: Path, text: str) -> None:
    (folder / ".env").write_text(text)
    find_env_file.cache_clear()


def naming_an_address(name: str, url: str) -> str:
    provider = BUILTIN[name]
    keys = f"{provider.keys[0]}={KEY}\n" if provider.keys else ""
    return f"{keys}{provider.addresses[0]}={url}\n"


@pytest.mark.promise("env-asks")
@pytest.mark.parametrize("name", WITH_ADDRESS)
def test_an_address_that_only_an_env_file_names_gets_no_prompt_before_a_person_allowed_it(
    name: str, project: Path
) -> None:
    with server_of_a_stranger() as server:
        write_env(project, naming_an_address(name, server.url))
        with pytest.raises(EnvFileNotAllowed, match=BUILTIN[name].addresses[0]) as refused:
            Chat(f"{name}:m", wire="chat").send("private words")
        before = list(server.requests)

        env_consent.allow()
        turn = Chat(f"{name}:m", wire="chat").send("private words")

    assert before == []
    assert turn.text == "Hello"
    assert server.host in str(refused.value)
    assert str(project) not in str(refused.value)
    assert KEY not in str(refused.value)


def by_send(chat: Chat) -> object:
    return chat.send("private words")


def by_map(chat: Chat) -> object:
    return chat.map(["private words"])


def by_rehearsal(chat: Chat) -> object:
    return chat.rehearse("private words")


def by_list_of_models(chat: Chat) -> object:
    return chat.model.list_models()


@pytest.mark.promise("env-asks")
@pytest.mark.parametrize("way", [by_send, by_map, by_rehearsal, by_list_of_models], ids=lambda way: way.__name__)
@pytest.mark.parametrize("named", ["model and address", "address alone"])
def test_nothing_is_sent_in_any_way_before_the_file_was_allowed(
    way: Callable[[Chat], object], named: str, project: Path
) -> None:
    with server_of_a_stranger() as server:
        model = "NBTOOL_MODEL=ollama:llama3\n" if named == "model and address" else ""
        write_env(project, f"{model}OLLAMA_HOST={server.url}\n")
        with pytest.raises(EnvFileNotAllowed):
            way(Chat() if model else Chat("ollama:llama3"))

        assert server.requests == []


def test_a_model_that_only_an_env_file_names_is_asked_about_although_its_address_is_known(project: Path) -> None:
    write_env(project, f"NBTOOL_MODEL=openai:gpt-5-mini\nOPENAI_API_KEY={KEY}\n")

    with pytest.raises(EnvFileNotAllowed, match=r"NBTOOL_MODEL.*api\.openai\.com"):
        Chat().send("private words")


def test_the_practice_model_of_an_env_file_needs_no_consent_for_nothing_leaves(project: Path) -> None:
    write_env(project, "NBTOOL_MODEL=practice:fast\n")

    assert Chat().send("Hello").status == "completed"


def test_what_the_environment_names_needs_no_consent(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server_of_a_stranger() as server:
        write_env(project, "NBTOOL_MODEL=ollama:evil\nOLLAMA_HOST=http://evil.example\n")
        monkeypatch.setenv("NBTOOL_MODEL", "ollama:llama3")
        monkeypatch.setenv("OLLAMA_HOST", server.url)

        assert Chat().send("Hello").text == "Hello"


def test_an_address_that_is_given_needs_no_consent(project: Path) -> None:
    with server_of_a_stranger() as server:
        write_env(project, "OLLAMA_HOST=http://evil.example\n")

        assert Chat("ollama:llama3", base_url=server.url).send("Hello").text == "Hello"


def test_without_a_folder_of_settings_no_file_is_allowed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "home").touch()
    monkeypatch.setenv("NBTOOL_HOME", str(project / "home"))

    assert not env_consent.is_allowed()


def test_consent_that_cannot_be_stored_is_an_error_with_the_other_way(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(project))
    (project / env_consent._CONSENT.folder).touch()
    with pytest.raises(SettingsError, match="cannot be written") as failed:
        env_consent.allow()

    assert failed.value.fix == f"Set {env_consent.VARIABLE}=1."
    assert not env_consent.is_allowed()


@pytest.mark.skipif(os.name != "posix", reason="the modes of files are those of POSIX")
def test_nobody_else_can_see_what_was_allowed(project: Path) -> None:
    write_env(project, "OLLAMA_HOST=http://one.example\n")
    env_consent.allow()
    folder = data_dir() / env_consent._CONSENT.folder

    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}


def test_consent_ends_when_the_file_changes(project: Path) -> None:
    write_env(project, "OLLAMA_HOST=http://one.example\n")
    env_consent.allow()
    make_endpoint("ollama:m")
    write_env(project, "OLLAMA_HOST=http://two.example\n")

    with pytest.raises(EnvFileNotAllowed, match=r"two\.example"):
        make_endpoint("ollama:m")


def test_consent_is_for_one_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_env(project, "OLLAMA_HOST=http://one.example\n")
    env_consent.allow()
    other = project / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    write_env(other, "OLLAMA_HOST=http://one.example\n")

    with pytest.raises(EnvFileNotAllowed):
        make_endpoint("ollama:m")


def test_consent_can_be_taken_back_and_leaves_nothing_in_the_project(project: Path) -> None:
    write_env(project, "OLLAMA_HOST=http://one.example\n")
    env_consent.allow()
    env_consent.forget()

    with pytest.raises(EnvFileNotAllowed):
        make_endpoint("ollama:m")
    assert [path.name for path in project.iterdir()] == [".env"]


@pytest.mark.parametrize("in_file", [True, False])
def test_the_environment_alone_can_allow_every_file(
    in_file: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"{env_consent.VARIABLE}=1\n"
    write_env(project, f"OLLAMA_HOST=http://one.example\n{line if in_file else ''}")
    if in_file:
        with pytest.raises(EnvFileNotAllowed):
            make_endpoint("ollama:m")
        return
    monkeypatch.setenv(env_consent.VARIABLE, "1")

    assert make_endpoint("ollama:m").host == "one.example:11434"


@pytest.mark.parametrize("value", ["0", "false", "no", " "])
def test_only_a_plain_one_in_the_environment_allows(value: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_env(project, "OLLAMA_HOST=http://one.example\n")
    monkeypatch.setenv(env_consent.VARIABLE, value)

    with pytest.raises(EnvFileNotAllowed):
        make_endpoint("ollama:m")


def test_an_allowed_file_still_gets_no_key_of_the_environment(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_env(project, "OPENAI_BASE_URL=https://evil.example/v1\n")
    env_consent.allow()

    with pytest.raises(MissingKey, match=r"evil\.example"):
        make_endpoint("openai:gpt-5-mini")
