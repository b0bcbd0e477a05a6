from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from nbtool import Chat, tool
from nbtool.chain.hooks import ReplyContext, RequestContext, StreamContext
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import CallDelta, Delta, RefusalDelta, ReplyEnd, TextDelta, ThinkingDelta, UsageDelta
from nbtool.messages import Media, Message, Native, Usage, user
from nbtool.plugins.privacy import EVICTED_NOTICE, MASK_RULE, Privacy
from nbtool.testing import ScriptedWire, call, cut, thinking
from nbtool.wire.base import Prompt
from tests.chain.running import run
from tests.chaos import serve_each
from tests.chat.test_wires import anthropic_rounds, chat_rounds, gemini_rounds, responses_rounds

MAIL = "ada@example.org"


@tool(run="auto")
def look_up(name: str) -> str:
    "Look somebody up, for example ada@example.org."
    looked_up.append(name)
    return f"{name} knows bob@example.org"


looked_up: list[str] = []


def request_text(prompts: Sequence[Prompt]) -> str:
    return "".join(map(repr, prompts))


def ask(*replies: Any, prompt: str = f"Look up {MAIL}.", **how: Any) -> tuple[Turn, ScriptedWire]:
    with ScriptedWire(replies) as wire:
        turn = Chat(wire=wire, tools=[look_up], plugins=[Privacy(names=["Ada Lovelace"])], **how).send(prompt)
    return turn, wire


def test_every_request_of_a_turn_is_masked_with_its_results_and_descriptions() -> None:
    turn, wire = ask(
        call("look_up", name="__MASK_EMAIL_1__"), "Done.", system="I am Ada Lovelace.", options={"user": MAIL}
    )

    assert turn.error is None
    assert len(wire.prompts) == 2
    assert "example.org" not in request_text(wire.prompts)
    assert "Ada Lovelace" not in request_text(wire.prompts)
    assert wire.prompts[1].messages[-1].results[0].text.startswith("__MASK_EMAIL_1__ knows __MASK_EMAIL_2__")
    assert wire.prompts[0].system.endswith(MASK_RULE)


def test_a_tool_is_given_clear_text_and_so_is_the_person() -> None:
    looked_up.clear()

    turn, _ = ask(
        [thinking("It is __MASK_EMAIL_1__."), call("look_up", name="__MASK_EMAIL_1__")], "It is __MASK_EMAIL_2__."
    )

    assert looked_up == [MAIL]
    assert turn.calls[0].arguments == f'{{"name": "{MAIL}"}}'
    assert (turn.text, turn.thinking) == ("It is bob@example.org.", f"It is {MAIL}.")


@pytest.mark.parametrize("history", ["compact", "native", "results", "text"])
def test_the_history_is_masked_in_every_form_with_the_same_masks(history: Any) -> None:
    with ScriptedWire([call("look_up", name="__MASK_EMAIL_1__"), "It is __MASK_EMAIL_1__.", "Ok."]) as wire:
        chat = Chat(wire=wire, tools=[look_up], plugins=[Privacy()], history=history)
        chat.send(f"Look up {MAIL}.")
        chat.send("Again.")

    assert "example.org" not in request_text(wire.prompts)
    assert wire.prompts[2].messages[0].text == "Look up __MASK_EMAIL_1__."
    assert wire.prompts[2].messages[-2].text.endswith("It is __MASK_EMAIL_1__.")


def test_names_and_contents_of_attached_texts_are_masked() -> None:
    with ScriptedWire(["Ok."]) as wire:
        note = Media("text/plain", f"Write to {MAIL}.".encode(), name=f"{MAIL}.txt")
        Chat(wire=wire, plugins=[Privacy()]).send("Read this.", attach=note)

    assert b"example.org" not in b"".join(
        part.data or b"" for part in wire.prompts[0].messages[0].parts if isinstance(part, Media)
    )
    assert "example.org" not in request_text(wire.prompts)


def test_what_other_plugins_add_before_it_is_masked_too() -> None:
    class Adding:
        def on_before_request(self, request: RequestContext) -> None:
            request.system += f"Copy {MAIL}."

        async def on_after_request(self, reply: ReplyContext) -> None:
            if reply.round == 1:
                await reply.append_and_request(user(f"And {MAIL}?"))

    ran = run(["Hm.", "Ok."], Adding(), Privacy())

    assert "example.org" not in request_text(ran.wire.prompts)


def test_a_native_form_with_something_private_in_it_is_not_sent() -> None:
    clear = Message("assistant", user(f"It is {MAIL}.").parts, Native("chat", "h", "m", {"content": f"It is {MAIL}."}))

    ran = run(["Ok."], Privacy(), history=[user("Who?"), clear])

    assert "example.org" not in request_text(ran.wire.prompts)
    assert ran.wire.prompts[0].messages[1].native is None


def test_a_native_form_with_a_private_number_is_not_sent() -> None:
    arguments = {"card": 4111111111111111, "limit": 5000}
    native = Native("anthropic", "host", "model", [{"type": "tool_use", "name": "pay", "input": arguments}])
    message = replace(user("Hi"), role="assistant", native=native)

    masked = Privacy()._mask_message(message)

    assert masked.native is None


@pytest.mark.promise("masked")
def test_private_numbers_in_the_schema_of_a_tool_are_masked_and_its_bounds_are_not() -> None:
    @tool(run="auto")
    def pay(
        card: int = 4111111111111111,
        other: Literal[5500005555555559, 2] = 2,
        amount: Annotated[int, Field(le=4012888888881881, examples=[4222222222222])] = 1,
    ) -> None:
        "Pay."

    with ScriptedWire(["Ok."]) as wire:
        Chat(wire=wire, tools=[pay], plugins=[Privacy()]).send("Go.", options={"max_tokens": 4012888888881881})
    parameters = next(one for one in wire.prompts[0].tools if one.name == "pay").parameters["properties"]

    assert parameters["card"]["default"] == "__MASK_CARD_1__"
    assert parameters["other"]["enum"] == ["__MASK_CARD_2__", 2]
    assert parameters["amount"]["examples"] == ["__MASK_CARD_3__"]
    assert parameters["amount"]["maximum"] == wire.prompts[0].options["max_tokens"] == 4012888888881881


def test_a_native_form_that_holds_masks_alone_is_sent_back_with_its_signatures() -> None:
    payload = {"content": "It is __MASK_EMAIL_1__.", "signature": "c2lnbmVk"}
    ran = run(
        [["It is __MASK_EMAIL_1__.", ReplyEnd("end", "stop", native=payload)], "Ok."],
        _Again(),
        Privacy(),
        history=[user(MAIL)],
    )

    actual = ran.wire.prompts[1].messages[-1]
    assert ran.turn.chain[0].text == f"It is {MAIL}."
    assert actual.text == "It is __MASK_EMAIL_1__."
    assert actual.native
    assert actual.native.payload == payload


class _Again:
    def on_after_request(self, reply: ReplyContext) -> None:
        if reply.round == 1:
            reply.request_again()


def test_a_message_that_was_masked_before_is_the_same_object_so_that_wires_need_not_rewrite_it() -> None:
    ran = run(["One.", "Two."], _Again(), Privacy())

    assert ran.wire.prompts[0].messages[0] is ran.wire.prompts[1].messages[0]


def test_the_kept_messages_are_clear_and_those_of_a_rehearsal_are_not() -> None:
    turn, _ = ask("Ok.")
    chat = Chat("practice:fast", plugins=[Privacy()])

    assert turn.messages.context[-1].text == f"Look up {MAIL}."
    assert MAIL not in str(chat.rehearse(f"Look up {MAIL}.").body)


@pytest.mark.parametrize(
    ("wire", "rounds", "signature"),
    [
        ("chat", chat_rounds, b""),
        ("responses", responses_rounds, b"sealed"),
        ("anthropic", anthropic_rounds, b"signed"),
        ("gemini", gemini_rounds, b"c2lnbmVk"),
    ],
)
def test_nothing_private_is_in_any_body_that_leaves_and_signatures_still_are(
    wire: str, rounds: Callable[[], list[list[bytes]]], signature: bytes
) -> None:
    @tool(run="auto")
    def double(n: int) -> str:
        "Twice a number."
        return f"{2 * n}, says {MAIL}"

    with serve_each(*rounds()) as server:
        chat = Chat("tiny", base_url=server.url, wire=wire, tools=[double], system=f"I am {MAIL}.", plugins=[Privacy()])
        turn = chat.send(f"Twice 21, for {MAIL}?")

    first, second = (request.body for request in server.requests)
    assert turn.text == "42."
    assert turn.calls[0].result == f"42, says {MAIL}"
    assert b"example.org" not in first + second
    assert second.count(b"__MASK_EMAIL_1__") == 3
    assert signature in second


# --- restoring a stream ---------------------------------------------------------------------------------------


def restore_deltas(privacy: Privacy, *deltas: Delta) -> list[Delta]:
    """Give what a plugin makes of a reply's deltas, with the mask of `MAIL` known to it."""
    arrived: list[Delta] = []

    class Watching:
        def on_stream_data(self, context: StreamContext) -> None:
            if context.delta:
                arrived.append(replace(context.delta))

    run([list(deltas)], privacy, Watching(), history=[user(MAIL)])
    return arrived


def test_only_an_end_that_may_become_a_mask_is_held_back() -> None:
    arrived = restore_deltas(
        Privacy(), *map(TextDelta, ["Hi __MA", "SK_EMAIL_", "1__ and __init", "__ and _", "x", "__MASK_"])
    )

    assert [delta.text for delta in arrived if isinstance(delta, TextDelta)] == [
        "Hi ", f"{MAIL} and __init", "__ and ", "_x", "__MASK_",
    ]  # fmt: skip


def test_what_was_held_back_comes_before_what_follows_it() -> None:
    arrived = restore_deltas(
        Privacy(), ThinkingDelta("a__MASK"), UsageDelta(Usage(1)), TextDelta("b_"), RefusalDelta("c__MASK_")
    )

    assert [(type(delta).__name__, getattr(delta, "text", "")) for delta in arrived] == [
        ("ThinkingDelta", "a"), ("UsageDelta", ""), ("ThinkingDelta", "__MASK"), ("TextDelta", "b"),
        ("TextDelta", "_"), ("RefusalDelta", "c"), ("RefusalDelta", "__MASK_"), ("ReplyEnd", ""),
    ]  # fmt: skip


def test_calls_that_come_interleaved_are_restored_each_on_its_own() -> None:
    halves = ['{"a": "__MASK_EM', 'AIL_1__"}']
    arrived = restore_deltas(
        Privacy(),
        CallDelta("1", "i1", "f", halves[0]), CallDelta("2", "i2", "f", halves[0]),
        CallDelta("1", arguments=halves[1]), CallDelta("2", arguments=halves[1]),
    )  # fmt: skip

    actual = {key: "".join(d.arguments for d in arrived if isinstance(d, CallDelta) and d.key == key) for key in "12"}
    assert actual == dict.fromkeys("12", f'{{"a": "{MAIL}"}}')


def test_arguments_that_come_whole_replace_what_was_held_back() -> None:
    arrived = restore_deltas(
        Privacy(),
        CallDelta("1", "i", "f", "__MASK_"),
        CallDelta("1", arguments='{"a": "__MASK_EMAIL_1__"}', final=True),
    )

    assert [d.arguments for d in arrived if isinstance(d, CallDelta)] == ["", f'{{"a": "{MAIL}"}}']


def test_a_value_is_escaped_where_it_goes_into_json() -> None:
    looked_up.clear()
    with ScriptedWire([call("look_up", name="__MASK_NAME_1__"), "Ok."]) as wire:
        Chat(wire=wire, tools=[look_up], plugins=[Privacy((), names=['J"R\\'])]).send('Look up J"R\\')

    assert looked_up == ['J"R\\']


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.booleans())
def test_wherever_a_reply_is_cut_into_deltas_it_is_restored(sizes: list[int], is_call: bool) -> None:
    text, at, pieces = '{"a": "_ __MASK_EMAIL_1__ __MASK_EMAIL_9__ __MASK_EMAIL_1____x_"}', 0, []
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    pieces.append(text[at:])
    deltas = [CallDelta("1", "i", "f", piece) if is_call else TextDelta(piece) for piece in pieces]

    arrived = restore_deltas(Privacy(), *deltas)

    joined = "".join(d.arguments if isinstance(d, CallDelta) else getattr(d, "text", "") for d in arrived)
    assert joined == text.replace("__MASK_EMAIL_1__", MAIL)


def test_a_reply_that_breaks_off_loses_at_most_half_a_mask() -> None:
    ran = run([["It is __MASK_EMAIL_1__, __MASK_EM", cut()]], Privacy(), history=[user(MAIL)])

    assert ran.outcome.text == f"It is {MAIL}, "


# --- bounds ---------------------------------------------------------------------------------------------------


def test_the_person_is_informed_once_when_values_are_forgotten() -> None:
    privacy = Privacy()
    privacy.masks.max_masks = 2

    ran = run(
        ["__MASK_EMAIL_1__ __MASK_EMAIL_3__", "Ok."], _Again(), privacy, history=[user("a@x.org b@x.org c@x.org")]
    )

    assert [event.text for event in ran.of("notice")] == [EVICTED_NOTICE]
    assert ran.turn.chain[0].text == "__MASK_EMAIL_1__ c@x.org"
    assert "@x.org" not in request_text(ran.wire.prompts)


def test_two_turns_at_once_keep_their_halves_apart() -> None:
    privacy = Privacy()

    async def main() -> list[str]:
        chats = [Chat(wire=ScriptedWire(["It is __MASK_EMAIL_1__."]), plugins=[privacy]) for _ in range(2)]
        turns = [chat.start(f"Who is {MAIL}?") for chat in chats]
        return [(await turn).text for turn in turns]

    assert asyncio.run(main()) == [f"It is {MAIL}."] * 2


def test_a_wrong_pattern_is_refused_when_the_plugin_is_made() -> None:
    with pytest.raises(BadUsage, match="not a regular expression"):
        Privacy(patterns={"ticket": "("})
