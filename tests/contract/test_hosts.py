"""Keys, prompts and histories go to the host that they belong to or that a person named, and to no other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from nbtool import Chat
from nbtool.errors import NbtoolError
from tests.contract.dialects import DIALECTS
from tests.contract.notebook import Notebook, end_shell, run_process
from tests.contract.simulator import KEY, Body, Provider, simulate

TOKEN = "tkn-a81f5c7d93e2"


@contextmanager
def two_labs(home: Path) -> Iterator[tuple[Provider, Provider]]:
    """Run two providers, `alpha` and `beta`, each with a key and a header of its own in `providers.toml`."""
    with simulate() as alpha, simulate() as beta:
        tables = [
            f'[{name}]\nbase_url = "{lab.url}"\nkeys = ["{name.upper()}_KEY"]\nwire = "chat"\ndefault_model = "m"\n'
            f'headers = {{ X-Team = "team-of-{name}" }}\nquery = {{ version = "v-{name}" }}\n'
            for name, lab in (("alpha", alpha), ("beta", beta))
        ]
        (home / "providers.toml").write_text("\n".join(tables), encoding="utf-8")
        yield alpha, beta


@pytest.fixture
def labs(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Provider, Provider]]:
    monkeypatch.setenv("ALPHA_KEY", "key-of-alpha-1234")
    monkeypatch.setenv("BETA_KEY", "key-of-beta-5678")
    with two_labs(home) as both:
        yield both


# --- own-host -------------------------------------------------------------------------------------------------


@pytest.mark.promise("own-host")
@pytest.mark.parametrize("wire", DIALECTS)
def test_a_key_is_in_one_header_and_nowhere_else(model: Provider, wire: str) -> None:
    model.say("Hello.")

    model.chat(wire=wire).send("Hello?")

    (request,) = model.requests
    assert [name for name, value in request.headers.items() if KEY in value]
    assert len([name for name, value in request.headers.items() if KEY in value]) == 1
    assert KEY not in request.path
    assert KEY.encode() not in request.content


@pytest.mark.promise("own-host")
def test_settings_of_a_provider_go_to_its_address_only(labs: tuple[Provider, Provider]) -> None:
    alpha, beta = labs
    alpha.say("Hello.")
    beta.say("Hello.")

    assert Chat("alpha:m").send("Hello?").text == "Hello."
    assert Chat("beta:m").send("Hello?").text == "Hello."

    for own, other, name in ((alpha, "beta", "alpha"), (beta, "alpha", "beta")):
        assert f"key-of-{name}" in own.everything
        assert f"team-of-{name}" in own.everything
        assert f"v-{name}" in own.requests[0].path
        assert f"key-of-{other}" not in own.everything
        assert f"team-of-{other}" not in own.everything


@pytest.mark.promise("own-host")
def test_a_key_of_a_provider_is_not_sent_to_another_address(labs: tuple[Provider, Provider], model: Provider) -> None:
    model.always("Hello.")

    with suppress(NbtoolError):
        Chat("alpha:m", base_url=model.url).send("Hello?")

    assert "key-of-alpha" not in model.everything
    assert "team-of-alpha" not in model.everything


@pytest.mark.promise("own-host")
def test_a_redirect_is_not_followed(model: Provider) -> None:
    with simulate() as elsewhere:
        model.always(Body(b"", 307, headers={"Location": f"{elsewhere.url}/chat/completions"}))

        turn = model.chat().send("private words")

        assert turn.status == "error"
        assert elsewhere.requests == []
        assert elsewhere.others == []


@pytest.mark.promise("own-host")
@pytest.mark.parametrize("address", ["http://192.0.2.1/v1", "http://example.org/v1"])
def test_a_key_is_sent_over_plain_http_to_this_machine_only(address: str) -> None:
    with pytest.raises(NbtoolError, match="https"):
        raise Chat("tiny", base_url=address, api_key=KEY, wire="chat").send("Hello?").error or AssertionError


@pytest.mark.promise("own-host")
def test_a_chat_with_an_address_of_its_own_takes_no_setting_of_cells(notebook: Notebook, model: Provider) -> None:
    with simulate("Hello.") as elsewhere:
        notebook.run(f"%config NbTool.base_url = {model.url!r}\n%config NbTool.headers = {{'X-Team': '{TOKEN}'}}")
        notebook.names["lab"] = elsewhere.chat()

        assert notebook.ask("Hello?", "-c lab").text == "Hello."

        assert TOKEN not in elsewhere.everything
    assert model.requests == []


@pytest.mark.promise("own-host")
def test_the_key_and_headers_of_all_cells_are_unset_when_they_get_another_server(
    notebook: Notebook, model: Provider
) -> None:
    model.say("Hello.")
    with simulate("Hello.") as elsewhere:
        notebook.run(
            f"%config NbTool.base_url = {model.url!r}\n%config NbTool.wire = 'chat'\n%config NbTool.model = 'tiny'\n"
            f"%config NbTool.api_key = {KEY!r}\n%config NbTool.headers = {{'X-Team': {TOKEN!r}}}"
        )
        assert notebook.ask("Hello?").text == "Hello."
        assert TOKEN in model.everything

        notebook.run(f"%config NbTool.base_url = {elsewhere.url!r}")
        notebook.ask("Hello?", "--new")

        assert KEY not in elsewhere.everything
        assert TOKEN not in elsewhere.everything


# --- history-host ---------------------------------------------------------------------------------------------


@pytest.mark.promise("history-host")
def test_a_history_goes_to_the_host_that_a_person_names(notebook: Notebook, labs: tuple[Provider, Provider]) -> None:
    alpha, beta = labs
    alpha.say("Noted.")
    beta.say("It is 7.")

    notebook.ask("The number is 7.", "-m alpha:m")
    notebook.ask("What is it?", "-m beta:m")

    assert "The number is 7." in beta.requests[0].text


@pytest.mark.promise("history-host")
def test_a_history_does_not_follow_a_default_that_changes(
    notebook: Notebook, home: Path, model: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two_labs(home) as (alpha, beta):
        monkeypatch.delenv("NBTOOL_MODEL")
        monkeypatch.delenv("OLLAMA_HOST")
        monkeypatch.setenv("ALPHA_KEY", "key-of-alpha-1234")
        alpha.say("Noted.")
        assert notebook.ask("The number is 7.").text == "Noted."
        chat_id = _id_of(notebook.run("%chat history chats").text)

        monkeypatch.delenv("ALPHA_KEY")
        monkeypatch.setenv("BETA_KEY", "key-of-beta-5678")
        notebook.run(f"%chat -c other open {chat_id}")
        output = notebook.run("%%chat -c other\nWhat is it?")

        assert all(f"127.0.0.1:{lab.port}" in output.error for lab in (alpha, beta))
        assert beta.requests == []


def _id_of(text: str) -> str:
    return next(word for word in text.replace("(", " ").split() if word.startswith("chat_"))


# --- env-asks -------------------------------------------------------------------------------------------------


@pytest.fixture
def project(home: Path, model: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder whose `.env` names the model and its address."""
    folder = home.parent / "project"
    folder.mkdir()
    (folder / ".env").write_text(f"NBTOOL_MODEL=ollama:tiny\nOLLAMA_HOST={model.host}\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    yield folder
    end_shell()


def load_notebook() -> Notebook:
    notebook = Notebook()
    assert not notebook.run("%load_ext nbtool").error
    return notebook


@pytest.mark.promise("env-asks")
@pytest.mark.usefixtures("project")
def test_a_model_that_only_a_file_of_the_project_names_gets_no_prompt(model: Provider) -> None:
    output = load_notebook().run("%%chat\nprivate words")

    assert "%chat env allow" in output.text
    assert model.requests == []


@pytest.mark.promise("env-asks")
@pytest.mark.usefixtures("project")
def test_a_file_of_the_project_that_a_person_allowed_is_used(model: Provider) -> None:
    model.say("Hello.")
    notebook = load_notebook()
    notebook.run("%chat env allow")

    assert notebook.ask("Hello?").text == "Hello."


@pytest.mark.promise("env-asks")
def test_a_file_that_changes_after_it_was_allowed_is_not_used(project: Path, model: Provider) -> None:
    load_notebook().run("%chat env allow")
    with (project / ".env").open("a") as env:
        env.write(f"OLLAMA_HOST={model.host}/other\n")

    run_process(_ASK, project, NBTOOL_HOME=os.environ["NBTOOL_HOME"])

    assert model.requests == []


_ASK = """
from nbtool import Chat
try:
    print(Chat().send("private words").error)
except Exception as error:
    print(error)
"""


# --- quiet-load -----------------------------------------------------------------------------------------------


@pytest.mark.promise("quiet-load")
def test_loading_connects_to_this_machine_only(home: Path) -> None:
    code = """
import sys
reached = []
def watch(event, arguments):
    if event in {"socket.getaddrinfo", "socket.connect"}:
        reached.append(arguments[0] if event == "socket.getaddrinfo" else arguments[1][0])
sys.addaudithook(watch)
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbtool")
print("reached", sorted({str(one) for one in reached if isinstance(one, (str, bytes))}))
"""

    printed = run_process(code, home)

    places = printed.split("reached ")[1]
    assert set(json.loads(places.replace("'", '"'))) <= {"127.0.0.1", "localhost", "::1"}


@pytest.mark.usefixtures("notebook")
def test_loading_reports_in_one_line_which_model_was_found() -> None:
    (line,) = Notebook().run("%load_ext nbtool").text.strip().splitlines()

    assert "ollama:tiny" in line


def test_nothing_is_imported_that_makes_loading_slow(home: Path) -> None:
    code = "import sys, nbtool\nprint(sorted({'pandas', 'numpy', 'pydantic', 'httpx', 'mcp'} & set(sys.modules)))"

    assert run_process(code, home).strip() == "[]"
