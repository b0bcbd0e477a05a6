"""Google's addresses: which dialect, path, key header and key each of them has."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.errors import EnvFileNotAllowed, MissingKey, SettingsError
from nbtool.messages import ToolCall, ToolResult, assistant, results, user
from nbtool.secret import Secret
from nbtool.server_url import parse_server_url
from nbtool.wire import Prompt
from nbtool.wire.endpoints.model_endpoint import list_models, make_endpoint
from nbtool.wire.providers.env_file import find_env_file
from nbtool.wire.providers.google import wire_at
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from tests.providers.replies import Answer
from tests.providers.simulator import simulate
from tests.providers.test_behaviours import send
from tests.wire.process_state import close_clients

VERTEX = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/google"
KEY = "AIza-test"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)


def summary(endpoint: HttpEndpoint) -> tuple[str, str, str]:
    return endpoint.dialect, endpoint.base_url, endpoint.connection.auth


STUDIO = "https://generativelanguage.googleapis.com/v1beta"


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("google:gemini-3.5-flash", {}, ("gemini", STUDIO, "x-goog-api-key")),
        ("gemini:gemini-3.5-flash", {}, ("gemini", STUDIO, "x-goog-api-key")),
        ("google:gemini-3.5-flash", {"wire": "chat"}, ("chat", f"{STUDIO}/openai", "bearer")),
        ("google:gemini-2.5-flash-image", {}, ("image", f"{STUDIO}/openai", "bearer")),
        ("google:gemini-2.5-flash-image", {"wire": "gemini"}, ("gemini", STUDIO, "x-goog-api-key")),
        ("google:m", {"base_url": "https://gw.example", "api_key": "k"}, ("chat", "https://gw.example", "bearer")),
        (
            "google:m", {"base_url": "https://gw.example/google/v1beta", "api_key": "k"},
            ("gemini", "https://gw.example/google/v1beta", "x-goog-api-key"),
        ),
        ("m", {"base_url": "https://gw.example/v1beta"}, ("chat", "https://gw.example/v1beta", "bearer")),
        ("m", {"base_url": STUDIO, "api_key": "k"}, ("gemini", STUDIO, "x-goog-api-key")),
        ("m", {"base_url": f"{STUDIO}/openai", "api_key": "k"}, ("chat", f"{STUDIO}/openai", "bearer")),
        ("m", {"base_url": f"{VERTEX}/models", "api_key": "t"}, ("gemini", VERTEX, "bearer")),
        ("vertex:m", {"base_url": VERTEX, "api_key": "t"}, ("gemini", VERTEX, "bearer")),
        (
            "vertex:google/m", {"base_url": VERTEX, "api_key": "t", "wire": "chat"},
            ("chat", VERTEX.replace("/publishers/google", "/endpoints/openapi"), "bearer"),
        ),
    ],
)  # fmt: skip
def test_an_address_of_google_has_its_dialect_path_and_authorization(
    model: str, options: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    assert summary(make_endpoint(model, **options)) == expected


def test_files_go_by_the_dialect_of_gemini_only() -> None:
    assert "files" in make_endpoint("google:m").abilities
    assert "files" not in make_endpoint("google:m", wire="chat").abilities


def test_the_key_is_in_the_header_and_never_in_the_address() -> None:
    with simulate("google", Answer("Hello.")) as provider:
        turn = Chat("google:gemini-3.5-flash", base_url=provider.url, api_key=provider.key).send("Hi")

    (request,) = provider.requests
    assert turn.text == "Hello."
    assert request.path == "/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == provider.key
    assert "authorization" not in request.headers


def test_a_query_of_the_person_is_beside_that_of_the_dialect() -> None:
    with simulate("google", Answer("Hello."), query={"team": "blue"}) as provider:
        Chat("google:m", base_url=provider.url, api_key=provider.key, query={"team": "blue"}).send("Hi")

    assert provider.requests[0].path.endswith(":streamGenerateContent?alt=sse&team=blue")


# --- a whole turn against what the provider refuses --------------------------------------------------------------


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


QUESTION = Answer("", calls=(("double", {"n": 21}), ("double", {"n": 4})), thinking="Hm.")


@pytest.mark.parametrize("history", ["native", "compact", "results"])
@pytest.mark.parametrize(("name", "model"), [("google", "gemini-3.5-flash"), ("vertex", "gemini-2.5-flash")])
def test_turns_with_tools_are_refused_nothing(name: str, model: str, history: Any) -> None:
    with simulate(name, QUESTION, Answer("42 and 8."), Answer("Well.")) as provider:
        chat = Chat(f"{name}:{model}", base_url=provider.url, api_key=provider.key, tools=[double], history=history)
        first, second = chat.send("Double 21 and 4."), chat.send("And?")

    assert provider.refused == []
    assert ([call.result for call in first.calls], first.text, second.text) == ([42, 8], "42 and 8.", "Well.")
    assert first.thinking == "Hm."


def test_calls_of_another_model_are_refused_nothing() -> None:
    call = ToolCall("double", '{"n": 21}', id="c1", call_id="call_1")
    messages = (user("Double 21."), assistant(call), results(ToolResult("double", "42", "c1", "call_1")))
    with simulate("google", Answer("42.")) as provider:
        reply = send(provider, "gemini", "gemini-3.5-flash", Prompt(messages))

    assert (reply.text, provider.refused) == ("42.", [])


def test_models_that_do_not_summarise_their_thoughts_are_asked_again_without() -> None:
    with simulate("google", Answer("Hello."), Answer("Hello.")) as provider:
        chat = Chat("google:gemini-2.5-plain", base_url=provider.url, api_key=provider.key)
        first, second = chat.send("Hi"), chat.send("Hi")

    assert (first.text, second.text) == ("Hello.", "Hello.")
    assert provider.refused == ["has no thoughts to summarise"]


# --- Vertex AI by project ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "host"),
    [(None, "aiplatform.googleapis.com"), ("global", "aiplatform.googleapis.com"),
     ("europe-west1", "europe-west1-aiplatform.googleapis.com")],
)  # fmt: skip
def test_a_project_of_the_environment_is_an_address(
    monkeypatch: pytest.MonkeyPatch, location: str | None, host: str
) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "my-project")
    if location:
        monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", location)
    endpoint = make_endpoint("vertex:gemini-3.5-flash")

    path = f"v1/projects/my-project/locations/{location or 'global'}/publishers/google"
    assert endpoint.base_url == f"https://{host}/{path}"
    assert (endpoint.connection.auth, endpoint.key_from) == ("bearer", "key_command")
    assert endpoint.connection.key_command == ("gcloud", "auth", "print-access-token")


def test_without_a_project_the_error_names_what_to_set() -> None:
    with pytest.raises(MissingKey, match="GOOGLE_CLOUD_PROJECT"):
        make_endpoint("vertex:gemini-3.5-flash")


@pytest.mark.parametrize(
    ("name", "value"), [("GOOGLE_CLOUD_PROJECT", "p/../x"), ("GOOGLE_CLOUD_LOCATION", "evil.example/"),
                        ("GOOGLE_CLOUD_LOCATION", "evil.example#")],
)  # fmt: skip
def test_a_project_that_is_no_id_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=name):
        make_endpoint("vertex:gemini-3.5-flash")


def test_a_project_that_only_an_env_file_names_is_not_used_before_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("GOOGLE_CLOUD_PROJECT=p\n")
    monkeypatch.chdir(tmp_path)
    find_env_file.cache_clear()

    with pytest.raises(EnvFileNotAllowed):
        make_endpoint("vertex:gemini-3.5-flash")


def test_tokens_of_the_key_command_go_to_googles_hosts_only() -> None:
    own = make_endpoint("vertex:m", base_url=VERTEX)
    other = make_endpoint("vertex:m", base_url="https://gw.example/v1/publishers/google")

    assert own.key_source is not None
    assert (other.key_source, other.key) == (None, None)


@pytest.mark.parametrize("host", ["evil-aiplatform.googleapis.com.example", "aiplatform.googleapis.com.example"])
def test_a_host_that_looks_like_googles_is_none(host: str) -> None:
    endpoint = make_endpoint("vertex:m", base_url=f"https://{host}/v1/publishers/google")

    assert (endpoint.key_source, endpoint.key) == (None, None)


def test_the_dialect_of_an_address_is_that_of_its_path() -> None:
    assert wire_at(parse_server_url("https://h.example/v1/projects/p/locations/l/publishers/google")) == "gemini"
    assert wire_at(parse_server_url("https://h.example/v1/publishers/googlers")) == ""


def test_all_models_are_listed_at_once() -> None:
    models = [{"id": "gemini-3.5-flash"}, {"id": "gemini-3.1-pro"}]
    with simulate("google", models=models) as provider:

        async def names() -> list[str]:
            try:
                return await list_models("google", base_url=provider.url, api_key=provider.key)
            finally:
                await close_clients()

        assert asyncio.run(names()) == ["google:gemini-3.1-pro", "google:gemini-3.5-flash"]

    assert provider.requests[0].path == "/v1beta/models?pageSize=1000"


def test_a_rate_limit_names_when_to_try_again() -> None:
    with simulate("google") as provider:
        chat = Chat("google:gemini-busy", base_url=provider.url, api_key=Secret(provider.key))
        turn = chat.send("Hi")

    assert "exceeded your current quota" in str(turn.error)
    assert "1.5 min" in str(turn.error) or "92 s" in str(turn.error) or "91" in str(turn.error)
