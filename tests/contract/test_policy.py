"""What an administrator has forbidden, whatever a user sets. A process reads a policy once: each test has its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.notebook import run_process
from tests.contract.simulator import Provider, call, simulate

SECRET = "Zanzibar"
ATTEMPTS = f"""
import json, sys
from nbtool import Approved, Chat, Released, tool
found = {{}}

def attempt(name, work):
    try:
        turn = work()
        found[name] = {{"status": turn.status, "told": f"{{turn.error}} {{[one.text for one in turn.notices]}}",
                        "calls": [one.status for one in turn.calls]}}
    except BaseException as error:
        found[name] = {{"status": "refused", "told": str(error), "calls": []}}

ran = []

@tool(run="auto")
def look_up(name: str) -> str:
    "Look somebody up."
    ran.append(name)
    if name == "nobody":
        raise ValueError("{SECRET}")
    return "{SECRET}"

def chat(url, **settings):
    return Chat("tiny", wire="chat", base_url=url, api_key="sk-of-the-user", tools=[look_up], **settings)

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


@pytest.fixture
def other() -> Iterator[Provider]:
    """Give a provider that no policy lists."""
    with simulate() as provider:
        provider.always("Hello.")
        yield provider


@pytest.mark.promise("policy-hosts")
def test_nothing_is_sent_to_an_address_that_is_not_listed(home: Path, model: Provider, other: Provider) -> None:
    model.say("Hello.")
    (home / "providers.toml").write_text(f'[lab]\nbase_url = "{other.url}"\nwire = "chat"\n', encoding="utf-8")

    result = attempt(
        home, f'[hosts]\nmodels = ["{model.host}"]\n',
        f"attempt('listed', lambda: chat({model.url!r}).send('hi'))\n"
        f"attempt('argument', lambda: chat({other.url!r}).send('private'))\n"
        "attempt('environment', lambda: Chat().send('private'))\n"
        "attempt('file', lambda: Chat('lab:tiny', api_key='x').send('private'))\n"
        f"attempt('map', lambda: chat({other.url!r}).map(['private'], progress=False)[0].turn)\n"
        f"attempt('proxy', lambda: chat({model.url!r}, proxy={other.host!r}).send('private'))\n",
        NBTOOL_MODEL="ollama:tiny", OLLAMA_HOST=other.host,
    )  # fmt: skip

    assert result["found"].pop("listed")["status"] == "completed"
    assert all("policy.toml" in one["told"] or one["status"] == "refused" for one in result["found"].values())
    assert "private" not in other.everything + model.everything


@pytest.mark.promise("policy-values")
def test_no_value_leaves_where_none_may_also_if_somebody_releases_it(home: Path, model: Provider) -> None:
    model.say(call("look_up", name="ada"), call("look_up", name="nobody"), "Fine.")
    model.always("Fine.")

    result = attempt(
        home, "[values]\nmay_leave = false\n",
        f"lab = chat({model.url!r}, approver=yes, check_results=True)\n"
        "attempt('result', lambda: lab.send('hi'))\n"
        f"attempt('readable', lambda: lab.expose(read=True, note='{SECRET}') or lab.send('hi'))\n"
        f"attempt('attachment', lambda: lab.send('hi', attach=[b'{SECRET}']))\n",
    )  # fmt: skip

    assert result["found"]["result"]["status"] == "completed"
    assert result["ran"] == ["ada", "nobody"]
    assert "ValueError" in model.everything
    assert SECRET not in model.everything


@pytest.mark.promise("policy-asks")
@pytest.mark.parametrize("pattern", ["LOOK_*", "*"])
def test_a_tool_that_a_policy_names_never_runs_without_a_person(home: Path, model: Provider, pattern: str) -> None:
    model.say(call("look_up", name="ada"), "I may not.")

    result = attempt(
        home, f'[approval]\nalways_ask = ["{pattern}"]\n',
        f"attempt('approver', lambda: chat({model.url!r}, approver=yes).send('hi'))\n",
    )  # fmt: skip

    assert result["found"]["approver"]["calls"] == ["denied"]
    assert result["ran"] == []


@pytest.mark.promise("policy-limits")
def test_nothing_is_sent_after_the_budget_of_a_kernel_is_spent(home: Path, model: Provider) -> None:
    model.say("Hello.")

    result = attempt(
        home, "[budget]\ntokens = 10\n",
        f"attempt('first', lambda: chat({model.url!r}).send('hi'))\n"
        f"attempt('second', lambda: chat({model.url!r}).send('private'))\n",
    )  # fmt: skip

    assert len(model.requests) <= 1
    assert result["found"]["second"]["status"] != "completed"
    assert "private" not in model.everything


@pytest.mark.promise("policy-limits")
def test_nothing_is_served_if_the_policy_says_so(home: Path) -> None:
    code = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbtool")
shell.user_ns["df"] = [1]
shell.run_cell("%chat serve -v df")
"""
    (home / "policy.toml").write_text("[serve]\nallowed = false\n", encoding="utf-8")

    printed = run_process(code, home, NBTOOL_POLICY=str(home / "policy.toml"))

    assert "policy.toml" in printed
    assert "nbtool-mcp" not in printed


@pytest.mark.promise("policy-unreadable")
@pytest.mark.parametrize("policy", ["[host]\nmodels = []\n", "not toml"], ids=repr)
def test_nothing_is_sent_while_a_policy_cannot_be_read(home: Path, model: Provider, policy: str) -> None:
    result = attempt(home, policy, f"attempt('any', lambda: chat({model.url!r}).send('private'))\n")

    assert "policy.toml" in result["found"]["any"]["told"]
    assert model.requests == []


def test_a_policy_can_be_checked_and_described_in_words(home: Path) -> None:
    (home / "good.toml").write_text('[hosts]\nmodels = ["api.example.org"]\n', encoding="utf-8")
    (home / "bad.toml").write_text("[hots]\n", encoding="utf-8")
    code = (
        "import runpy, sys; sys.argv = ['nbtool.policy', {!r}]; runpy.run_module('nbtool.policy', run_name='__main__')"
    )

    good = run_process(code.format(str(home / "good.toml")), home)
    bad = run_process(code.format(str(home / "bad.toml")), home, fails=True)

    assert "api.example.org" in good
    assert "hots" in bad
