"""The policy that asks after a text from outside, unless the person typed where the call goes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from nbtool import Approved, Chat, PolicyContext, ask_after_outside_text, tool
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import OutsideText, Question
from nbtool.tools.approval.typed_text import find_addresses
from tests.cpu_time import check_growth, run_within

PROMPT = (
    "Pay 'Foo Bar' the rent: GB29NWBK60161331926819, 1200.50, and send a copy to anna@example.org. "
    "See (https://example.org/a?b=1), account 1234 5678 9012, file notes.txt, id 77812345 and room Kiel-204; AB"
)
TYPED = [
    "anna@example.org", "GB29NWBK60161331926819", "Foo Bar", "https://example.org/a?b=1", "1234 5678 9012", "notes.txt",
    "Kiel-204", 77812345, 77812345.0, ["anna@example.org", "Kiel-204"], {"rent": "Kiel-204"},
]  # fmt: skip
NOT_TYPED = [
    "AB",  # fewer than four characters
    "eve@example.org", "anna@example.org.evil.net", "nna@example.org", "anna", "example.org", "notes", "Kiel", "204",
    "Anna@example.org", "ANNA@EXAMPLE.ORG",  # another case
    "\u0430nna@example.org",  # a Cyrillic letter
    "anna@example.org\u200b", "anna@exam\u00adple.org", "\u202eanna@example.org",  # invisible characters
    "anna@example.org\n", " anna@example.org", "anna@example.org\nBcc: eve@example.org", "anna@example.org\x00",
    "anna\uff20example.org", "anna@example\u3002org",  # other forms of @ and of the dot
    "Foo  Bar", "Foo\u00a0Bar", "Bar the", "Foo", "GB29 NWBK 6016 1331 9268 19", "1234 5678", "5678 9012 3",
    "https://example.org/a?b=1&c=secret", "https://example.org/a", "7781234", "$VAR_REF{{anna}}",
    ["anna@example.org", "eve@example.org"], {"anna@example.org": "eve@example.org"}, {"evil@x": "Kiel-204"},
    "", None, [], {}, [""], True, 204,
]  # fmt: skip

READ = (OutsideText("read_mail", "call_1"),)


def context(*prompts: str, outside: tuple[OutsideText, ...] = READ) -> PolicyContext:
    return PolicyContext("send", "call_2", "turn_1", prompts or (PROMPT,), outside)


def mode(arguments: dict[str, Any], *destinations: str, optional: Any = (), about: PolicyContext | None = None) -> str:
    return ask_after_outside_text(*destinations, optional=optional)(arguments, about or context())


@pytest.mark.parametrize("destination", TYPED, ids=repr)
def test_what_the_person_typed_runs(destination: Any) -> None:
    assert mode({"to": destination, "text": "Hello"}, "to") == "auto"


@pytest.mark.parametrize("destination", NOT_TYPED, ids=ascii)
def test_what_the_person_did_not_type_asks(destination: Any) -> None:
    assert mode({"to": destination, "text": "Hello"}, "to") == "ask_always"
    assert mode({"to": destination, "text": "Hello"}, "to", about=context(outside=())) == "auto"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello", "auto"),
        ("See https://example.org/a?b=1 and notes.txt.", "auto"),
        ("The meeting is on 2026-11-27 10:30, for 1200.50, in 15 minutes, e.g. there.", "auto"),
        ("See https://evil.net/x", "ask_always"),
        ("See evil.net", "ask_always"),
        ("See evil\uff0enet or evil\u2024net", "ask_always"),
        ("See ev\u200bil.net", "ask_always"),
        ("Write to eve at once: eve\uff20evil", "ask_always"),
        ("Go to 10.20.30.40", "ask_always"),
        ("Go to fe80::1", "ask_always"),
        ("Call 0171 234 5678", "ask_always"),
        ("Call \u0660\u0661\u0667\u0661\u0662\u0663\u0664\u0665", "ask_always"),
        ("Pay to DE89370400440532013000", "ask_always"),
        ("What $VAR_REF{{mail_1_result}} says", "ask_always"),
        (["nested", {"text": "See evil.net"}], "ask_always"),
        ({"evil.net": 1}, "ask_always"),
        (98765432, "ask_always"),
    ],
    ids=ascii,
)
def test_each_address_long_number_and_reference_of_any_argument_has_to_be_typed(text: Any, expected: str) -> None:
    assert mode({"to": "anna@example.org", "text": text}, "to") == expected


def test_a_destination_that_is_missing_asks_unless_it_is_optional() -> None:
    assert mode({"text": "Hello"}, "to") == "ask_always"
    assert mode({"to": "anna@example.org"}, "to", "via") == "ask_always"
    assert mode({"to": "anna@example.org", "cc": []}, "to", optional=["cc"]) == "auto"
    assert mode({"to": "anna@example.org", "cc": ["eve@example.org"]}, "to", optional=("cc",)) == "ask_always"
    assert mode({}, optional=("cc",)) == "auto"


def test_without_names_every_argument_is_a_destination() -> None:
    assert mode({"to": "anna@example.org"}) == "auto"
    assert mode({"to": "anna@example.org", "text": "Hello"}) == "ask_always"
    assert mode({}) == "ask_always"


def test_earlier_prompts_count_and_two_prompts_are_not_one() -> None:
    assert mode({"to": "anna@example.org"}, "to", about=context(PROMPT, "Go on.")) == "auto"
    assert mode({"to": "Foo Bar"}, "to", about=context("Pay Foo", "Bar is closed.")) == "ask_always"


@pytest.mark.parametrize("name", ["", "two words"])
def test_a_destination_is_the_name_of_a_parameter(name: Any) -> None:
    with pytest.raises(BadUsage, match="is the name of a parameter"):
        ask_after_outside_text(name)
    with pytest.raises(BadUsage, match="is the name of a parameter"):
        ask_after_outside_text("to", optional=[name])


def test_addresses_are_found_as_they_are_written() -> None:
    assert list(find_addresses("a 1 23 456 78 b, <x@y.zz>. 2026-11-27")) == ["x@y.zz", "1 23 456 78"]


@pytest.mark.parametrize("name", ["evil.net", "evil-_.net", "_a_-.net", "a.bc1", "1.zz", "-a--b__.xy"])
@pytest.mark.parametrize("other", ["evil.n", "evil..", "_-.net", ".net", "a.1b", "a.b1c", "a.b_c"])
def test_a_name_with_a_dot_has_a_letter_or_digit_before_it_and_two_letters_behind(name: str, other: str) -> None:
    assert list(find_addresses(f"see {name} and {other}")) == [name]


def test_a_long_text_that_was_nearly_typed_is_compared_in_linear_time() -> None:
    def compare(count: int) -> None:
        typed, given = "Foo Bar " * count, "Foo Bar " * (count // 2) + "Foo Bax"
        assert mode({"to": given}, "to", about=context(typed)) == "ask_always"
        assert mode({"to": given[:-1] + "r"}, "to", about=context(typed)) == "auto"

    check_growth(compare, (2_000, 20_000), room=3)


def test_several_words_are_found_wherever_they_were_typed_also_where_they_nearly_repeat_before() -> None:
    letters = random.Random(7)
    for _ in range(2_000):
        typed = letters.choices("abc", k=letters.randint(1, 12))
        given = letters.choices("abc", k=letters.randint(2, 6))
        about = context(" ".join(f"word-{one}" for one in typed))

        is_typed = any(typed[at : at + len(given)] == given for at in range(len(typed)))
        wanted = "auto" if is_typed else "ask_always"
        assert mode({"to": " ".join(f"word-{one}" for one in given)}, "to", about=about) == wanted, (typed, given)


def test_whether_a_long_word_is_a_number_takes_linear_time() -> None:
    run_within(0.2, lambda: list(find_addresses("1" * 50_000 + "a")))


def test_a_name_of_no_parameter_is_refused_where_the_tool_is_made() -> None:
    def send(to: str, ccuser: str = "") -> None:
        "Send."

    with pytest.raises(BadUsage, match=r"names 'cc_user', which is no parameter of the tool 'send'.*: to, ccuser\."):
        Chat(tools=[tool(run=ask_after_outside_text("to", optional=("cc_user",)))(send)])
    with pytest.raises(BadUsage, match="names 'recipient'"):
        Chat(tools=[tool(run=ask_after_outside_text("recipient"))(send)])


def test_what_a_function_takes_beyond_its_parameters_may_be_named() -> None:
    def send(**fields: str) -> None:
        "Send."

    assert Chat(tools=[tool(run=ask_after_outside_text("to"))(send)]).tools.tools().keys() == {"send"}


@pytest.mark.parametrize(
    ("arguments", "names", "expected"),
    [
        ({"to": "eve@example.org"}, ("to",), "you did not type 'eve@example.org'"),
        ({"to": "anna@example.org", "text": "or eve@example.org"}, ("to",), "you did not type 'eve@example.org'"),
        ({"to": ""}, ("to",), "`to` is empty"),
        ({}, (), "it has no argument that says where it goes"),
        ({"to": "anna@example.org"}, ("to",), ""),
        ({"to": "Foo"}, ("to",), "'Foo' is too short to count as typed: it has fewer than 4 characters"),
        (
            {"to": "Anna@example.org"},
            ("to",),
            "you typed 'Anna@example.org' in another way: only the same letters as whole words count",
        ),
    ],
)
def test_a_question_says_why_it_is_asked(arguments: dict[str, Any], names: tuple[str, ...], expected: str) -> None:
    reason = ask_after_outside_text(*names).explain(arguments, context())

    start = "It asks because the model has read a text from outside (read_mail), and "
    assert reason == (f"{start}{expected}." if expected else "")
    assert ask_after_outside_text(*names).explain(arguments, context(outside=())) == ""


def test_the_reason_is_on_the_card_and_a_policy_of_ones_own_may_have_one() -> None:
    class OnMonday:
        def __call__(self, _: dict[str, Any]) -> str:
            return "ask_always"

        def explain(self, arguments: dict[str, Any], context: PolicyContext) -> str:
            return f"It is Monday, {arguments['to']}: {context.tool}."

    questions: list[Question] = []

    def approve(question: Question) -> Approved:
        questions.append(question)
        return Approved()

    def send(to: str) -> str:
        "Send."
        return to

    with ScriptedWire([[call("send", to="Anna")], "Done."]) as wire:
        Chat(wire=wire, tools=[tool(run=OnMonday())(send)], approver=approve).send("Go")

    assert [question.notes for question in questions] == [("It is Monday, Anna: send.",)]
