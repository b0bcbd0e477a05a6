"""The model that a person named answers, at its own address, with what the chat sets; a dry run shows that request."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from nbtool import Chat
from nbtool.errors import BadUsage, NbtoolError, UnknownModel
from tests.contract.notebook import Notebook
from tests.contract.simulator import Body, Provider, Refusal, simulate
from tests.contract.tools import PIXEL

MEDIA = "attach or make images and sound"
SEARCH = "let the provider search or run code"


# --- the model ------------------------------------------------------------------------------------------------


def test_without_a_key_and_a_server_the_practice_model_answers(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.chdir(home)

    turn = Chat().send("How many are 7 apples?", as_=int)

    assert (turn.status, turn.value, turn.cost) == ("completed", 7, None)
    assert str(turn.model).startswith("practice:")


def test_a_model_of_the_environment_is_used(notebook: Notebook, model: Provider) -> None:
    model.say("Hello.")

    assert notebook.ask("Hello?").text == "Hello."
    assert model.requests[0].json["model"] == "tiny"


def test_a_model_that_is_named_stays_set_for_the_chat(notebook: Notebook, model: Provider) -> None:
    model.say("One.", "Two.")

    notebook.ask("Hello?", "-m ollama:large")
    notebook.ask("Again?")

    assert [request.json["model"] for request in model.requests] == ["large", "large"]


def test_the_default_model_can_be_taken_again(notebook: Notebook, model: Provider) -> None:
    model.say("One.", "Two.")

    notebook.ask("Hello?", "-m ollama:large")
    notebook.ask("Again?", "-m default")

    assert model.requests[1].json["model"] == "tiny"


def test_the_status_names_the_model_the_host_and_why(notebook: Notebook, model: Provider) -> None:
    text = notebook.run("%chat status").text

    assert "ollama:tiny" in text
    assert f"127.0.0.1:{model.port}" in text
    assert "NBTOOL_MODEL" in text


def test_an_unknown_provider_is_an_error_that_names_what_was_written() -> None:
    with pytest.raises(UnknownModel, match="nowhere"):
        raise Chat("nowhere:large").send("Hello?").error or AssertionError


def test_a_missing_key_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(NbtoolError, match="OPENAI_API_KEY"):
        raise Chat("openai:some-model").send("Hello?").error or AssertionError


def test_the_models_of_a_key_are_listed_by_the_names_that_a_cell_takes(notebook: Notebook, model: Provider) -> None:
    model.models = ("tiny", "large")

    text = notebook.run("%chat models").text

    assert "large" in text
    assert not notebook.run("%chat models lar*").error


# --- gateways -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("auth", "name"),
    [
        ("bearer", "Authorization"),
        ("x-api-key", "X-Api-Key"),
        ("api-key", "Api-Key"),
        ("X-Own", "X-Own"),
        ("none", None),
    ],
)
def test_a_key_goes_where_the_gateway_expects_it(model: Provider, auth: str, name: str | None) -> None:
    model.say("Hello.")

    model.chat(auth=auth, api_key="gateway-key-123").send("Hello?")

    headers = {key.title(): value for key, value in model.requests[0].headers.items() if "gateway-key-123" in value}
    assert list(headers) == ([name] if name else [])


def test_headers_and_query_of_a_chat_go_with_each_request(model: Provider) -> None:
    model.say("Hello.")

    model.chat(headers={"X-Project": "penguins"}, query={"api-version": "7"}).send("Hello?")

    headers = {key.title(): value for key, value in model.requests[0].headers.items()}
    assert headers["X-Project"] == "penguins"
    assert model.requests[0].path.endswith("?api-version=7")


def test_a_key_can_be_a_function_and_is_renewed_when_it_is_refused(model: Provider) -> None:
    keys = iter(["first-key-1", "second-key-2", "third-key-3"])
    model.say(Refusal(401, "expired"), "Hello.")

    turn = model.chat(api_key=lambda: (next(keys), 3600)).send("Hello?")

    assert turn.text == "Hello."
    assert "first-key-1" in model.requests[0].everything
    assert "second-key-2" in model.requests[1].everything


def test_a_key_can_be_what_a_command_prints(model: Provider) -> None:
    model.say("Hello.")

    model.chat(api_key=None, key_command=["python3", "-c", "print('printed-key-1')"]).send("Hello?")

    assert "printed-key-1" in model.requests[0].everything


def test_a_provider_of_a_file_can_be_used_by_its_name(
    home: Path, model: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "key-of-the-lab")
    monkeypatch.setenv("LAB_TEAM", "penguins")
    (home / "providers.toml").write_text(
        f'[lab]\nbase_url = "{model.url}"\nwire = "chat"\nkeys = ["LAB_KEY"]\n'
        'headers = { X-Team = "${LAB_TEAM}" }\n'
    )
    model.say("Hello.")

    assert Chat("lab:tiny").send("Hello?").text == "Hello."
    assert "key-of-the-lab" in model.requests[0].everything
    assert "penguins" in model.requests[0].everything


def test_a_chat_made_in_python_is_used_in_cells_with_its_settings(notebook: Notebook) -> None:
    with simulate("Hello.") as lab:
        notebook.names["lab"] = lab.chat(system="Be brief.")

        assert notebook.ask("Hello?", "-c lab").text == "Hello."
        assert "Be brief." in lab.requests[0].text


def test_options_of_a_request_are_sent_as_they_are(model: Provider) -> None:
    model.say("Hello.")

    model.chat(options={"temperature": 0.5}).send("Hello?", options={"seed": 7})

    assert model.requests[0].json["temperature"] == 0.5
    assert model.requests[0].json["seed"] == 7


@pytest.mark.parametrize("name", ["model", "messages", "tools", "stream"])
def test_what_nbtool_writes_itself_is_no_option(model: Provider, name: str) -> None:
    with pytest.raises(BadUsage, match=name):
        raise model.chat(options={name: []}).send("Hello?").error or AssertionError

    assert model.requests == []


def test_a_system_text_of_a_cell_is_sent(notebook: Notebook, model: Provider) -> None:
    model.say("Hello.")

    notebook.ask("Hello?", "-s 'Speak like a pirate.'")

    assert "Speak like a pirate." in model.requests[0].text


# --- requests before they are sent ----------------------------------------------------------------------------


@pytest.mark.feature("see a request before it is sent")
def test_a_dry_run_shows_the_request_and_sends_nothing(notebook: Notebook, model: Provider) -> None:
    output = notebook.run("%%chat --dry-run -s 'Be brief.'\nWhat is it?")

    assert all(text in output.everything for text in ("What is it?", "Be brief.", "tiny"))
    assert model.requests == []


@pytest.mark.feature("see a request before it is sent")
def test_a_dry_run_says_first_who_would_get_what_and_what_it_costs(
    notebook: Notebook, model: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-this-test")
    model.say("Hello.")
    notebook.ask("Hello?")
    notebook.run("def price(ticker: str) -> float:\n    'Latest close.'\n    return 1.0\nlimits = [1, 2]")

    output = notebook.run("%%chat --dry-run -m openai:gpt-5-mini -t price -v limits\nWhat is it?").text
    summary, _, request = output.partition("POST ")

    assert all(
        text in summary
        for text in ("openai:gpt-5-mini", "api.openai.com", "price", "`limits`", "1 earlier turn", "token", "$")
    )
    assert "What is it?" in request


@pytest.mark.feature("see a request before it is sent")
@pytest.mark.parametrize("flags", ["-v frame", "--read frame"])
def test_a_dry_run_names_the_columns_of_a_frame_of_the_notebook(notebook: Notebook, flags: str) -> None:
    notebook.run("import pandas\nframe = pandas.DataFrame({'species': ['a', 'b'], 'mass': [1.0, 2.0]})")

    summary = notebook.run(f"%%chat --dry-run {flags}\nWhat is it?").text.partition("POST ")[0]

    assert all(text in summary for text in ("`frame`", "DataFrame", "2 rows", "species", "mass"))


@pytest.mark.feature("see a request before it is sent")
def test_a_dry_run_counts_only_the_turns_that_it_would_send(notebook: Notebook, model: Provider) -> None:
    model.say("One.", "Two.")
    notebook.ask("Hello?")
    notebook.ask("And?")

    said = [
        notebook.run(f"%%chat --dry-run {flags}\nWhat?").text.partition("POST ")[0]
        for flags in ("", "--set history=none", "--edit 2")
    ]

    assert ["2 earlier turns" in said[0], "earlier" in said[1], "1 earlier turn" in said[2]] == [True, False, True]


@pytest.mark.feature("see a request before it is sent")
def test_a_request_that_was_rehearsed_is_what_is_sent(model: Provider) -> None:
    model.say("Hello.")
    chat = model.chat(system="Be brief.")

    rehearsed = chat.rehearse("What is it?")
    chat.send("What is it?")

    assert json.loads(json.dumps(rehearsed.body)) == model.requests[0].json


# --- media ----------------------------------------------------------------------------------------------------


@pytest.mark.feature(MEDIA)
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic", "gemini"])
def test_an_image_is_sent_with_the_prompt(model: Provider, tmp_path: Path, wire: str) -> None:
    (tmp_path / "photo.png").write_bytes(PIXEL)
    model.say("A pixel.")

    model.chat(wire=wire).send("What is on it?", attach=[tmp_path / "photo.png"])

    assert base64.b64encode(PIXEL) in model.requests[0].content


@pytest.mark.feature(MEDIA)
def test_a_cell_attaches_files_and_variables(notebook: Notebook, model: Provider, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("the text of a note", encoding="utf-8")
    notebook.names["photo"] = PIXEL
    model.say("Fine.")

    notebook.ask("What is it?", f"-a {tmp_path / 'note.txt'} photo")

    assert "the text of a note" in model.requests[0].text
    assert base64.b64encode(PIXEL) in model.requests[0].content


@pytest.mark.feature(MEDIA)
def test_an_attachment_that_does_not_exist_sends_nothing(notebook: Notebook, model: Provider) -> None:
    output = notebook.run("%%chat -a nowhere.png\nWhat is it?")

    assert "nowhere.png" in output.error
    assert model.requests == []


@pytest.mark.feature(MEDIA)
def test_an_image_is_made_by_a_model_that_draws() -> None:
    turn = Chat("practice:image").send("A red circle.")

    assert turn.status == "completed"
    assert [one.mime.startswith("image/") for one in turn.media] == [True]


# --- tools of the provider ------------------------------------------------------------------------------------


@pytest.mark.feature(SEARCH)
def test_a_tool_of_the_provider_is_asked_for_and_its_sources_are_listed(model: Provider) -> None:
    annotation = {
        "type": "url_citation",
        "url": "https://example.org/a",
        "title": "A page",
        "start_index": 0,
        "end_index": 3,
    }
    body = {
        "id": "r", "object": "response", "created_at": 1, "model": "tiny", "status": "completed",
        "output": [
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "new"}},
            {"type": "message", "id": "m", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "New.", "annotations": [annotation]}]},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    }  # fmt: skip
    events = [
        {"type": "response.created", "response": {**body, "status": "in_progress", "output": []}},
        *(
            {"type": "response.output_item.done", "output_index": at, "item": item}
            for at, item in enumerate(body["output"])
        ),
        {"type": "response.completed", "response": body},
    ]
    model.say(Body("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()))

    turn = model.chat(wire="responses", provider_tools=["web_search"]).send("What is new?")

    assert "web_search" in model.requests[0].tools
    assert turn.status == "completed", turn.error
    assert "https://example.org/a" in str(turn.citations[0])
    assert len(turn.provider_calls) == 1


@pytest.mark.feature(SEARCH)
def test_a_cell_asks_for_a_tool_of_the_provider(notebook: Notebook) -> None:
    with simulate("Fine.") as lab:
        notebook.names["lab"] = lab.chat(wire="responses")

        notebook.ask("What is new?", "-c lab -t web_search")

        assert "web_search" in lab.requests[0].tools
