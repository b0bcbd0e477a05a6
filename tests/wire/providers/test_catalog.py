from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nbtool.errors import (
    AuthenticationFailed,
    BadUsage,
    InvalidReply,
    MissingKey,
    NbtoolError,
    SettingsError,
    UnknownModel,
    Unsupported,
)
from nbtool.secret import Secret
from nbtool.wire.base import CHARGES_NOTHING
from nbtool.wire.dialect import DIALECTS
from nbtool.wire.endpoints import model_endpoint
from nbtool.wire.endpoints.model_endpoint import default_model, list_models, make_endpoint, register_local_server
from nbtool.wire.providers.catalog import BUILTIN, providers
from nbtool.wire.providers.credentials import find_key, key_for_host
from nbtool.wire.providers.env_file import MAX_ENV_FILE, find_env_file, shown_path
from nbtool.wire.providers.model_id import parse_model
from nbtool.wire.providers.provider import ABILITIES
from nbtool.wire.registry import WIRES
from nbtool.wire.transport.models.model_list import parse_models
from tests.chaos import head, serve, whole
from tests.cpu_time import TRIES
from tests.wire.process_state import close_clients

KEY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Work in an empty folder, without anybody's `.env` and keys."""
    for provider in BUILTIN.values():
        for name in (*provider.keys, *provider.addresses):
            monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (tmp_path / ".env").touch()
    monkeypatch.chdir(folder)
    find_env_file.cache_clear()
    yield tmp_path
    find_env_file.cache_clear()


def secret(key: Secret | None) -> str:
    return key.get_secret_value() if key else ""


# --- model ids ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model_id", "provider", "model"),
    [
        ("openai:gpt-5-mini", "openai", "gpt-5-mini"),
        ("openai/gpt-5-mini", "openai", "gpt-5-mini"),
        (" OpenAI : gpt-5-mini ", "openai", "gpt-5-mini"),
        ("ollama:llama3.1:8b", "ollama", "llama3.1:8b"),
        ("openrouter/meta-llama/llama-3:free", "openrouter", "meta-llama/llama-3:free"),
        ("openrouter:openai/gpt-4o", "openrouter", "openai/gpt-4o"),
        ("gemini:gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("practice:default", "practice", "default"),
        ("grok:grok-4", "xai", "grok-4"),
        ("LM-Studio:z", "lmstudio", "z"),
    ],
)
def test_a_model_id_is_a_provider_and_a_model(model_id: str, provider: str, model: str) -> None:
    found, name = parse_model(model_id)

    assert (found.name, name) == (provider, model)


@pytest.mark.parametrize(
    ("model_id", "advice"),
    [
        ("opnai:gpt-5", "Did you mean openai?"),
        ("antropic/claude", "Did you mean anthropic?"),
        ("gpt-5-mini", "Did you mean openai:gpt-5-mini?"),
        ("claude-sonnet-4-5", "Did you mean anthropic:claude-sonnet-4-5?"),
        ("grok-4", "Did you mean xai:grok-4?"),
        ("grok-4:latest", "Did you mean xai:grok-4:latest?"),
        ("mistrall", "Did you mean mistral?"),
        ("llama3.1:8b", "Did you mean ollama:llama3.1:8b?"),
        ("qwen3:8b", "Did you mean ollama:qwen3:8b?"),
        ("gemma3:4b", "Did you mean ollama:gemma3:4b?"),
        ("openai", "Write openai:gpt-6.1-terra."),
        ("openai:", "Write openai:gpt-6.1-terra."),
        ("zzz:y", "providers are openai, anthropic"),
        ("", "Write provider:model"),
    ],
)
def test_an_unknown_model_is_reported_in_one_line_with_what_is_near(model_id: str, advice: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        parse_model(model_id)

    assert advice in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_provider_is_sound() -> None:
    for provider in BUILTIN.values():
        assert provider.abilities <= ABILITIES.keys()
        assert provider.wire in WIRES
        has_address = provider.base_url.startswith(("https://", "http://127.0.0.1:"))
        assert has_address or provider.addresses or provider.name == "practice"
        assert not provider.base_url.endswith("/")


def test_a_persons_file_adds_providers_and_changes_ours(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_settings(empty_folder, monkeypatch, '[lab]\nbase_url="https://lab.example/v1"\n[openai]\nport=7\nkeys=["K"]')

    known = providers()

    assert known["lab"].base_url == "https://lab.example/v1"
    assert (known["openai"].keys, known["openai"].base_url) == (("K",), BUILTIN["openai"].base_url)
    assert parse_model("lab:x")[1] == "x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[lab", "cannot be read"),
        ("lab = 1", "not a table"),
        ("[lab]\nurl = 'x'", "unknown field 'url'"),
        ("[lab]\nbase_url = 1", "base_url: Input should be a valid string. It is 1."),
        ("[lab]\nbase_url = 'https://x'\nkeys = 'K'", "keys: Input should be a valid tuple. It is of type str."),
        ("[lab]\nbase_url = 'https://x'\nkeys = ['K', 1]", r"keys\.1: Input should be a valid string. It is 1."),
        ("[lab]\nbase_url = 'https://x'\nport = true", "port is no number from 0 to 65535. It is True."),
        ("[lab]\nbase_url = 'https://x'\nport = 65536", "port is no number from 0 to 65535. It is 65536."),
        ("[lab]\nbase_url = 'https://x'\nauth = 'X'", "auth: expected bearer"),
        ("[lab]\nbase_url = 'https://x'\nname = 'other'", "The title of the table is the name"),
        ("[lab]\nwire = 'chat'", "no address"),
        ("[lab]\nbase_url = 'https://x'\nabilities = ['fly']", "unknown ability 'fly'"),
    ],
)
def test_a_persons_file_that_makes_no_sense_is_reported(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    write_settings(empty_folder, monkeypatch, text)

    with pytest.raises(SettingsError, match=said):
        providers()


def write_settings(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(folder))
    (folder / "providers.toml").write_text(text)


# --- keys -----------------------------------------------------------------------------------------------------


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")

    asked = make_endpoint("openai:gpt-5-mini")

    assert (asked.host, asked.dialect, asked.model, secret(asked.key)) == (
        "api.openai.com",
        "responses",
        "gpt-5-mini",
        KEY,
    )
    assert KEY not in repr(asked)


def test_a_key_comes_from_the_nearest_env_file_and_never_overrides(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_folder / ".env").write_text(
        "# mine\nexport GROQ_API_KEY='in file' # here\nOPENAI_API_KEY=file\nXAI_API_KEY=bare # note\n"
        'MISTRAL_API_KEY="say \\"x\\""\nEMPTY=\nnonsense\n'
    )
    monkeypatch.setenv("OPENAI_API_KEY", "environment")

    values, path = find_env_file()

    assert path == str(empty_folder / ".env")
    assert [
        secret(found and found.value) for found in map(find_key, map(BUILTIN.get, ("groq", "openai", "xai", "mistral")))
    ] == [
        "in file",
        "environment",
        "bare",
        'say "x"',
    ]
    assert "EMPTY" not in values


@pytest.mark.filterwarnings("ignore:Not NAME=value")
@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("GROQ_API_KEY=sk-a#b", "sk-a#b"),
        ("GROQ_API_KEY=sk-a # a comment", "sk-a"),
        ('GROQ_API_KEY="line 1\nline 2"', "line 1\nline 2"),
        (r'GROQ_API_KEY="line 1\nline 2"', "line 1\nline 2"),
        (r"GROQ_API_KEY='it\'s'", "it's"),
        ("GROQ_API_KEY=a\u2028b", "a\u2028b"),
        ("not an assignment\nGROQ_API_KEY=sk-a", "sk-a"),
        ("GROQ_API_KEY=sk-${OPENAI_API_KEY}", "sk-${OPENAI_API_KEY}"),
        ("GROQ_API_KEY=", ""),
        ("GROQ_API_KEY", ""),
    ],
)
def test_an_env_file_is_read_as_other_tools_read_it_and_expands_nothing(
    line: str, value: str, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (empty_folder / ".env").write_text(line, "utf-8")

    found = find_key(BUILTIN["groq"])

    assert secret(found and found.value) == value


def test_an_env_file_that_is_too_large_is_refused_instead_of_read_in_part(empty_folder: Path) -> None:
    (empty_folder / ".env").write_text("A=b\n" * (MAX_ENV_FILE // 4) + f"GROQ_API_KEY={KEY}")

    with pytest.raises(SettingsError, match=r"\.env is larger than 24 KiB and is not read") as raised:
        make_endpoint("groq:m")

    assert "Keep the keys in a .env of their own" in str(raised.value)


def test_an_env_file_as_large_as_may_be_is_read(empty_folder: Path) -> None:
    line = f"GROQ_API_KEY={KEY}\n"
    (empty_folder / ".env").write_text("#" * (MAX_ENV_FILE - len(line) - 1) + "\n" + line)

    found = find_key(BUILTIN["groq"])

    assert secret(found and found.value) == KEY


def test_lines_of_an_env_file_that_cannot_be_read_are_named_in_one_warning(empty_folder: Path) -> None:
    (empty_folder / ".env").write_text("a b\n" * 8 + f"GROQ_API_KEY={KEY}\n")

    with pytest.warns(UserWarning, match=r"skipped: line 1, 2, 3, 4, 5 and 3 more") as warned:
        found = find_key(BUILTIN["groq"])

    assert len(warned) == 1
    assert secret(found and found.value) == KEY


def test_an_env_file_is_read_once(empty_folder: Path) -> None:
    find_env_file()
    (empty_folder / ".env").write_text("GROQ_API_KEY=late")

    assert find_key(BUILTIN["groq"]) is None


def test_a_missing_key_says_what_was_looked_for_and_how_to_set_it(empty_folder: Path) -> None:
    with pytest.raises(MissingKey) as caught:
        make_endpoint("google:gemini-2.5-flash")

    actual = str(caught.value)
    assert "GEMINI_API_KEY and GOOGLE_API_KEY are set neither in the environment nor in" in actual
    assert str(Path("..", "..", ".env")) in actual
    assert str(empty_folder) not in actual
    assert "getpass" in actual
    assert "%env" not in actual


@pytest.mark.promise("own-host")
def test_a_key_is_not_sent_to_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    with pytest.raises(MissingKey, match=r"is not sent to evil\.example") as caught:
        make_endpoint("openai:gpt-5-mini", base_url="https://evil.example/v1")

    assert KEY not in str(caught.value)


def test_a_key_goes_where_the_person_set_the_address_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1/")

    asked = make_endpoint("openai:gpt-5-mini")

    assert (asked.base_url, secret(asked.key)) == ("https://gateway.example/v1", KEY)


def test_an_address_in_an_env_file_gets_no_key_of_the_environment(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_folder / ".env").write_text("OPENAI_BASE_URL=https://evil.example/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    with pytest.raises(MissingKey, match=r"evil\.example"):
        make_endpoint("openai:gpt-5-mini")


def test_an_address_and_a_key_of_one_env_file_belong_together(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_ALLOW_ENV_FILE", "1")
    (empty_folder / ".env").write_text(f"OPENAI_BASE_URL=https://gateway.example/v1\nOPENAI_API_KEY={KEY}")

    assert secret(make_endpoint("openai:gpt-5-mini").key) == KEY


def test_a_key_that_is_given_goes_to_the_address_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another")

    asked = make_endpoint("openai:gpt-5-mini", base_url="https://lab.example/v1", api_key=KEY)

    assert (asked.host, secret(asked.key)) == ("lab.example", KEY)


# --- addresses and wires --------------------------------------------------------------------------------------


def test_with_an_address_a_bare_name_is_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    asked = make_endpoint("my/model:7b", base_url="localhost:8123/v1")

    assert (asked.base_url, asked.model, asked.key) == ("http://localhost:8123/v1", "my/model:7b", None)


@pytest.mark.parametrize(
    ("set_to", "base_url"),
    [
        ("192.168.0.5:11434", "http://192.168.0.5:11434/v1"),
        ("http://box.example", "http://box.example:11434/v1"),
        ("https://box.example/v1/", "https://box.example/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
    ],
)
def test_the_host_of_ollama_is_completed(monkeypatch: pytest.MonkeyPatch, set_to: str, base_url: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", set_to)

    assert make_endpoint("ollama:llama3.2").base_url == base_url


def test_addresses_are_completed_by_each_providers_custom(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com/",
        "AZURE_OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": "https://gateway.example",
        "ANTHROPIC_API_KEY": KEY,
    }.items():
        monkeypatch.setenv(name, value)

    azure, anthropic = make_endpoint("azure:my-deployment"), make_endpoint("anthropic:claude-sonnet-4-5")

    assert (azure.base_url, azure.connection.auth) == ("https://x.openai.azure.com/openai/v1", "api-key")
    assert (anthropic.base_url, anthropic.connection.auth) == ("https://gateway.example/v1", "x-api-key")


def test_a_provider_without_an_address_says_what_to_set() -> None:
    with pytest.raises(MissingKey, match="Set AZURE_OPENAI_ENDPOINT"):
        make_endpoint("azure:my-deployment")


@pytest.mark.parametrize("wire", list(WIRES))
def test_any_wire_can_be_forced(monkeypatch: pytest.MonkeyPatch, wire: str) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)

    asked = make_endpoint("openrouter:x", wire=wire)

    assert asked.dialect == wire
    assert asked.connection.auth == DIALECTS[wire].auth


def test_an_unknown_wire_or_ability_is_reported() -> None:
    with pytest.raises(BadUsage, match="Unknown wire 'telex'"):
        make_endpoint("ollama:x", wire="telex")
    with pytest.raises(Unsupported, match="Unknown ability 'fly'"):
        make_endpoint("ollama:x", abilities=["fly"])


def test_abilities_can_be_given() -> None:
    assert make_endpoint("ollama:x", abilities=["no_stream_options"]).target.abilities == {"no_stream_options"}
    assert make_endpoint("ollama:x").target.abilities == {*BUILTIN["ollama"].abilities, CHARGES_NOTHING}


@dataclass(frozen=True)
class Here:
    base_url: str
    key: Secret | None


def test_a_local_server_is_started_when_it_is_first_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_endpoint, "_local", {})
    started: list[str] = []

    def start() -> Here:
        started.append("practice")
        return Here("http://127.0.0.1:5/v1", Secret(KEY))

    register_local_server("practice", start)
    before = list(started)
    asked = make_endpoint("practice:default")

    assert (before, started) == ([], ["practice"])
    assert (asked.base_url, secret(asked.key)) == ("http://127.0.0.1:5/v1", KEY)


# --- lists and discovery --------------------------------------------------------------------------------------


def listed(base_url: str) -> list[str]:
    async def ask() -> list[str]:
        try:
            return await list_models("openai", base_url=base_url, api_key=KEY)
        finally:
            await close_clients()

    return asyncio.run(ask())


def test_models_are_listed_by_their_full_ids() -> None:
    with serve(whole(200, {"data": [{"id": "b"}, {"id": "models/a"}, {"no": 1}]})) as server:
        assert listed(server.url) == ["openai:a", "openai:b"]

    assert server.requests[0].path == "/v1/models"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (whole(401, {"error": {"message": f"bad key {KEY}"}}), AuthenticationFailed),
        (whole(200, b"<html>", "text/html"), InvalidReply),
        (whole(200, {"data": "x"}), InvalidReply),
        (head(500), NbtoolError),
    ],
)
def test_a_list_that_is_none_is_an_error_without_the_key(answer: bytes, error: type[NbtoolError]) -> None:
    with serve(answer) as server, pytest.raises(error) as caught:
        listed(server.url)

    assert KEY not in str(caught.value)


def test_the_setting_of_a_model_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_MODEL", "groq:x")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    assert default_model() == ("groq:x", "NBTOOL_MODEL")


def test_the_setting_of_a_model_may_be_in_the_env_file_and_never_overrides(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_folder / ".env").write_text(f"NBTOOL_MODEL=groq:x\nOPENAI_API_KEY={KEY}\n")
    from_file = default_model()
    monkeypatch.setenv("NBTOOL_MODEL", "groq:y")

    assert from_file == ("groq:x", f"NBTOOL_MODEL in {Path('..', '..', '.env')}")
    assert default_model() == ("groq:y", "NBTOOL_MODEL")


def test_a_key_goes_before_a_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    model_id, why = default_model()

    assert model_id.startswith("anthropic:")
    assert why == "ANTHROPIC_API_KEY is set"


def test_the_default_model_of_a_persons_file_goes_before_those_that_ship(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_settings(empty_folder, monkeypatch, '[openai]\ndefault_model = "of-my-own"')

    assert default_model() == ("openai:of-my-own", "OPENAI_API_KEY is set")


def test_a_local_server_that_answers_is_found(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with models_server([{"id": "nomic-embed-text"}, {"id": "llama3.2"}]) as port:
        point_local_servers_to(empty_folder, monkeypatch, ollama=port)
        found = {default_model() for _ in range(TRIES)}  # a busy machine may answer too late for one

        assert ("ollama:llama3.2", f"ollama answers on port {port}") in found


def test_something_else_on_the_port_is_no_model_server(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with models_server("hub") as port:
        point_local_servers_to(empty_folder, monkeypatch, vllm=port)

        assert default_model()[0] == "practice:default"


def test_a_local_server_that_is_silent_is_not_waited_for(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with models_server([{"id": "slow"}], after=2.0) as port:
        point_local_servers_to(empty_folder, monkeypatch, lmstudio=port)
        model_id, _ = default_model()

    assert model_id == "practice:default", "who waits for it finds `slow`"


def point_local_servers_to(folder: Path, monkeypatch: pytest.MonkeyPatch, **ports: int) -> None:
    """Give each local provider the port of a test's server, or one where nothing listens."""
    tables = [
        f'[{name}]\nbase_url = "http://127.0.0.1:{ports.get(name, 9)}/v1"\nport = {ports.get(name, 9)}'
        for name, provider in BUILTIN.items()
        if provider.port
    ]
    write_settings(folder, monkeypatch, "\n".join(tables))


class models_server:  # noqa: N801 - reads as the context it opens
    """A server that lists models, after a while."""

    def __init__(self, models: object, after: float = 0.0) -> None:
        self._body = json.dumps({"data": models}).encode()
        self._after = threading.Event(), after

    def __enter__(self) -> int:
        outer = self

        class Lists(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._after[0].wait(outer._after[1])
                self.send_response(200)
                self.send_header("content-length", str(len(outer._body)))
                self.end_headers()
                self.wfile.write(outer._body)

            def log_message(self, *_: object) -> None:
                pass

            def handle(self) -> None:
                with suppress(ConnectionError):
                    super().handle()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Lists)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self._server.server_address[1]

    def __exit__(self, *_: object) -> None:
        self._after[0].set()
        self._server.shutdown()
        self._server.server_close()


# --- the edges of keys and addresses --------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["", "  "])
def test_with_an_address_a_model_still_has_to_be_named(model: str) -> None:
    with pytest.raises(BadUsage, match="The model id is empty"):
        model_endpoint.make_endpoint(model, base_url="http://127.0.0.1:1/v1")


def test_a_key_that_is_not_needed_stays_here_where_the_host_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    optional = next(one for one in providers().values() if one.keys and not one.needs_key)
    monkeypatch.setenv(optional.keys[0], KEY)

    assert key_for_host(optional, "https://elsewhere.example/v1", address=None) is None
    assert secret(find_key(optional).value) == KEY  # type: ignore[union-attr]  # it was set above


@pytest.mark.skipif(os.name != "posix", reason="there a folder in use cannot be taken away")
def test_a_working_folder_that_is_gone_has_no_env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "gone"
    missing.mkdir()
    monkeypatch.chdir(missing)
    missing.rmdir()

    assert find_env_file() == ({}, "")
    assert shown_path(str(tmp_path / "project" / ".env")) == ".env"


@pytest.mark.skipif(sys.platform != "linux", reason="asks for /proc")
def test_an_env_file_that_cannot_be_read_holds_nothing(empty_folder: Path) -> None:
    (empty_folder / ".env").unlink()
    (empty_folder / ".env").symlink_to("/proc/self/mem")  # a file that lets itself be opened and not read

    assert find_env_file() == ({}, str(empty_folder / ".env"))


def test_names_of_models_that_are_no_text_are_left_out() -> None:
    models = parse_models(b'{"data": [{"id": 7}, {"id": ""}, {"id": "b"}, {"id": null}]}', "lab")

    assert [model.name for model in models] == ["b"]


@pytest.mark.parametrize("name", ["n\\nl", "a\\r%%bash", "\\u001b[31mred", "\\u202etxt", "a\\u0000b"])
def test_names_of_models_that_cannot_be_printed_are_left_out(name: str) -> None:
    models = parse_models(b'{"data": [{"id": "%s"}, {"id": "b"}]}' % name.encode(), "lab")

    assert [model.name for model in models] == ["b"]


def test_an_absurd_context_window_of_a_listed_model_is_ignored() -> None:
    (model,) = parse_models(b'{"data": [{"id": "b", "context_length": 1%s}]}' % (b"0" * 4_000), "lab")

    assert model.context == 0


def test_a_dialect_with_a_header_of_its_own_for_the_key_uses_it() -> None:
    here = "http://127.0.0.1:1/v1"

    assert model_endpoint.make_endpoint("openai:m", base_url=here, api_key=KEY).connection.auth == "bearer"
    assert (
        model_endpoint.make_endpoint("openai:m", base_url=here, api_key=KEY, wire="anthropic").connection.auth
        == "x-api-key"
    )


# --- addresses of clouds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model_id", "environment", "url"),
    [
        ("bedrock:m", {}, "https://bedrock-mantle.us-east-1.api.aws/v1"),
        ("bedrock:m", {"AWS_REGION": "eu-west-1"}, "https://bedrock-mantle.eu-west-1.api.aws/v1"),
        ("databricks:m", {"DATABRICKS_HOST": "https://w.cloud.databricks.com"},
         "https://w.cloud.databricks.com/serving-endpoints"),
        ("snowflake:m", {"SNOWFLAKE_ACCOUNT_URL": "https://a.snowflakecomputing.com/"},
         "https://a.snowflakecomputing.com/api/v2/cortex/v1"),
        ("colab:google/m", {"MODEL_PROXY_HOST": "https://mp.kaggle.net"}, "https://mp.kaggle.net/models/openapi"),
        ("litellm:m", {}, "http://127.0.0.1:4000/v1"),
        ("litellm:m", {"LITELLM_PROXY_API_BASE": "https://llm.example"}, "https://llm.example/v1"),
        ("sglang:m", {}, "http://127.0.0.1:30000/v1"),
    ],
)  # fmt: skip
def test_the_address_of_a_cloud_comes_from_its_environment(
    model_id: str, environment: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("AWS_BEARER_TOKEN_BEDROCK", "DATABRICKS_TOKEN", "SNOWFLAKE_PAT", "MODEL_PROXY_API_KEY")
    for name, value in {**dict.fromkeys(keys, KEY), **environment}.items():
        monkeypatch.setenv(name, value)

    found = make_endpoint(model_id)

    assert found.base_url == url
    assert secret(found.key) == ("" if model_id.startswith(("litellm", "sglang")) else KEY)


@pytest.mark.parametrize("region", ["evil.example/x", "a@b", "x\ny", "Ä"])
def test_a_region_cannot_change_the_host(region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
    monkeypatch.setenv("AWS_REGION", region)

    with pytest.raises(MissingKey, match="no default address"):
        make_endpoint("bedrock:m")


def test_the_free_models_of_colab_are_found_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_PROXY_API_KEY", KEY)
    assert not default_model()[0].startswith("colab:")

    monkeypatch.setenv("MODEL_PROXY_HOST", "https://mp.kaggle.net")
    assert default_model()[0].startswith("colab:")
