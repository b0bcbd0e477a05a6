"""What an administrator forbids holds whatever a user sets: hosts, values, questions, limits, serving.

A process reads a policy once, so each policy has a process of its own; one that cannot be read sends nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.notebook import run_process
from tests.contract.simulator import Provider, call, simulate
from tests.contract.tools import SECRET

ATTEMPTS = f"""
import json
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbtool import Approved, Chat, Released, tool
found, ran = {{}}, []

def attempt(name, work):
    try:
        turn = work()
        found[name] = {{"status": turn.status, "text": f"{{turn.error}} {{[one.text for one in turn.notices]}}",
                        "calls": [one.status for one in turn.calls]}}
    except Exception as error:
        found[name] = {{"status": "refused", "text": str(error), "calls": []}}

@tool(run="auto")
def look_up(name: str) -> str:
    "Look somebody up."
    ran.append(name)
    if name == "nobody":
        raise ValueError("{SECRET}")
    return "{SECRET}"

@tool(run="auto")
def pay_all(amount: int) -> str:
    "Pay an amount."
    ran.append(amount)
    return "paid"

def chat(url, **settings):
    return Chat("tiny", wire="chat", base_url=url, api_key="sk-of-the-user", tools=[look_up, pay_all], **settings)

def yes(question):
    return Approved() if question.gate == "run" else Released()
"""
END = "\nprint('FOUND', json.dumps({'found': found, 'ran': ran}))\n"


def attempt(folder: Path, policy: str, code: str, **environment: str) -> dict[str, Any]:
    """Try something under a policy, and give what came of it."""
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    printed = run_process(ATTEMPTS + code + END, folder, NBTOOL_POLICY=str(folder / "policy.toml"), **environment)
    found: dict[str, Any] = json.loads(printed.split("FOUND ")[1].splitlines()[0])
    return found


@dataclass
class Attempts:
    """What came of the attempts of a user under one strict policy."""

    found: dict[str, Any]
    ran: list[Any]
    allowed: Provider
    forbidden: Provider


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attempts]:
    """Try everything that one strict policy forbids, in one process."""
    home = tmp_path_factory.mktemp("strict")
    with simulate() as allowed, simulate() as forbidden:
        forbidden.always("Hello.")
        allowed.say(
            "Hello.", call("look_up", name="ada"), call("look_up", name="nobody"), "Fine.",
            call("pay_all", amount=1), "I may not.",
        )  # fmt: skip
        lab = f'[lab]\nbase_url = "{forbidden.url}"\nwire = "chat"\n'
        (home / "providers.toml").write_text(lab, encoding="utf-8")
        policy = (
            f'[hosts]\nmodels = ["{allowed.host}"]\n[values]\nmay_leave = false\n'
            '[approval]\nalways_ask = ["PAY_*"]\n[serve]\nallowed = false\n'
        )
        code = f"""
attempt("listed", lambda: chat({allowed.url!r}).send("hi"))
attempt("argument", lambda: chat({forbidden.url!r}).send("private"))
attempt("environment", lambda: Chat().send("private"))
attempt("file", lambda: Chat("lab:tiny", api_key="x").send("private"))
attempt("map", lambda: chat({forbidden.url!r}).map(["private"], progress=False)[0].turn)
attempt("proxy", lambda: chat({allowed.url!r}, proxy={forbidden.host!r}).send("private"))
attempt("result", lambda: chat({allowed.url!r}, approver=yes, check_results=True).send("hi"))
attempt("readable", lambda: chat({allowed.url!r}).expose(read=True, note="{SECRET}"))
attempt("attachment", lambda: chat({allowed.url!r}).send("hi", attach=[b"{SECRET}"]))
attempt("approver", lambda: chat({allowed.url!r}, approver=yes).send("hi"))
shell = InteractiveShell.instance()
shell.user_ns["df"] = [1]
with capture_output() as shown:
    shell.run_line_magic("load_ext", "nbtool")
    shell.run_cell("%chat serve -v df")
found["serve"] = {{"status": "shown", "text": shown.stdout + shown.stderr, "calls": []}}
"""
        result = attempt(home, policy, code, NBTOOL_MODEL="ollama:tiny", OLLAMA_HOST=forbidden.host)
        yield Attempts(result["found"], result["ran"], allowed, forbidden)


@pytest.mark.promise("policy-hosts")
def test_an_address_that_is_listed_is_used(strict: Attempts) -> None:
    assert strict.found["listed"]["status"] == "completed"


@pytest.mark.promise("policy-hosts")
@pytest.mark.parametrize("way", ["argument", "environment", "file", "map", "proxy"])
def test_nothing_is_sent_to_an_address_that_is_not_listed_however_it_is_named(strict: Attempts, way: str) -> None:
    assert "policy.toml" in strict.found[way]["text"], strict.found[way]
    assert "private" not in strict.forbidden.everything
    assert "private" not in strict.allowed.everything


@pytest.mark.promise("policy-values")
def test_no_result_and_no_text_of_an_error_leaves_also_if_somebody_releases_it(strict: Attempts) -> None:
    assert strict.found["result"]["status"] == "completed"
    assert strict.ran[:2] == ["ada", "nobody"]
    assert "ValueError" in strict.allowed.everything
    assert SECRET not in strict.allowed.everything


@pytest.mark.promise("policy-values")
@pytest.mark.parametrize("way", ["readable", "attachment"])
def test_no_variable_is_readable_and_nothing_is_attached(strict: Attempts, way: str) -> None:
    assert strict.found[way]["status"] in {"refused", "error"}
    assert "policy.toml" in strict.found[way]["text"]


@pytest.mark.promise("policy-asks")
def test_no_approver_in_code_can_approve_a_tool_that_a_policy_names(strict: Attempts) -> None:
    assert strict.found["approver"]["calls"] == ["denied"]
    assert 1 not in strict.ran


@pytest.mark.promise("policy-forbids")
@pytest.mark.feature("forbid a tool")
def test_a_tool_that_a_policy_forbids_does_not_run_although_it_is_approved(home: Path, model: Provider) -> None:
    model.say(call("pay_all", amount=1), "I may not.")

    result = attempt(
        home, '[approval]\nnever = ["PAY_*"]\n',
        f"attempt('forbidden', lambda: chat({model.url!r}, approver=yes).send('Pay.'))\n",
    )  # fmt: skip

    assert (result["found"]["forbidden"]["calls"], result["ran"]) == (["denied"], [])
    assert "policy.toml" in model.requests[1].text


@pytest.mark.promise("policy-limits")
def test_nothing_is_served_if_the_policy_says_so(strict: Attempts) -> None:
    assert "policy.toml" in strict.found["serve"]["text"]
    assert "nbtool-mcp" not in strict.found["serve"]["text"]


@pytest.mark.promise("policy-limits")
def test_nothing_is_sent_after_the_budget_of_a_kernel_is_spent(home: Path, model: Provider) -> None:
    model.say("Hello.")

    result = attempt(
        home, "[budget]\ntokens = 10\n",
        f"attempt('first', lambda: chat({model.url!r}).send('hi'))\n"
        f"attempt('second', lambda: chat({model.url!r}).send('private'))\n",
    )  # fmt: skip

    assert result["found"]["second"]["status"] != "completed"
    assert "private" not in model.everything


@pytest.mark.promise("policy-unreadable")
@pytest.mark.parametrize("policy", ["[host]\nmodels = []\n", "not toml"], ids=repr)
def test_nothing_is_sent_while_a_policy_cannot_be_read(home: Path, model: Provider, policy: str) -> None:
    result = attempt(home, policy, f"attempt('any', lambda: chat({model.url!r}).send('private'))\n")

    assert "policy.toml" in result["found"]["any"]["text"]
    assert model.requests == []


def test_a_policy_can_be_checked_and_described_in_words(home: Path) -> None:
    (home / "good.toml").write_text('[hosts]\nmodels = ["api.example.org"]\n', encoding="utf-8")
    (home / "bad.toml").write_text("[hots]\n", encoding="utf-8")
    code = (
        "import runpy, sys\nsys.argv = ['nbtool.policy', {!r}]\nrunpy.run_module('nbtool.policy', run_name='__main__')"
    )

    good = run_process(code.format(str(home / "good.toml")), home)
    bad = run_process(code.format(str(home / "bad.toml")), home, fails=True)

    assert "api.example.org" in good
    assert "hots" in bad
