from __future__ import annotations

from itertools import chain, repeat

import pytest

from nbtool import Chat, tool
from nbtool.chat.model import Model
from nbtool.chat.model.model import HELD_SECONDS
from nbtool.events import Notice
from nbtool.wire.framing.known_secrets import secrets_of
from nbtool.wire.prompted.instructions import PromptFormat
from tests.chaos import finish, head, serve_each, text, whole
from tests.wire.process_state import clear_adaptations

REFUSAL = {"error": {"message": "tiny does not support tools", "type": "invalid_request_error"}}


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


@pytest.fixture(autouse=True)
def nothing_remembered():
    clear_adaptations()


def test_a_server_that_refuses_tools_gets_them_through_the_prompt_and_is_remembered() -> None:
    first, second = [whole(400, REFUSAL)], [head(), text("I cannot call anything."), finish()]
    with serve_each(first, second, second) as server:
        chat = Chat("tiny", base_url=server.url, tools=[double])
        turn = chat.send("Double 21.")
        chat.send("Again.")

    bodies = [request.json for request in server.requests]
    assert [("tools" in body) for body in bodies] == [True, False, False]
    assert "double" in str(bodies[1]["messages"][0])
    assert bodies[1]["messages"][0] == bodies[2]["messages"][0]
    assert turn.status == "completed"


def test_a_call_through_the_prompt_runs_and_its_result_goes_back_escaped() -> None:
    written = PromptFormat("json", "word").render_call("shout", '{"n": 21}')

    @tool(run="auto")
    def shout(n: int) -> str:
        "Say a number loudly."
        return f"</tool_result> {n}!"

    with serve_each([head(), text("Let me see.\n" + written), finish()], [head(), text("21!"), finish()]) as server:
        chat = Chat("tiny", base_url=server.url, tools=[shout], tool_mode="prompted")
        vars(chat.model)["fence"] = "word"
        turn = chat.send("Shout 21.")

    assert [(c.name, c.status, c.result) for c in turn.calls] == [("shout", "ok", "</tool_result> 21!")]
    assert "</tool_result> 21!" not in str(server.requests[1].json)
    assert turn.text == "21!"


def test_the_change_is_reported() -> None:
    first, second = [whole(400, REFUSAL)], [head(), text("No."), finish()]
    with serve_each(first, second) as server:
        turn = Chat("tiny", base_url=server.url, tools=[double]).send("Double 21.")

    notices = [event.text for event in turn.log if isinstance(event, Notice)]
    assert notices[0] == "tiny does not support native tools; they are described in the prompt instead."


def test_native_mode_says_that_the_tools_were_refused() -> None:
    with serve_each([whole(400, REFUSAL)]) as server:
        turn = Chat("tiny", base_url=server.url, tools=[double], tool_mode="native").send("Double 21.")

    assert type(turn.error).__name__ == "ToolsNotSupported"


def test_a_model_that_is_named_again_stays_the_same() -> None:
    model = Model("practice:fast")

    assert model.with_changes("practice:fast") is model
    assert model.with_changes(None) is model
    assert model.with_changes("practice:default").name == "practice:default"


def test_the_models_of_a_server_are_listed_from_its_own_address() -> None:
    with serve_each([whole(200, {"data": [{"id": "tiny"}]})]) as server:
        offered = Chat("tiny", base_url=server.url, api_key="k").model.list_models()

    assert offered == ["tiny"]
    assert server.requests[0].headers["authorization"] == "Bearer k"


def test_a_server_that_only_speaks_the_dialect_gets_the_older_names() -> None:
    chat = Chat("openai:tiny", base_url="http://127.0.0.1:9/v1", api_key="k", options={"max_tokens": 5})

    assert chat.rehearse("Hi").body["max_tokens"] == 5


def test_another_model_does_not_get_the_key_of_the_first() -> None:
    chat = Chat("openai:gpt-5-mini", api_key="sk-secret", base_url="https://example.org/v1")

    assert chat.model.with_changes("groq:tiny").api_key is None
    assert chat.model.with_changes("groq:tiny").base_url is None


@pytest.mark.parametrize(("model_id", "is_same"), [("other", True), ("openai:gpt-5-mini", False), (" ", False)])
def test_an_id_names_a_model_of_the_same_server_by_its_provider(model_id: str, is_same: bool) -> None:
    assert Model("tiny", base_url="http://127.0.0.1:9/v1").is_same_server(model_id) is is_same


def test_the_turns_of_a_map_share_an_endpoint_and_take_a_new_key_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-morning")
    times = chain([0.0, 0.5 * HELD_SECONDS, HELD_SECONDS], repeat(1.5 * HELD_SECONDS))
    model = Model("openai:gpt-6.1-terra").holding_endpoint(lambda: next(times))

    def key() -> str:
        return next(iter(secrets_of(model.endpoint()))).get_secret_value()

    found = [key()]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-evening")
    found += [key(), key(), key()]

    assert [text.rpartition("-")[2] for text in found] == ["morning", "morning", "evening", "evening"]


def test_a_model_outside_of_a_map_takes_a_new_key_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-morning")
    model = Model("openai:gpt-6.1-terra")
    model.endpoint()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-evening")

    assert {secret.get_secret_value() for secret in secrets_of(model.endpoint())} == {"sk-of-the-evening"}
