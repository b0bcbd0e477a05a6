"""Each rule of a policy, and every attempt to get around it by a setting, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NO_NETWORK = ROOT / "tests" / "no_network"


NAMED = {"flag", "config", "environment", "env_file", "providers_toml", "argument", "an_unset_variable"}
DERIVED = {"batch", "a_chat_as_a_tool"}


class Found:
    """What came of each attempt: `outcomes` by attempt, and `requests` that a server received."""

    def __init__(self, folder: Path) -> None:
        found = json.loads((folder / "found.json").read_text())
        self.policy = f"policy {folder / 'policy.toml'} "
        self.notes: dict[str, Any] = found["notes"]
        self.outcomes = {name: one["outcome"] for name, one in found["attempts"].items()}
        self.requests = {name: one["requests"] for name, one in found["attempts"].items()}
        self.sent = {name: one["sent"] for name, one in found["attempts"].items()}

    def passed(self, phrase: str) -> dict[str, str]:
        """Return the attempts that were not refused: no phrase in what is shown, or something was sent."""
        attempts = {name: text for name, text in self.outcomes.items() if not name.startswith("control_")}
        return {name: text for name, text in attempts.items() if phrase not in text or self.requests[name]}


def explore(rule: str, folder: Path) -> Found:
    (folder / "home").mkdir()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NBTOOL_")}
    environment = {
        **inherited,
        "NBTOOL_HOME": f"{folder}/home",
        "NBTOOL_POLICY": f"{folder}/policy.toml",
        "PYTHONPATH": f"{NO_NETWORK}{os.pathsep}{ROOT}",
    }
    command = [sys.executable, "-m", f"tests.policy.attempts.{rule}", str(folder)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return Found(folder)


@pytest.mark.promise("policy-hosts")
def test_nothing_is_sent_to_a_host_that_is_not_listed(tmp_path: Path) -> None:
    found = explore("hosts", tmp_path)

    assert found.passed(found.policy) == {}
    assert NAMED | {"batch", "a_chat_of_another_model_as_a_tool", "an_mcp_server_by_url"} <= set(found.outcomes)
    assert not found.notes["key command ran"]
    assert not found.notes["mcp command ran"]
    assert "fine" in found.outcomes["control_an_allowed_address_is_used"]
    assert "completed" in found.outcomes["control_the_practice_model_is_used"]


@pytest.mark.promise("policy-unreadable")
def test_nothing_is_sent_while_a_policy_cannot_be_read(tmp_path: Path) -> None:
    found = explore("unreadable", tmp_path)

    assert found.passed("is invalid: host: ") == {}
    assert "Nothing is sent" in found.outcomes["control_an_allowed_address_is_used"]
    assert "Nothing is sent" in found.outcomes["control_the_practice_model_is_used"]
    assert set(found.outcomes) >= NAMED


@pytest.mark.sampled(1)
@pytest.mark.promise("policy-asks")
@pytest.mark.parametrize("rule", ["approval", "always_ask"])
def test_a_tool_that_always_asks_never_runs_without_a_person(tmp_path: Path, rule: str) -> None:
    found = explore(rule, tmp_path)
    others = {"an_approver_for_another_tool_that_asks", "an_approver_that_claims_to_ask_a_person"}
    control = "control_a_person_approves_from_the_queue"

    ran = {name for name, text in found.outcomes.items() if "ran 0 times" not in text}

    assert ran == ({control, *others} if rule == "always_ask" else {control})
    assert "ran 1 times" in found.outcomes[control]
    assert "deleted 1" in found.outcomes[control]
    assert {"flag", "config", "an_approver_in_python", "a_remembered_approval", "a_script"} <= set(found.outcomes)
    assert {"an_mcp_server", "a_served_client", "running_the_tools_of_a_turn_again"} | DERIVED <= set(found.outcomes)
    refused = ("an_approver_in_python", "batch", "a_chat_as_a_tool", "an_mcp_server", "a_script")
    assert all(found.policy in found.outcomes[name] for name in refused)


@pytest.mark.sampled(1)
@pytest.mark.promise("policy-forbids")
def test_a_forbidden_tool_never_runs_approved_or_not(tmp_path: Path) -> None:
    found = explore("never", tmp_path)
    others = {"an_approver_for_another_tool_that_asks", "an_approver_that_claims_to_ask_a_person"}

    ran = {name for name, text in found.outcomes.items() if "ran 0 times" not in text}

    assert ran == others
    assert {"control_a_person_approves_from_the_queue", "flag", "config", "a_remembered_approval"} <= set(
        found.outcomes
    )
    assert {"a_script", "a_served_client", "running_the_tools_of_a_turn_again"} | DERIVED <= set(found.outcomes)
    refused = set(found.outcomes) - others - {"flag", "config", "a_chat_as_a_tool"}  # whose own turn says it
    assert {name for name in refused if f"{found.policy}forbids " not in found.outcomes[name]} == set()


@pytest.mark.sampled(0)
@pytest.mark.promise("policy-values")
def test_no_value_reaches_a_model_a_client_or_a_server(tmp_path: Path) -> None:
    found = explore("values", tmp_path)

    leaks = {name: text for name, text in found.sent.items() if "SENTINEL" in text or "3700" in text}

    assert leaks == {}
    assert "SENTINEL" not in found.notes["client got"]
    assert not found.notes["image left"]
    assert "a_chat_as_a_tool" in found.outcomes
    assert (
        "The approver failed: ValueError: no limit for SENTINEL (values.py, line"
        in found.outcomes["an_approver_that_fails"]
    )  # which the person reads
    assert "failed (ValueError)" in found.sent["an_approver_that_fails"]
    assert "failed (ValueError)" in found.sent["a_policy_of_a_result_that_fails"]
    assert "(HookFailed was raised." in found.sent["a_plugin_that_fails_in_a_chat_as_a_tool"]
    assert "own check does not accept it" in found.outcomes["an_argument_that_a_check_refuses"]
    refused = ("flag_read", "expose_readable", "flag_attach", "attach", "rows_of_a_batch", "a_column_as_prompts")
    for name in (*refused, "the_cells_of_the_notebook", "a_value_for_an_mcp_server", "a_turn_of_an_earlier_kernel"):
        assert f"{found.policy}allows no values to leave" in found.outcomes[name], name
    assert found.notes["result"] == "SENTINEL"  # a tool in the notebook still gets the object itself
    assert found.notes["told"].startswith("str, 8 characters")
    assert "df (exposed, by reference only): DataFrame, 2 rows by 2 columns" in found.notes["listed"]


@pytest.mark.sampled(0)
@pytest.mark.promise("policy-limits")
def test_a_kernel_spends_no_more_than_the_budget(tmp_path: Path) -> None:
    found = explore("budget", tmp_path)

    assert found.passed("The budget of 1,000 tokens is used up: 1,100 in total.") == {}
    assert found.requests["control_the_first_request_is_sent"] == 1
    assert "completed" in found.outcomes["control_the_practice_model_still_answers"]
    assert "0 prompts" in found.outcomes["an_endpoint_object"]
    assert {"flag", "another_chat", "a_larger_budget_as_plugin", "an_approver_in_python"} | DERIVED <= set(
        found.outcomes
    )


@pytest.mark.sampled(0)
@pytest.mark.promise("policy-limits")
def test_no_price_that_a_user_gives_loosens_a_budget_in_dollars(tmp_path: Path) -> None:
    found = explore("dollars", tmp_path)

    assert found.passed("is unknown to it. Nothing was sent.") == {}
    counted = found.outcomes["control_a_price_of_the_policy_is_counted"]
    assert counted.count("completed") == 1
    assert "The budget of 1 USD is used up: 1.8000 USD in total." in counted
    assert found.requests["control_a_price_of_the_policy_is_counted"] == 1
    assert "completed" in found.outcomes["control_the_practice_model_still_answers"]


@pytest.mark.sampled(0)
@pytest.mark.promise("policy-limits")
def test_serving_is_refused_and_the_journal_kept_as_the_policy_says(tmp_path: Path) -> None:
    found = explore("limits", tmp_path)

    assert f"{found.policy}does not allow `%chat serve`." in found.outcomes["serving_by_the_command"]
    assert f"{found.policy}does not allow `%chat serve`." in found.outcomes["serving_by_hand"]
    assert found.notes == {
        "turns": ["new"],
        "has this turn": True,
        "path": str(tmp_path / "home" / "journal.sqlite"),
        "is file": True,
        "days": 30.0,
    }
    status = found.outcomes["the_status_says_what_is_in_force"]
    assert str(tmp_path / "policy.toml") in status
    assert "is refused" in status
    assert "turns older than 30 days are deleted" in status
