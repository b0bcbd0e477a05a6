"""The second parameter of a policy: what the person typed, and what came from outside."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from nbtool import Policy, PolicyContext, tool
from nbtool.errors import BadUsage
from nbtool.tools.approval import RunMode
from nbtool.tools.approval.context import UNKNOWN
from nbtool.tools.tool import TOOL_ATTRIBUTE

KNOWN = PolicyContext("pay", "call_1", "turn_1", ("Pay the rent.",), ())


def first_prompt(context: PolicyContext) -> RunMode:
    return "auto" if context is KNOWN else "ask_always"


class Rule:
    def __call__(self, _: Mapping[str, Any], context: PolicyContext) -> RunMode:
        return first_prompt(context)

    def method(self, _: Mapping[str, Any], context: PolicyContext) -> RunMode:
        return first_prompt(context)


def annotated(_: Mapping[str, Any], known: PolicyContext) -> RunMode:
    return first_prompt(known)


def annotated_optional(_: Mapping[str, Any], limit: int = 3, known: PolicyContext | None = None) -> RunMode:
    return first_prompt(known) if known and limit else "ask_once"


def keyword_only(_: Mapping[str, Any], *, context: PolicyContext) -> RunMode:
    return first_prompt(context)


def positional_only(_: Mapping[str, Any], known: PolicyContext, /) -> RunMode:
    return first_prompt(known)


def evaluated_annotation() -> Callable[..., RunMode]:
    def policy(_: Mapping[str, Any], known: Any = None) -> RunMode:
        return first_prompt(known)

    policy.__annotations__["known"] = PolicyContext | None
    return policy


TAKES_CONTEXT: dict[str, Callable[..., RunMode]] = {
    "a lambda with two parameters": lambda _, about: first_prompt(about),
    "a parameter of the name with a default": lambda _, context=None: first_prompt(context),
    "annotated as text": annotated,
    "annotated, optional, third": annotated_optional,
    "an evaluated union": evaluated_annotation(),
    "keyword only": keyword_only,
    "positional only": positional_only,
    "an instance": Rule(),
    "a bound method": Rule().method,
    "a partial": functools.partial(annotated_optional, limit=5),
}

TAKES_ARGUMENTS: dict[str, Callable[..., RunMode]] = {
    "one parameter": lambda _: "auto",
    "one parameter of the other's name": lambda context: "auto" if "n" in context else "ask_always",
    "another default": lambda _, limit=3: "auto" if limit == 3 else "ask_always",
    "any arguments": lambda *values: "auto" if len(values) == 1 else "ask_always",
    "other keywords": lambda _, **others: "ask_always" if others else "auto",
}


@pytest.mark.parametrize("kind", TAKES_CONTEXT)
def test_a_policy_gets_the_context_by_its_signature(kind: str) -> None:
    assert Policy(run=TAKES_CONTEXT[kind]).run_mode({"n": 1}, KNOWN) == "auto"


@pytest.mark.parametrize("kind", TAKES_ARGUMENTS)
def test_a_policy_of_the_arguments_alone_works_as_before(kind: str) -> None:
    assert Policy(run=TAKES_ARGUMENTS[kind]).run_mode({"n": 1}, KNOWN) == "auto"


def test_a_function_without_a_signature_gets_the_arguments() -> None:
    modes = type("Modes", (dict,), {"__signature__": "none", "__call__": lambda *_: "auto"})

    assert Policy(run=modes()).run_mode({}, KNOWN) == "auto"


def test_a_policy_for_results_gets_the_context_too() -> None:
    policy = Policy(result=lambda _, context: "always" if context.outside else "never")

    assert (policy.result_mode({}, KNOWN), policy.result_mode({})) == ("never", "always")


def test_without_a_turn_everything_counts_as_from_outside_and_nothing_as_typed() -> None:
    seen: list[PolicyContext] = []
    Policy(run=lambda _, context: seen.append(context) or "auto").run_mode({})

    assert (seen[0].prompts, seen[0].outside, seen[0].has_read_outside) == ((), (UNKNOWN,), True)


def test_a_policy_cannot_change_the_context_or_the_arguments() -> None:
    def policy(arguments: dict[str, Any], context: PolicyContext) -> RunMode:
        arguments["n"].append(2)
        context.prompts = ()  # type: ignore[misc]  # this is what fails
        return "auto"

    arguments: dict[str, Any] = {"n": [1]}
    with pytest.raises(FrozenInstanceError):
        Policy(run=policy).run_mode(arguments, KNOWN)
    assert arguments == {"n": [1]}


@pytest.mark.parametrize("policy", [lambda _, first, second: first or second, lambda _, *, limit: limit])
def test_a_policy_with_a_parameter_that_nothing_fills_is_refused_when_it_is_set(policy: Any) -> None:
    with pytest.raises(BadUsage, match="has a parameter that nothing fills") as refused:
        tool(run=policy)
    assert "the context if it has a second parameter" in refused.value.fix


def test_reads_outside_is_yes_or_no_and_survives_pickling() -> None:
    @tool(reads_outside=False)
    def own() -> int:
        "Return a number."
        return 1

    options = getattr(own, TOOL_ATTRIBUTE)

    assert pickle.loads(pickle.dumps(options)).reads_outside is False
    with pytest.raises(BadUsage, match="reads_outside cannot be a str"):
        tool(reads_outside="no")  # type: ignore[call-overload]  # this is what fails
