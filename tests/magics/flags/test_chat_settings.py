"""Cells that use a chat of the notebook, and what `%config NbTool` sets for all of them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError
from traitlets import TraitError

from nbtool import Chat
from nbtool.chat.journal import journal
from nbtool.errors import NbtoolError
from nbtool.ids import short_id
from nbtool.magics.cell.endings import TurnFailed
from nbtool.plugins.privacy import Privacy
from nbtool.settings import data_dir
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.providers.connection import CONNECTION_SETTINGS
from tests.chaos import ChaosServer, finish, head, serve, serve_each, text, whole
from tests.company import Authority, proxy

GOOD = (head(), text("Hello"), finish())
SECRET = "config-canary-0123456789"


def chats(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].kernel_chats


def settings(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].settings


def cell(shell: Any, line: str, body: str = "Hi") -> None:
    shell.run_cell_magic("chat", line, body)


class Seen:
    """A plugin that notes the prompts it sees."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def on_before_request(self, request: Any) -> None:
        self.prompts.append(request.messages[-1].text)


# --- a chat that the notebook made -----------------------------------------------------------------------------


def test_a_cell_takes_a_chat_of_the_notebook_with_its_plugins(shell: Any, server: ChaosServer) -> None:
    seen = Seen()
    own = Chat("m", base_url=server.url, system="Be brief.", plugins=[seen])
    shell.user_ns |= {"mine": own, "df": [1, 2]}

    cell(shell, "-c mine -v df")

    assert seen.prompts
    assert chats(shell).chats["mine"] is own
    assert server.requests[0].json["messages"][0]["content"].count("Be brief.") == 1
    assert [entry.name for entry in own.exposed_variables()] == ["df"]
    assert len(own.tree.active_path) == 1


def test_a_chat_that_the_notebook_recreated_is_taken_instead(shell: Any, server: ChaosServer) -> None:
    for _ in range(2):
        shell.user_ns["mine"] = Chat("m", base_url=server.url)
        cell(shell, "-c mine")

    assert chats(shell).chats["mine"] is shell.user_ns["mine"]
    assert len(shell.user_ns["mine"].tree.active_path) == 1


@pytest.mark.parametrize("way", ["a cell", "use", "a command"])
def test_a_chat_of_the_notebook_takes_the_place_of_one_that_cells_made_before_and_says_so(
    way: str, shell: Any, server: ChaosServer, capsys: pytest.CaptureFixture[str]
) -> None:
    settings(shell).base_url, settings(shell).model = server.url, "m"
    cell(shell, "-c mine")
    assert "New chat 'mine'." in capsys.readouterr().out
    earlier, seen = chats(shell).chats["mine"], Seen()
    own = shell.user_ns["mine"] = Chat("m", base_url=server.url, plugins=[seen])

    if way != "a cell":
        shell.run_line_magic("chat", "open mine" if way == "use" else "-c mine history")
        note = capsys.readouterr().out
        cell(shell, "-c mine")
    else:
        cell(shell, "-c mine")
        note = capsys.readouterr().out
    cell(shell, "-c mine")

    assert (
        f"'mine' is now the Chat of this name in the notebook. `%chat open {short_id(earlier.chat_id)}` continues"
        in note
    )
    assert "is now the Chat" not in capsys.readouterr().out
    assert chats(shell).chats["mine"] is own
    assert len(seen.prompts) == 2
    assert len(earlier.tree.active_path) == 1


def test_an_object_that_is_no_chat_is_left_alone(shell: Any) -> None:
    shell.user_ns["mine"] = "text"

    assert isinstance(chats(shell).chat("mine"), Chat)
    assert shell.user_ns["mine"] == "text"


class Pretender:
    """Says that it is a chat, and must not be asked."""

    @property
    def __class__(self) -> Any:
        pytest.fail("code of the object ran")


class WithoutInit(Chat):
    def __init__(self) -> None:
        pass


@pytest.mark.parametrize("thing", [Pretender, WithoutInit, lambda: Chat.__new__(Chat)])
def test_an_object_that_pretends_to_be_a_chat_is_none_and_its_code_does_not_run(shell: Any, thing: Any) -> None:
    shell.user_ns["mine"] = thing()

    with pytest.raises(UsageError, match="'mine'"):
        shell.run_line_magic("chat", "open mine")
    assert chats(shell).notebook_chat("mine") is None


def test_open_makes_a_chat_that_of_cells_without_a_name(shell: Any, server: ChaosServer) -> None:
    shell.user_ns["mine"] = Chat("m", base_url=server.url)
    shell.run_line_magic("chat", "open mine")
    cell(shell, "")

    assert len(server.requests) == 1
    assert list(chats(shell).chats) == ["mine"]
    cell(shell, "-c main -m practice:fast")
    shell.run_line_magic("chat", "open main")
    assert chats(shell).current == "main"


def test_a_chat_that_is_not_there_is_not_opened(shell: Any) -> None:
    shell.user_ns["mine"] = Chat("m", base_url="http://127.0.0.1:1")

    with pytest.raises(UsageError, match="'mnie'"):
        shell.run_line_magic("chat", "open mnie")
    assert chats(shell).current == "main"


@pytest.mark.parametrize("of_notebook", [True, False])
def test_new_begins_a_line_without_history_and_keeps_the_tools_and_the_former_line(
    shell: Any, server: ChaosServer, *, of_notebook: bool
) -> None:
    if of_notebook:
        shell.user_ns["mine"] = Chat("m", base_url=server.url)
    else:
        configure(shell, server)
    shell.run_cell("def look() -> int:\n    'Look.'\n    return 1")
    cell(shell, "-c mine -t look")
    cell(shell, "-c mine --new")

    first, second = (request.json for request in server.requests[-2:])
    assert len(first["messages"]) == len(second["messages"])
    assert "look" in [tool["function"]["name"] for tool in second["tools"]]
    assert len(chats(shell).chat("mine").tree.roots) == 2


def test_a_new_conversation_that_is_refused_leaves_the_former_one(shell: Any, server: ChaosServer) -> None:
    chat = shell.user_ns["mine"] = Chat("m", base_url=server.url)
    chat.send("Hi")
    cell(shell, "-c mine --new")
    assert len(chat.tree.active_path) == 1

    with pytest.raises(UsageError, match="nobody"):
        cell(shell, "-c mine --new -t nobody")
    cell(shell, "-c mine")

    assert len(chat.tree.active_path) == 2


# --- settings --------------------------------------------------------------------------------------------------


def configure(shell: Any, server: ChaosServer, **values: Any) -> None:
    shell.user_ns["_value"] = {"model": "ollama:m", "base_url": server.url, **values}
    for name in shell.user_ns["_value"]:
        shell.run_line_magic("config", f"NbTool.{name} = _value[{name!r}]")


def body(server: ChaosServer) -> dict[str, Any]:
    read: dict[str, Any] = server.requests[-1].json
    return read


SETTINGS: dict[str, tuple[Any, Callable[[ChaosServer], bool]]] = {
    "system": ("Be brief.", lambda server: body(server)["messages"][0]["content"].count("Be brief.") == 1),
    "options": ({"temperature": 0.5}, lambda server: body(server)["temperature"] == 0.5),
    "provider_tools": (["web_search"], lambda server: {"type": "web_search"} in body(server)["tools"]),
    "wire": ("responses", lambda server: server.requests[-1].path.endswith("/responses")),
    "headers": ({"X-A": SECRET}, lambda server: server.requests[-1].headers["x-a"] == SECRET),
    "query": ({"k": SECRET}, lambda server: server.requests[-1].path.endswith(f"?k={SECRET}")),
    "api_key": (lambda: SECRET, lambda server: server.requests[-1].headers["authorization"] == f"Bearer {SECRET}"),
    "key_command": (["printf", SECRET], lambda server: SECRET in server.requests[-1].headers["authorization"]),
    "privacy": (True, lambda server: "ada@example.org" not in server.requests[-1].body.decode()),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_holds_for_every_cell_until_it_is_changed(name: str, shell: Any, server: ChaosServer) -> None:
    value, holds = SETTINGS[name]
    if name == "provider_tools":
        configure(shell, server, wire="responses")
    configure(shell, server, **{name: value})
    for line in ("-q", "-q -c other"):
        with suppress(TurnFailed):  # the server answers in the dialect of Chat Completions only
            cell(shell, line, "Write to ada@example.org")
        assert holds(server)

    setattr(settings(shell), name, settings(shell).class_traits()[name].default(settings(shell)))
    with suppress(TurnFailed):
        cell(shell, "-q", "Write to ada@example.org")
    assert not _holds(holds, server)


def _holds(holds: Callable[[ChaosServer], bool], server: ChaosServer) -> bool:
    try:
        return holds(server)
    except KeyError:
        return False


SEARCH, CODE, IMAGE = "web_search", "code_interpreter", "image_generation"
PLACES: dict[str, dict[str, Any]] = {
    "providers.toml": {},
    "%config": {"setting": [CODE]},
    "a chat": {"setting": [CODE], "chat": {"provider_tools": IMAGE}},
    "a chat without any": {"setting": [CODE], "chat": {"provider_tools": []}},
    "a cell": {"setting": [CODE], "chat": {"provider_tools": [CODE]}, "line": f"-t {IMAGE}"},
    "a cell without any": {"setting": [CODE], "line": "--option provider_tools=[]"},
    "none": {"setting": []},
}
"""Where tools of the provider are set, each with a lower place that sets others."""


@pytest.mark.parametrize("place", PLACES)
def test_tools_of_the_provider_are_those_of_the_nearest_place(place: str, shell: Any, server: ChaosServer) -> None:
    how = PLACES[place]
    (data_dir() / "providers.toml").write_text(
        f'[lab]\nbase_url = "{server.url}"\nwire = "responses"\nprovider_tools = "{SEARCH}"\n'
    )
    if "setting" in how:
        shell.user_ns["_tools"] = how["setting"]
        shell.run_line_magic("config", "NbTool.provider_tools = _tools")
    shell.user_ns["mine"] = Chat("lab:m", **how.get("chat", {}))
    with suppress(TurnFailed):  # the server answers in the dialect of Chat Completions only
        cell(shell, f"-q -c mine {how.get('line', '')}")

    expected = {"providers.toml": [SEARCH], "%config": [CODE], "a chat": [IMAGE], "a cell": [IMAGE]}.get(place, [])
    assert [one["type"] for one in body(server).get("tools", [])] == expected


def _set_provider_tools(place: str, value: Any, shell: Any) -> None:
    if place == "a chat":
        Chat("lab:m", provider_tools=value)
    elif place == "%config":
        settings(shell).provider_tools = value
    else:
        table = f'[lab]\nbase_url = "http://127.0.0.1:1"\nprovider_tools = {json.dumps(value)}\n'
        (data_dir() / "providers.toml").write_text(table)
        make_endpoint("lab:m")


@pytest.mark.parametrize("value", ["teleport", ["web_search", 3], 7, True])
@pytest.mark.parametrize("place", ["providers.toml", "%config", "a chat"])
def test_tools_that_no_provider_has_are_refused_where_they_are_set(place: str, value: Any, shell: Any) -> None:
    with pytest.raises((NbtoolError, TraitError)) as refused:
        _set_provider_tools(place, value, shell)

    assert re.search("web_search|provider_tools cannot be", str(refused.value))
    assert settings(shell).provider_tools is None


def test_a_gateway_gets_no_tools_that_are_set_for_the_host_of_a_provider(server: ChaosServer) -> None:
    (data_dir() / "providers.toml").write_text('[openai]\nprovider_tools = ["web_search"]\n')
    with suppress(NbtoolError):
        Chat("openai:m", base_url=server.url, api_key="k", wire="responses").send("Hi")

    assert "tools" not in body(server)


def test_a_flag_and_a_chat_go_before_a_setting(shell: Any, server: ChaosServer) -> None:
    configure(shell, server, system="Setting.", options={"reasoning": {"effort": "low", "summary": "auto"}, "seed": 1})
    shell.user_ns["mine"] = Chat(
        "ollama:m", base_url=server.url, system="Chat.", options={"reasoning": {"effort": "high"}}
    )
    cell(shell, "-q -c mine --option seed=2")
    sent = body(server)
    cell(shell, "-q -s Flag.")

    assert sent["messages"][0]["content"].count("Chat.") == 1
    assert (sent["reasoning"], sent["seed"]) == ({"effort": "high", "summary": "auto"}, 2)
    assert body(server)["messages"][0]["content"].count("Flag.") == 1
    cell(shell, "-q")
    assert body(server)["messages"][0]["content"].count("Flag.") == 1


def test_an_address_without_a_model_is_refused_before_anything_is_sent(shell: Any, server: ChaosServer) -> None:
    settings(shell).base_url = server.url

    with pytest.raises(UsageError, match=r"no model for it.*%config NbTool\.model"):
        cell(shell, "")
    assert server.requests == []
    settings(shell).model = "m"
    cell(shell, "")
    assert server.requests[-1].json["model"] == "m"


def test_plugins_of_the_setting_come_first_and_masks_last(shell: Any, server: ChaosServer) -> None:
    seen = Seen()
    configure(shell, server, plugins=[seen], privacy=["email"])
    cell(shell, "-q", "Write to ada@example.org")
    plugins = chats(shell).chats["main"].plugins

    assert seen.prompts[0].endswith("ada@example.org")
    assert plugins[0] is seen
    assert isinstance(plugins[-1], Privacy)
    shell.run_line_magic("config", "NbTool.plugins = []")
    shell.run_line_magic("config", "NbTool.privacy = False")
    cell(shell, "-q")
    assert chats(shell).chats["main"].plugins == []


def test_a_model_of_a_cell_gets_no_header_of_the_setting(shell: Any, server: ChaosServer) -> None:
    configure(shell, server, headers={"X-A": SECRET})
    with serve(*GOOD) as other, pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_HOST", other.url)
        cell(shell, "-q -m vllm:m")

    assert len(other.requests) == 1
    assert SECRET not in str(other.requests[0].headers)


@pytest.mark.promise("own-host")
@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("model", "ollama:m", "vllm:m"),
        ("model", "ollama:m", ""),
        ("base_url", "http://127.0.0.1:8001/v1", "http://127.0.0.1:8002/v1"),
        ("base_url", "https://a.example/v1", ""),
    ],
)
def test_what_gives_access_to_one_server_is_unset_when_another_one_is_set(
    name: str, first: str, second: str, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    of_server = {"api_key": SECRET, "headers": {"X-A": SECRET}, "query": {"a": SECRET}, "key_command": ["echo", SECRET]}
    shell.run_line_magic("config", f"NbTool.{name} = {first!r}")
    for setting, value in of_server.items():
        shell.run_line_magic("config", f"NbTool.{setting} = {value!r}")
    capsys.readouterr()
    shell.run_line_magic("config", f"NbTool.{name} = {second!r}")
    message = capsys.readouterr().out

    assert [getattr(settings(shell), setting) for setting in of_server] == [None] * 4
    assert (
        "Unset, for another server is set: NbTool.api_key, NbTool.headers, NbTool.query, NbTool.key_command" in message
    )
    assert SECRET not in message


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("model", "", "ollama:m"),
        ("model", "ollama:m", "ollama:other"),
        ("base_url", "", "http://127.0.0.1:8001/v1"),
        ("base_url", "http://127.0.0.1:8001/v1", "http://127.0.0.1:8001/v2"),
    ],
)
def test_what_gives_access_to_a_server_is_kept_for_another_model_or_path_of_it(
    name: str, first: str, second: str, shell: Any
) -> None:
    shell.run_line_magic("config", f"NbTool.{name} = {first!r}")
    shell.run_line_magic("config", f"NbTool.api_key = {SECRET!r}")
    shell.run_line_magic("config", f"NbTool.{name} = {second!r}")

    assert settings(shell).api_key.get_secret_value() == SECRET


def test_a_cell_that_names_the_model_of_the_setting_gets_its_address_and_headers(
    shell: Any, server: ChaosServer
) -> None:
    with serve(*GOOD) as other, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLLAMA_HOST", other.url)
        cell(shell, "-q -m ollama:m")
        configure(shell, server, headers={"X-A": SECRET})
        cell(shell, "-q")
        settings(shell).model = "ollama:another"
        cell(shell, "-q")

    assert server.requests[0].headers["x-a"] == SECRET
    assert len(server.requests) == 1
    assert [SECRET in str(request.headers) for request in other.requests] == [False, False]


OWN = {"base_url": "", "api_key": "own-canary-0123456789", "headers": {"X-Own": "own-canary-0123456789"}}


@pytest.mark.promise("own-host")
@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("model", ["ollama:m", None])
def test_a_chat_with_an_address_a_key_or_headers_of_its_own_takes_none_of_the_settings(
    model: str | None, own: str, shell: Any, server: ChaosServer
) -> None:
    configure(shell, server, headers={"X-A": SECRET}, api_key=SECRET, query={"k": SECRET})
    with serve(*GOOD) as other, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLLAMA_HOST", other.url)
        shell.user_ns["mine"] = Chat(model, **{own: OWN[own] or other.url})
        cell(shell, "-q -c mine")

    (request,) = other.requests
    assert SECRET not in f"{request.headers} {request.path}"
    assert not server.requests


@pytest.mark.parametrize("route", ["%config", "%chat config", "ipython_config.py"])
def test_cells_take_every_setting_of_a_connection(route: str, shell: Any, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    chain, secret = authority.certificate("client", password="word-0123456789")
    with (
        serve_each([*GOOD], tls=authority.server(asks_for_certificate=True)) as behind,
        proxy(behind.port, "ada:proxy-canary-0123456789") as way,
    ):
        values = {
            "headers": {"X-Team": SECRET},
            "query": {"k": SECRET},
            "auth": "X-Gateway-Token",
            "key_command": ["printf", SECRET],
            "key_seconds": 30,
            "proxy": f"http://ada:proxy-canary-0123456789@127.0.0.1:{way.port}",
            "verify": str(authority.file),
            "client_certificate": [str(chain), str(secret), "word-0123456789"],
        }
        assert set(values) == set(CONNECTION_SETTINGS)
        if route == "%config":
            configure(shell, behind, **values)
        elif route == "%chat config":
            configure(shell, behind)
            for name, value in values.items():
                shell.run_line_magic("chat", f"config {name} {shlex.quote(json.dumps(value).strip(chr(34)))}")
        else:
            shell.run_line_magic("unload_ext", "nbtool")
            shell.config.NbTool.update({"model": "ollama:m", "base_url": behind.url, **values})
            shell.run_line_magic("load_ext", "nbtool")
        cell(shell, "-q -o turn")

    request = behind.requests[0]
    assert shell.user_ns["turn"].text == "Hello"
    assert (request.headers["x-team"], request.headers["x-gateway-token"]) == (SECRET, SECRET)
    assert request.path.endswith(f"?k={SECRET}")
    assert way.lines == [f"CONNECT 127.0.0.1:{behind.port} HTTP/1.1"]


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("name", ["headers", "query", "api_key", "proxy", "key_command"])
def test_no_output_of_the_settings_shows_a_secret(
    name: str, shell: Any, server: ChaosServer, capsys: pytest.CaptureFixture[str]
) -> None:
    values: dict[str, Any] = {
        "api_key": SECRET,
        "proxy": f"http://ada:{SECRET}@127.0.0.1:1",
        "key_command": ["x", SECRET],
    }
    configure(shell, server, **{name: values.get(name, {"X-A": SECRET})})
    actual = [repr(shell.run_line_magic("config", f"NbTool.{name}"))]
    shell.run_line_magic("config", "NbTool")
    for line in ("config", f"config {name}", "status"):
        shell.run_line_magic("chat", line)
    with pytest.raises(Exception) as wrong:  # noqa: PT011 - whatever traitlets raises
        setattr(settings(shell), name, [SECRET, 3])
    actual += [*capsys.readouterr(), str(wrong.value), repr(settings(shell).trait_values())]

    assert [text for text in actual if SECRET in text] == []


@pytest.mark.promise("no-secret-told")
def test_what_a_gateway_repeats_of_the_settings_is_in_no_file_and_no_output(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"headers": "header", "query": "query", "api_key": "key"}
    canaries = {name: f"{word}-canary-0123456789" for name, word in values.items()}
    journal.cache_clear()
    echo = whole(400, {"error": {"message": f"Refused: {' '.join(canaries.values())}", "code": canaries["headers"]}})
    with serve_each([echo], [*GOOD]) as gateway:
        configure(
            shell, gateway, headers={"X-A": canaries["headers"]}, query={"k": canaries["query"]},
            api_key=lambda: canaries["api_key"],
        )  # fmt: skip
        with pytest.raises(TurnFailed) as failed:
            cell(shell, "")
        cell(shell, "")
        for line in ("show", "status", "export md --stdout", "history"):
            with suppress(UsageError):
                shell.run_line_magic("chat", line)

    request = gateway.requests[0]
    assert all(canary in f"{request.headers} {request.path}" for canary in canaries.values())
    texts = [*capsys.readouterr(), f"{failed.value!r}"]
    files = [path.read_bytes().decode("latin-1") for path in data_dir().rglob("*") if path.is_file()]
    journal.cache_clear()
    assert any("Refused" in text for text in files)
    texts += files
    assert [canary for canary in canaries.values() for text in texts if canary in text] == []


def test_options_given_as_text_are_json(shell: Any, server: ChaosServer) -> None:
    configure(shell, server)
    shell.run_line_magic("chat", "config options '" + json.dumps({"seed": 7}) + "'")
    cell(shell, "-q")

    assert body(server)["seed"] == 7


# --- a mistyped model ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["-m opnai:gpt", "-m gpt", "-m ollama:"])
def test_a_mistyped_model_leaves_the_chat_as_it_was(line: str, shell: Any, server: ChaosServer) -> None:
    shell.user_ns["mine"] = own = Chat("ollama:m", base_url=server.url, system="Be brief.", headers={"X-A": "b"})
    cell(shell, "-q -c mine")
    before = (own.model, own.system, list(own.tools.tools()), len(own.tree.active_path))
    with pytest.raises(UsageError):
        cell(shell, f"-q -c mine -t nbtool:python {line}")

    assert (own.model, own.system, list(own.tools.tools()), len(own.tree.active_path)) == before


def test_a_model_that_the_server_does_not_know_leaves_the_chat_as_it_was(shell: Any) -> None:
    unknown = whole(404, {"error": {"message": "model 'mm' not found", "code": "model_not_found"}})
    with serve(*unknown and [unknown]) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_HOST", server.url)
        shell.user_ns["mine"] = own = Chat("vllm:m", system="Be brief.")
        before = own.model
        with pytest.raises(Exception, match="not found"):
            cell(shell, "-c mine -m vllm:mm -s Other.")

    assert (own.model, own.system) == (before, "Be brief.")
    assert [node for node in own.tree.active_path if node.turn] == []
