"""`-m`: names as `%chat models` lists them, models of one server, and the way back to the default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.error import UsageError

from nbtool import Chat
from nbtool.chat.model import Model
from nbtool.secret import Secret
from tests.chaos import ChaosServer, finish, head, serve, serve_each, text, whole

GOOD = (head(), text("Hello"), finish())
LIST = whole(200, {"data": [{"id": "large"}, {"id": "small"}, {"id": "lab/tiny:1b"}]})
SECRET = "listed-canary-0123456789"


@pytest.fixture
def listing_server() -> Iterator[ChaosServer]:
    with serve_each([LIST], [*GOOD]) as running:
        yield running


def kernel_chats(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].kernel_chats


def configure(shell: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(kernel_chats(shell).settings, name, value)


def cell(shell: Any, line: str) -> None:
    shell.run_cell_magic("chat", line, "Hi")


def sent_models(server: ChaosServer) -> list[str]:
    return [request.json["model"] for request in server.requests if request.method == "POST"]


def listed_names(shell: Any, chat: str = "main") -> list[str]:
    shell.run_line_magic("chat", f"models -c {chat}")
    return list(kernel_chats(shell).model_list)


ACCESS: dict[str, dict[str, Any]] = {
    "no model": {},
    "a bare name": {"model": "large"},
    "a provider's model": {"model": "ollama:large"},
    "a provider's model and a key": {"model": "openai:large", "api_key": SECRET},
}


@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("place", ["the settings", "a chat of the notebook"])
def test_a_listed_name_is_a_model_of_the_server_that_listed_it(
    place: str, access: str, shell: Any, listing_server: ChaosServer
) -> None:
    values = {"base_url": listing_server.url, "headers": {"X-A": SECRET}, "wire": "chat", **ACCESS[access]}
    if place == "the settings":
        configure(shell, **values)
    else:
        shell.user_ns["mine"] = Chat(values.pop("model", None), **values)
    chat = "main" if place == "the settings" else "mine"
    names = listed_names(shell, chat)

    for name in (*names, names[0]):
        cell(shell, f"-q -c {chat} -m {name}")
    cell(shell, f"-q -c {chat}")

    assert sent_models(listing_server) == ["lab/tiny:1b", "large", "small", "lab/tiny:1b", "lab/tiny:1b"]
    assert all(request.headers["x-a"] == SECRET for request in listing_server.requests)


def test_a_listed_name_of_a_provider_keeps_the_key_of_the_chat() -> None:
    key = Secret("key-0123456789")
    model = Model("openai:large", api_key=key)

    assert model.with_changes("openai:small").api_key is key
    assert model.with_changes("groq:small").api_key is None
    assert model.with_changes("openrouter:openai/small").api_key is None


def test_a_name_of_the_server_of_the_settings_finds_it_from_a_model_of_another_provider(
    shell: Any, server: ChaosServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(*GOOD) as other:
        monkeypatch.setenv("VLLM_HOST", other.url)
        cell(shell, "-q -m vllm:m")
        configure(shell, base_url=server.url, model="large")
        cell(shell, "-q")
        cell(shell, "-q -m small")
        cell(shell, "-q")
        cell(shell, "-q -m vllm:m")

    assert sent_models(other) == ["m", "m", "m"]
    assert sent_models(server) == ["small", "small"]


def test_a_model_of_a_cell_follows_the_address_of_the_settings_and_keeps_no_former_one(
    shell: Any, server: ChaosServer
) -> None:
    configure(shell, base_url="http://127.0.0.1:9", model="large")
    chat = kernel_chats(shell).chat("main")
    chat.model = chat.model.with_changes("small")
    configure(shell, base_url=server.url)
    cell(shell, "-q")
    configure(shell, base_url="", model="")

    assert sent_models(server) == ["small"]
    assert kernel_chats(shell).chat("main").model.base_url is None


def test_a_bare_name_without_an_address_names_the_settings_that_it_needs(shell: Any) -> None:
    with pytest.raises(UsageError, match=r"'xyz' has no provider.*%config NbTool\.base_url"):
        cell(shell, "-m xyz")


def test_a_bare_name_is_taken_by_the_command_of_settings_once_the_address_is_set(
    shell: Any, server: ChaosServer
) -> None:
    with pytest.raises(UsageError, match="has no provider"):
        shell.run_line_magic("chat", "config model small")
    shell.run_line_magic("chat", f"config base_url {server.url}")
    shell.run_line_magic("chat", "config model small")
    cell(shell, "-q")

    assert sent_models(server) == ["small"]


# --- the way back ----------------------------------------------------------------------------------------------


def test_default_goes_back_to_the_model_of_the_settings(shell: Any, server: ChaosServer) -> None:
    configure(shell, base_url=server.url, model="large")
    for line in ("-m small", "", "-m default", "", "-m practice:fast", "-m default"):
        cell(shell, f"-q {line}")
    configure(shell, model="huge")
    cell(shell, "-q")

    assert sent_models(server) == ["small", "small", "large", "large", "large", "huge"]


def test_default_of_a_chat_of_the_notebook_is_its_own_model(shell: Any, server: ChaosServer) -> None:
    configure(shell, model="practice:fast")
    shell.user_ns["mine"] = Chat("large", base_url=server.url)
    for line in ("-m practice:fast", "-m default", ""):
        cell(shell, f"-q -c mine {line}")

    assert sent_models(server) == ["large", "large"]


def test_default_without_settings_is_the_model_that_is_available(
    shell: Any, server: ChaosServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_MODEL", "practice:fast")
    monkeypatch.setenv("VLLM_HOST", server.url)
    before = kernel_chats(shell).chat("main").model
    cell(shell, "-q -m vllm:m")
    cell(shell, "-q -m default")

    assert sent_models(server) == ["m"]
    assert kernel_chats(shell).chat("main").model == before


def test_a_refused_cell_does_not_go_back(shell: Any) -> None:
    cell(shell, "-q -m practice:fast")
    with pytest.raises(UsageError):
        cell(shell, "-q -m default -v nothing_of_this_name")

    assert kernel_chats(shell).chat("main").model.model_id == "practice:fast"


def test_status_and_help_name_the_way_back_where_there_is_one(
    shell: Any, server: ChaosServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NBTOOL_MODEL", "practice:fast")
    monkeypatch.setenv("VLLM_HOST", server.url)
    cell(shell, "-q -m vllm:m")
    shell.run_line_magic("chat", "status")
    assert "`%%chat -m default` goes back" in capsys.readouterr().out
    cell(shell, "-q -m default")
    shell.run_line_magic("chat", "status")
    assert "-m default" not in capsys.readouterr().out
    shell.run_line_magic("chat", "--help")
    assert "-m default" in " ".join(capsys.readouterr().out.split())
