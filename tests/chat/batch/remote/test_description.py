"""What is sent to workers, what is refused before anything is sent, and what comes back."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat import batch_worker
from nbtool.chat.batch.remote import pack_error, seal
from nbtool.chat.batch.remote.packed_error import unpack_error
from nbtool.chat.chat_description import receive_chat
from nbtool.errors import BadUsage, EnvFileNotAllowed, NbtoolError, RateLimited, WorkerLost
from nbtool.secret import Secret
from nbtool.testing import ScriptedWire
from nbtool.tools.tool import as_tools
from tests.chaos import Received, serve_by
from tests.chat.batch.remote.far_tools import say, where
from tests.chat.batch.test_streamed_map import rows_of

KEY = "sk-0123456789abcdef"


class Spy(Executor):
    """A pool of one thread that keeps what is submitted, as bytes."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.shown: list[str] = []
        self._threads = ThreadPoolExecutor(1)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:  # type: ignore[override]
        """Run a task from its pickled form."""
        self.sent.append(pickle.dumps((function, arguments)))
        self.shown.append(repr(arguments))
        far_function, far_arguments = pickle.loads(self.sent[-1])
        return self._threads.submit(far_function, *far_arguments)


@pytest.fixture
def spy() -> Iterator[Spy]:
    engine = Spy()
    yield engine
    engine._threads.shutdown()


def refused(match: str, spy: Spy, chat: Chat, **options: Any) -> None:
    """Expect one line of error, and nothing sent."""
    with pytest.raises(BadUsage, match=match) as found:
        chat.map(["a"], on=spy, **options)
    assert found.value.fix
    assert "\n" not in str(found.value)
    assert KEY not in str(found.value)
    assert spy.sent == []


def test_a_key_is_found_on_the_worker_and_not_sent(spy: Spy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    seen: list[str] = []

    def respond(request: Received) -> Any:
        seen.append(request.headers.get("authorization", ""))
        return say("Yes.")

    with serve_by(respond) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        values = Chat("openai:m", wire="chat").map(["a"], on=spy).values

    assert values == ["Yes."]
    assert seen == [f"Bearer {KEY}"]
    assert spy.sent
    assert not any(KEY.encode() in sent for sent in spy.sent)


def test_a_literal_key_is_refused_unless_it_may_be_sent_and_is_then_in_no_text(spy: Spy) -> None:
    seen: list[str] = []

    def respond(request: Received) -> Any:
        seen.append(request.headers.get("authorization", ""))
        return say("Yes.")

    with serve_by(respond) as server:
        chat = Chat("tiny", base_url=server.url, api_key=KEY)
        refused(r"api_key was passed as a text, and keys are not sent .* send_key=True", spy, chat)
        assert chat.map(["a"], on=spy, send_key=True).values == ["Yes."]

    assert seen == [f"Bearer {KEY}"]
    assert any(KEY.encode() in sent for sent in spy.sent)
    assert all(KEY not in shown for shown in spy.shown)


def test_without_a_key_here_the_one_of_the_worker_is_used(spy: Spy) -> None:
    answer = Chat("openai:gpt-5-mini").map(["a"], on=spy).answers[0]

    assert type(answer.error).__name__ == "MissingKey"  # of the worker: it has none either
    assert len(spy.sent) == 1


def test_secrets_of_the_connection_are_refused_as_keys_are(spy: Spy) -> None:
    seen: list[list[str | None]] = []

    def respond(request: Received) -> Any:
        seen.append([request.headers.get("user-agent"), request.headers.get("x-gate")])
        return say("Yes.")

    with serve_by(respond) as server:
        url = server.url
        assert Chat("tiny", base_url=url, headers={"User-Agent": "me"}).map(["a"], on=spy).values == ["Yes."]
        spy.sent.clear()
        gate = Chat("tiny", base_url=url, headers={"X-Gate": KEY})
        refused("headers X-Gate was passed as a text", spy, gate)
        refused("proxy was passed as a text", spy, Chat("tiny", base_url=url, proxy="http://ada:secret@localhost:1"))
        refused("query token was passed as a text", spy, Chat("tiny", base_url=url, query={"token": KEY}))
        assert gate.map(["a"], on=spy, send_key=True, resume=False).values == ["Yes."]

    assert seen == [["me", None], [seen[1][0], KEY]]


def test_what_cannot_travel_is_refused_by_name_before_anything_is_sent(spy: Spy) -> None:
    lock = threading.Lock()

    def holds() -> str:
        """Hold a lock."""
        return str(lock)

    class Locked:
        def __init__(self) -> None:
            self.lock = lock

        def on_turn_start(self, _: Any) -> None: ...

    there = {"base_url": "http://127.0.0.1:9"}
    with ThreadPoolExecutor(1) as pool:
        at_pool = tool(where, executor=pool)
        refused("The tool 'where' has an executor", spy, Chat("tiny", **there, tools=[at_pool]))  # type: ignore[arg-type]
        of_server = replace(as_tools(where)[0], sends_to="server")
        refused("The tool 'where' is of an MCP server", spy, Chat("tiny", **there, tools=[of_server]))  # type: ignore[arg-type]
        refused("on= runs whole turns", spy, Chat("tiny", base_url="http://127.0.0.1:9"), executor=pool)
    refused("The tool holds cannot be sent to workers", spy, Chat("tiny", base_url="http://127.0.0.1:9", tools=[holds]))
    refused(
        "The plugin Locked cannot be sent to workers",
        spy,
        Chat("tiny", base_url="http://127.0.0.1:9", plugins=[Locked()]),
    )
    exposed = Chat("tiny", base_url="http://127.0.0.1:9")
    exposed.expose(lock=lock)
    refused("The variable lock cannot be sent to workers", spy, exposed)
    refused("The model's wire cannot be sent", spy, Chat(wire=ScriptedWire([])))
    refused("comes from a function", spy, Chat("tiny", base_url="http://127.0.0.1:9", api_key=lambda: KEY))


def test_no_secret_travels_inside_a_tool_or_an_object(spy: Spy, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, environment = Secret(KEY), os.environ

    def by_secret() -> str:
        """Use a secret."""
        return hidden.get_secret_value()

    def by_environment() -> str:
        """Use the environment."""
        return str(len(environment))

    def by_text() -> str:
        """Use a text."""
        return literal

    literal = KEY
    for function in (by_secret, by_environment):
        chat = Chat("tiny", base_url="http://127.0.0.1:9", tools=[function])
        refused(f"The tool {function.__name__} contains a secret", spy, chat)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    refused("contains its key, which is not sent", spy, Chat("openai:gpt-5-mini", tools=[by_text]))


def test_without_cloudpickle_what_a_cell_defines_is_refused(spy: Spy, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("def one() -> int:\n    'Give one.'\n    return 1", names)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    chat = Chat("tiny", base_url="http://127.0.0.1:9", tools=[names["one"]])
    refused("The tool one cannot be sent .* only cloudpickle sends what a cell or a script defines", spy, chat)
    assert seal({"tool": where}).open()["tool"] is where
    with pytest.raises(BadUsage, match="contains a secret"):
        seal({"a": Secret(KEY)})


@pytest.mark.parametrize(
    ("on", "message"),
    [(3, "on=int: expected a Dask client or a concurrent.futures.Executor"), ("pool", "on=str: expected")],
)
def test_another_object_is_no_engine(on: Any, message: str) -> None:
    with pytest.raises(BadUsage, match=message):
        Chat("tiny", base_url="http://127.0.0.1:9").map(["a"], on=on)


@pytest.mark.parametrize(("name", "value"), [("chunk", 0), ("chunk", 501), ("concurrency", 1_001)])
def test_settings_have_limits(spy: Spy, name: str, value: int) -> None:
    with pytest.raises(BadUsage, match=f"{name}={value}: expected 1 to"):
        Chat("tiny", base_url="http://127.0.0.1:9").map(["a"], on=spy, **{name: value})


def test_an_engine_that_takes_no_task_is_one_clear_line_and_nothing_is_sent(tmp_path: Path) -> None:
    closed, path = ThreadPoolExecutor(1), tmp_path / "a.sqlite"
    closed.shutdown()
    chat = Chat("tiny", base_url="http://127.0.0.1:9")
    batch = chat.map(["a", "b"], on=closed)
    with pytest.raises(WorkerLost, match=r"The ThreadPoolExecutor takes no more tasks .* was not sent") as found:
        chat.map_into(path, ["a", "b"], on=closed)

    assert {str(one.error) for one in batch.answers} == {str(found.value)}
    assert rows_of(path) == []


def test_a_chat_is_built_again_from_what_was_sent(spy: Spy) -> None:
    chat = Chat("tiny", base_url="http://127.0.0.1:9", tools=[where], system="Be brief.", max_rounds=3,
                options={"temperature": 0.5}, tool_mode="prompted", check_results=True, wire="chat")  # fmt: skip
    chat.expose(a=1)
    chat.expose(read=True, b=[2])
    chat.keeps_notes = True
    chat.call_texts = {"denied": "No."}
    with pytest.raises(NbtoolError):
        raise chat.map(["a"], on=spy, retries=0).errors[0].error or NbtoolError("none")
    description = pickle.loads(spy.sent[0])[1][0]
    built = receive_chat(description).chat

    assert (built.model.name, built.model.base_url, built.model.tool_mode, built.model.wire) == (
        "tiny", "http://127.0.0.1:9", "prompted", "chat",
    )  # fmt: skip
    assert (built.system, built.limits.max_rounds, built.options) == ("Be brief.", 3, {"temperature": 0.5})
    assert [(one.name, one.is_readable) for one in built.exposed_variables()] == [("a", False), ("b", True)]
    assert (built.keeps_notes, built.check_results, built.call_texts) == (True, True, {"denied": "No."})
    assert list(built.tools.tools()) == ["where"]


def test_an_error_survives_the_way_home() -> None:
    limited = RateLimited("is busy", fix="Wait.", status=429, retry_after=2.5, source="lab")
    back = unpack_error(pack_error(limited))
    not_allowed = EnvFileNotAllowed("/x/.env", ["A"], "host")
    consent = unpack_error(pack_error(not_allowed))
    foreign = unpack_error(pack_error(ValueError("odd")))

    assert (type(back), str(back), repr(back)) == (RateLimited, str(limited), repr(limited))
    assert isinstance(back, RateLimited)
    assert (back.status, back.retry_after) == (429, 2.5)
    assert str(consent) == str(not_allowed)
    assert (type(foreign), str(foreign)) == (NbtoolError, "ValueError: odd")


def test_sealed_data_shows_nothing_and_keeps_what_is_shared() -> None:
    shared = [1]
    sealed = seal({"a": {"x": shared}, "b": shared})
    opened = sealed.open()

    assert repr(sealed) == "Sealed()"
    assert opened["a"]["x"] is opened["b"]


def test_a_chat_that_cannot_be_built_there_is_one_clear_line_for_each_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_worker, "receive_chat", lambda _: broken())
    with ThreadPoolExecutor(1) as on:
        batch = Chat("tiny", base_url="http://127.0.0.1:9").map(["a", "b"], on=on)

    assert {type(one.error) for one in batch.answers} == {BadUsage}
    assert len({str(one.error) for one in batch.answers}) == 1
    assert "not_there" in str(batch.answers[0].error)


def broken() -> Any:
    """Import what no worker has."""
    import nbtool_not_there  # type: ignore[import-not-found]  # noqa: PLC0415

    return nbtool_not_there
