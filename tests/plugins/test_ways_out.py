"""Every way in which a body leaves, with a secret sent down each: what `Privacy` masks is in none of them.

What leaves is what a server on loopback received. The ways are taken from the code where it lists them: the methods of
a chat that make turns, the modes of history, the kinds of models; a new one without its row fails.
"""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbtool
from nbtool import Approved, Chat, Policy, tool
from nbtool.chat.batch import Batch, MapTotals
from nbtool.chat.chat import TurnSettings
from nbtool.chat.prompt_context import HistoryMode
from nbtool.chat.subchat import subchat
from nbtool.chat.turn import Turn
from nbtool.messages import Media
from nbtool.plugins.privacy import Privacy
from nbtool.settings import data_dir
from nbtool.testing import call
from nbtool.tools.approval import Undecided
from nbtool.tools.mcp.catalog.resources import RemoteResource
from nbtool.tools.mcp.resource_tool import make_resource_tool
from nbtool.tools.script.tool import script_tools
from nbtool.wire.base import Request
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from tests.chaos import DONE, ChaosServer, finish, head, serve, serve_each, text, whole
from tests.samples import PNG, WAV, as_base64, image_response
from tests.security.model import model

SECRETS = {
    "email": "ada.lovelace@example.org",
    "card": "4111 1111 1111 1111",
    "name": "Grace Hopper",
}
LETTERS = {"email": "ada.lovelace@example.org", "card": "4111111111111111", "name": "gracehopper"}


@contextmanager
def chat_at(*replies: Any, **how: Any) -> Iterator[tuple[Chat, ChaosServer]]:
    with model(*replies) as server:
        yield Chat("ollama:tiny", base_url=server.url, plugins=[Privacy(names=[SECRETS["name"]])], **how), server


def sent_by(server: ChaosServer) -> str:
    return "\n".join(request.body.decode("utf-8", "replace") for request in server.requests)


def letters_of(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def of_method(name: str, *before: str, replies: tuple[str, ...] = ("Ok.",), **how: Any) -> Callable[[str], str]:
    """Make a turn with one of the chat's own methods, after others."""

    def way(secret: str) -> str:
        with chat_at(*before, *replies) as (chat, server):
            for _ in before:
                chat.send(f"Write to {secret}.")
            made = getattr(chat, name)(**{key: value(chat, secret) for key, value in how.items()})
            if name.startswith("start"):
                made.done.result(240) if isinstance(made, Turn) else list(made)
            return sent_by(server)

    return way


def send_prompt(_: Chat, secret: str) -> str:
    return f"Write to {secret}."


def last(chat: Chat, _: str) -> Turn:
    turn = chat.tree.active_path[-1].turn
    assert turn
    return turn


def first(chat: Chat, _: str) -> Turn:
    turn = chat.tree.active_path[0].turn
    assert turn
    return turn


def by_running_again(secret: str) -> str:
    @tool(run="auto")
    def look() -> str:
        """Look."""
        return secret

    with chat_at(call("look"), "One.", "Two.", tools=[look]) as (chat, server):
        chat.send(f"For {secret}?")
        secret = f"{secret}!"
        assert chat.reexecute().status == "completed"
        return sent_by(server)


def by_resuming(secret: str) -> str:
    with serve_each([head(), text("Half a rep")], [head(), text("Whole."), finish(), DONE]) as server:
        chat = Chat("ollama:tiny", base_url=server.url, plugins=[Privacy(names=[SECRETS["name"]])])
        assert chat.send(f"For {secret}?").status == "error"
        assert chat.resume().status == "completed"
        return sent_by(server)


def by_history(mode: HistoryMode) -> Callable[[str], str]:
    def way(secret: str) -> str:
        @tool(run="auto")
        def look() -> str:
            """Look it up."""
            return "x " * 92 + secret + " y" * 300

        steps = [call("look"), "One.", call("look", it="x" * 40 + " " + secret), "Two.", "Three."]
        with chat_at(*steps, tools=[look], history=mode) as (chat, server):
            for _ in range(3):
                chat.send(f"For {secret}?")
            return sent_by(server)

    return way


def by_media(kind: str) -> Callable[[str], str]:
    names = {"image": "gpt-image-1", "image-edit": "qwen-image-edit", "transcription": "whisper-1", "speech": "tts-1"}

    def way(secret: str) -> str:
        answer = {"transcription": whole(200, {"text": "Hi"}), "speech": whole(200, WAV, "audio/wav")}
        with serve(answer.get(kind, image_response(as_base64(PNG)))) as server:
            privacy = Privacy(names=[SECRETS["name"]])
            chat = Chat(f"openai:{names[kind]}", base_url=server.url, api_key="k", plugins=[privacy])
            attached = {"image-edit": [PNG], "transcription": [WAV]}.get(kind, [])
            turn = chat.send(f"Draw {secret}.", attach=attached)
            assert turn.status == "completed", turn.error
            return sent_by(server)

    return way


def by_rehearsal(secret: str) -> str:
    with chat_at() as (chat, _):
        return str(chat.rehearse(f"Write to {secret}.").body)


def by_results_and_descriptions(secret: str) -> str:
    @tool(run="auto")
    def look() -> Any:
        """Look."""
        return {"who": secret, secret: ["x" * 3_990 + " " + secret] * 3}

    @tool(run="auto")
    def fails() -> None:
        """Fail."""
        raise ValueError(f"no {secret}")

    look.__doc__ = f"Look up {secret}."
    with chat_at([call("look"), call("fails")], "Ok.", tools=[look, fails], system=f"I am {secret}.") as (chat, server):
        chat.send("Go.", options={"user": secret})
        return sent_by(server)


def by_sub_chat(depth: int) -> Callable[[str], str]:
    def way(secret: str) -> str:
        replies = [call("ask", question=f"Who is {secret}?") for _ in range(depth)]
        with model(*replies, *["Ok."] * (depth + 1)) as server:
            inner: Any = []
            for _ in range(depth):
                there = Chat("ollama:tiny", base_url=server.url)
                inner = [subchat(there, tools=inner, system=f"I know {secret}.")]
            chat = Chat("ollama:tiny", base_url=server.url, tools=inner, plugins=[Privacy(names=[SECRETS["name"]])])
            turn = chat.send("Go.")
            assert len(server.requests) == 2 * depth + 1, turn.error
            return sent_by(server)

    return way


def by_script(secret: str) -> str:
    with model(call("RunScript", script=f"print(ask('Who is {secret}?'))"), "Inner.", "Ok.") as server:
        there = Chat("ollama:tiny", base_url=server.url)
        chat = Chat("ollama:tiny", base_url=server.url, tools=[subchat(there), script_tools()],
                    approver=lambda _: Approved(), plugins=[Privacy(names=[SECRETS["name"]])])  # fmt: skip
        assert chat.send("Go.").calls[0].status == "ok"
        return sent_by(server)


def by_attachments(secret: str) -> str:
    files = [Media("text/plain", f"I am {secret}".encode("utf-16"), name="x.txt"),
             Media("application/octet-stream", secret.encode(), name=f"{secret}.bin")]  # fmt: skip
    with chat_at("Ok.") as (chat, server):
        chat.send("Read this.", attach=files[:1])
        sent = sent_by(server)
    return sent + "".join(map(decode_piece, re.findall(r"[A-Za-z0-9+/]{16,}={0,2}", sent)))


def decode_piece(piece: str) -> str:
    data = base64.b64decode(piece + "=" * (-len(piece) % 4))
    return data.decode("utf-8", "ignore") + data.decode("utf-16", "ignore")


def by_structured_answers(secret: str) -> str:
    with chat_at(f"{secret} is no number", "3", '{"value": 3}') as (chat, server):
        chat.send(f"How many times {secret}?", as_=int)
        return sent_by(server)


def by_prompted_tools(secret: str) -> str:
    @tool(run="auto")
    def look(who: str) -> str:
        """Look."""
        return f"{who}: {secret}"

    with chat_at("Hm.", tools=[look], tool_mode="prompted") as (chat, server):
        chat.send(f"For {secret}?")
        return sent_by(server)


def by_a_turn_that_waited(secret: str) -> str:
    @tool
    def look() -> str:
        """Look."""
        return secret

    with chat_at(call("look"), "Ok.", tools=[look], approver=lambda _: Undecided()) as (chat, server):
        turn = chat.start(f"For {secret}?")
        while not chat.approvals.pending():
            turn.done.exception(0.01) if turn.done.done() else None
        chat.approvals.decide(chat.approvals.pending()[0].digest, Approved(), by="test")
        turn.done.result(240)
        return sent_by(server)


def by_pieces(name: str, write: Callable[[int, int], dict[str, Any]], size: int) -> Callable[[str], str]:
    """Let a model read a variable a few letters at a time, and put together what it was told."""

    def way(secret: str) -> str:
        said = f"so {secret} said"

        @tool(run="auto")
        def same(it: str) -> str:
            """Say it again."""
            return it

        steps = [call(name, **write(at, size)) for at in range(0, len(said) + 12, size)]
        with chat_at([_with_id(step, at) for at, step in enumerate(steps)], "Ok.", tools=[same]) as (chat, server):
            chat.expose(read=True, x=said)
            turn = chat.send("Go.")
            assert all(made.status == "ok" for made in turn.calls), [made.shown for made in turn.calls]
            actual = [
                message["content"] for message in server.requests[-1].json["messages"] if message["role"] == "tool"
            ]
            return "".join(piece.partition("\n[characters")[0] for piece in actual) + sent_by(server)

    return way


def _with_id(step: Any, at: int) -> Any:
    return type(step)(step.name, step.arguments, f"c{at}")


def by_provider_tools(secret: str) -> str:
    """Have the person's file of providers define a tool of the provider."""
    reply = {"id": "r", "status": "completed", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Ok."}]}]}  # fmt: skip
    with serve(whole(200, reply)) as server:
        place = f'{{ type = "web_search", user_location = {{ city = "{secret}" }} }}'
        settings = f'[lab]\nbase_url = "{server.url}"\nwire = "responses"\nprovider_tools = [{place}]\n'
        (data_dir() / "providers.toml").write_text(settings)
        chat = Chat("lab:m", plugins=[Privacy(names=[SECRETS["name"]])])
        assert chat.send("Go.").status == "completed"
        sent = sent_by(server)
        assert "user_location" in sent
        return sent + str(chat.rehearse("Go.").body)


def by_cut_results(secret: str) -> str:
    """Let results be cut at every place of the secret."""

    @tool(run="auto")
    def long(before: int) -> str:
        """Give a long text."""
        return "x " * 60 + "y" * before + f" {secret} " + "z " * 90_000

    steps = [call("long", before=1_660 + at) for at in range(0, 40, 2)]
    with chat_at([_with_id(step, at) for at, step in enumerate(steps)], "Ok.", "Ok.", tools=[long]) as (chat, server):
        chat.send("Go.")
        chat.send("And now?")
        return sent_by(server)


def by_resource(secret: str) -> str:
    """Let a model read a resource that contains the secret."""

    async def read(resource: RemoteResource | str) -> str:
        return f"{resource} is of {secret}."

    reader = replace(make_resource_tool("lab", "lab", read), policy=Policy("auto"))
    with chat_at(call("lab_read_resource", resource="lab://x"), "Ok.", tools=[reader]) as (chat, server):
        assert chat.send("Go.").calls[0].status == "ok"
        return sent_by(server)


def by_workers(secret: str) -> str:
    """Send a chat and prompts to an engine of the user's, which gets them in clear; what the worker sends is masked."""
    with chat_at("Ok.", "Ok.", "Ok.", system=f"I am {secret}.") as (chat, server), ThreadPoolExecutor(1) as engine:
        chat.expose(read=True, x=secret)
        assert chat.map([f"Write to {secret}."], on=engine, resume=False).values == ["Ok."]
        assert next(iter(chat.start_map([f"Call {secret}."], on=engine, resume=False))).value == "Ok."
        chat.map_into(print, [f"Ask {secret}."], on=engine)
        return sent_by(server)


def by_edited_reply(secret: str) -> str:
    with chat_at("One.", "Two.") as (chat, server):
        chat.edit_reply(chat.send("Write."), f"It is for {secret}.")
        chat.send("Go on.")
        return sent_by(server)


WAYS: dict[str, Callable[[str], str]] = {
    "send": of_method("send", prompt=send_prompt),
    "start": of_method("start", prompt=send_prompt),
    "start_after": of_method("start_after", "One.", turn=last, prompt=send_prompt),
    "edit_reply": by_edited_reply,
    "rerun": of_method("rerun", "One."),
    "resume": by_resuming,
    "reexecute": by_running_again,
    "edit": of_method("edit", "One.", turn=last, prompt=send_prompt),
    "insert": of_method("insert", "One.", "Two.", after=first, prompt=send_prompt),
    "map": of_method("map", prompts=lambda _, secret: [f"Write to {secret}."]),
    "start_map": of_method("start_map", prompts=lambda _, secret: [f"Write to {secret}."]),
    "map_into": of_method("map_into", sink=lambda *_: print, prompts=lambda _, secret: [f"Write to {secret}."]),
    "rehearse": by_rehearsal,
    "compose": of_method("send", prompt=send_prompt, settings=lambda *_: TurnSettings(stream=False)),
    **{f"history {mode}": by_history(mode) for mode in get_args(HistoryMode)},
    **{f"model: {kind}": by_media(kind) for kind in MEDIA_KINDS},
    "results, descriptions, options, system": by_results_and_descriptions,
    "sub-chat": by_sub_chat(1),
    "sub-chat of a sub-chat": by_sub_chat(2),
    "script": by_script,
    "resource of a server": by_resource,
    "attachments": by_attachments,
    "structured answers": by_structured_answers,
    "prompted tools": by_prompted_tools,
    "a turn that waited": by_a_turn_that_waited,
    "ReadVar in pieces": by_pieces("ReadVar", lambda at, size: {"name": "x", "start": at, "length": size}, 6),
    "ReadVar letter by letter": by_pieces("ReadVar", lambda at, size: {"name": "x", "start": at, "length": size}, 1),
    "slices": by_pieces("same", lambda at, size: {"it": f"$VAR_REF{{{{x:{at}:{size}}}}}"}, 5),
    "slices in texts": by_pieces("same", lambda at, size: {"it": f"$VAR_REF{{{{x:{at}:{size}}}}}."}, 1),
    "results that are cut": by_cut_results,
    "tools of the provider": by_provider_tools,
}


def test_every_way_that_the_code_lists_has_a_row() -> None:
    makes = {
        name
        for name, method in inspect.getmembers(Chat, inspect.isfunction)
        if not name.startswith("_") and get_type_hints(method).get("return") in (Turn, Batch, MapTotals, Request)
    }
    here = Path(nbtool.__file__).parent
    sends = {str(path.relative_to(here)) for path in here.rglob("*.py") if re.search(r"\bEngine\(", path.read_text())}
    outward = {str(path.relative_to(here)) for path in here.rglob("*.py") if 'sends_to="' in path.read_text()}

    assert makes <= WAYS.keys()
    assert sends == {"chat/turn_run.py"}
    assert outward == {"chat/subchat.py", "tools/mcp/resource_tool.py", "tools/mcp/server.py"}


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("masked")
@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("way", WAYS)
def test_a_secret_leaves_by_no_way(way: str, secret: str) -> None:
    sent = WAYS[way](SECRETS[secret])

    assert sent
    assert SECRETS[secret] not in sent
    assert letters_of(LETTERS[secret]) not in letters_of(sent)
    halves = letters_of(LETTERS[secret])[: len(LETTERS[secret]) * 2 // 3]
    assert halves not in letters_of(sent)


QUICK = [
    way for way in WAYS if not way.startswith(("ReadVar", "slices", "results that", "a turn that", "map", "start_map"))
]
surnames = st.text("bdegiklmnorstuvw", min_size=5, max_size=9)


@pytest.mark.promise("masked")
@settings(max_examples=15)
@given(way=st.sampled_from(QUICK), name=surnames, domain=surnames)
def test_no_address_of_mail_leaves_by_any_way(way: str, name: str, domain: str) -> None:
    sent = WAYS[way](f"x{name}.q{name}@{domain}.org")

    assert sent
    assert f"x{name}q{name}" not in letters_of(sent)
