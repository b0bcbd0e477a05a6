"""Policy files: where they are, what may stand in them, and that everything else stops nbtool."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from nbtool.errors import PolicyRefused, PolicyUnreadable
from nbtool.policy.file import MAX_BYTES, read_policy_file, system_path
from nbtool.policy.site import SitePolicy

INVALID = {
    "[hosts": "it is not TOML",
    "[host]\nmodels = []": "host: there is no such setting",
    "[hosts]\nmodel = []": "hosts.model: there is no such setting",
    "[hosts]\nmodels = 'api.example.org'": "hosts.models: Input should be a valid list",
    "[hosts]\nmodels = [1]": "hosts.models.0: Value error, expected an address as text",
    "[hosts]\nmodels = ['https://user:SECRET@example.org']": "hosts.models.0",
    "[values]\nmay_leave = 'no'": "values.may_leave: Input should be a valid boolean",
    "[approval]\nalways_ask = ['']": "approval.always_ask.0",
    "[approval]\nnever = 'delete_file'": "approval.never",
    "[approval]\nautomatic = 0": "approval.automatic",
    "[budget]\nusd = 0": "budget.usd: Input should be greater than 0",
    "[budget]\nusd = inf": "budget.usd",
    "[budget]\ntokens = 1.5": "budget.tokens",
    "[serve]\nallowed = 'never'": "serve.allowed",
    "[journal]\nstorage = 'nowhere'": "journal.storage: Input should be 'disk' or 'memory'",
    "[journal]\ndays = -1": "journal.days",
    "values = false": "values: Input should be a valid dictionary",
}


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "policy.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_rule_is_named_in_one_line_with_its_file_and_place(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)

    with pytest.raises(PolicyUnreadable) as invalid:
        read_policy_file(path, is_required=False)

    assert f"The policy {path} is invalid: " in str(invalid.value)
    assert INVALID[text] in str(invalid.value)
    assert "\n" not in str(invalid.value)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"#" * (MAX_BYTES + 1)])
def test_a_file_that_is_no_text_or_too_large_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(PolicyUnreadable, match=r"policy\.toml"):
        read_policy_file(write(tmp_path, data), is_required=False)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").mkdir()

    with pytest.raises(PolicyUnreadable, match="cannot be read"):
        read_policy_file(tmp_path / "policy.toml", is_required=False)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may read every file")
def test_a_file_that_the_user_may_not_read_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.chmod(0)

    with pytest.raises(PolicyUnreadable, match="Permission denied"):
        read_policy_file(path, is_required=False)


def test_only_a_system_without_the_file_has_no_policy(tmp_path: Path) -> None:
    missing = tmp_path / "policy.toml"

    assert read_policy_file(missing, is_required=False) is None
    assert read_policy_file(missing / "below", is_required=False) is None
    assert SitePolicy.read(system=missing) == SitePolicy()
    with pytest.raises(PolicyUnreadable, match="does not exist"):
        SitePolicy.read(str(missing), missing).check_readable()


def test_an_unreadable_policy_refuses_everything_that_it_could_limit(tmp_path: Path) -> None:
    policy = SitePolicy.read(system=write(tmp_path, "[hosts"))

    with pytest.raises(PolicyUnreadable):
        policy.check_model_url("https://api.example.org")
    with pytest.raises(PolicyUnreadable):
        policy.check_custom_endpoint(object())
    with pytest.raises(PolicyUnreadable):
        policy.check_mcp_command("server", [])
    with pytest.raises(PolicyUnreadable):
        policy.check_serving()
    with pytest.raises(PolicyRefused):
        policy.check_values("df")
    assert not policy.values_may_leave
    assert policy.rule_to_ask("any")
    assert policy.rule_of_person


def test_of_two_files_the_stricter_rule_applies_and_its_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "named").mkdir()
    system = write(tmp_path, "[hosts]\nmodels=['a.example.org']\n[budget]\nusd=5\n[journal]\ndays=30\nstorage='disk'")
    named = write(
        tmp_path / "named",
        "[hosts]\nmodels=['a.example.org', 'b.example.org']\n[budget]\nusd=9\ntokens=100\n"
        "[values]\nmay_leave=false\n[journal]\ndays=7\nstorage='memory'",
    )
    policy = SitePolicy.read(str(named), system)

    policy.check_model_url("https://a.example.org/v1")
    with pytest.raises(PolicyRefused, match=str(system)):
        policy.check_model_url("https://b.example.org/v1")
    with pytest.raises(PolicyRefused, match=str(named)):
        policy.check_values("df")
    assert policy.budget("usd") == (5, str(system))
    assert policy.budget("tokens") == (100, str(named))
    assert (policy.journal_storage, policy.journal_days) == ("memory", 7)


def test_hosts_that_are_not_listed_are_not_reached(tmp_path: Path) -> None:
    policy = SitePolicy.read(system=write(tmp_path, "[hosts]\nmcp_commands = ['/opt/a', 'uvx tickets --read']"))

    policy.check_mcp_command("/opt/a", ["any", "arguments"])
    policy.check_mcp_command("uvx", ["tickets", "--read"])
    for command, args in (("uvx", ["tickets"]), ("uvx", ["tickets", "--read", "--write"]), ("/opt/a b", []), ("a", [])):
        with pytest.raises(PolicyRefused, match="does not allow the MCP server"):
            policy.check_mcp_command(command, args)
    with pytest.raises(PolicyRefused, match="Allowed: none"):
        policy.check_model_url("https://api.openai.com/v1")
    with pytest.raises(PolicyRefused, match=r"the proxy 10\.0\.0\.1:3128"):
        policy.check_proxies(["http://user:SECRET@10.0.0.1:3128"])


def test_a_refusal_repeats_no_password_of_a_proxy(tmp_path: Path) -> None:
    policy = SitePolicy.read(system=write(tmp_path, "[hosts]"))

    for address in ("http://me:SECRET@proxy.example.org", "socks5://SECRET@h:1", "http://SECRET@[bad"):
        with pytest.raises(PolicyRefused) as refused:
            policy.check_proxies([address])
        assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("delete_*", ("delete_rows", "", "__main__.delete_rows")),
        ("DELETE_*", ("delete_rows", "", "__main__.delete_rows")),
        ("tickets.*", ("tickets_close", "tickets.close", "mcp.tickets.close")),
        ("nbtool.files.*", ("write_file", "", "nbtool.files.write_file")),
        ("*", ("any", "", "")),
    ],
)
def test_a_rule_names_a_tool_by_its_name_its_servers_name_or_its_origin(
    tmp_path: Path, pattern: str, names: tuple[str, ...]
) -> None:
    policy = SitePolicy.read(system=write(tmp_path, f"[approval]\nalways_ask = ['{pattern}']"))

    assert pattern in policy.rule_to_ask(*names)
    assert not policy.rule_to_ask("other") or pattern == "*"
    assert not policy.rule_to_refuse(*names)
    forbidding = SitePolicy.read(system=write(tmp_path, f"[approval]\nnever = ['{pattern}']"))
    assert pattern in forbidding.rule_to_refuse(*names)
    assert not forbidding.rule_to_refuse("other") or pattern == "*"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("[approvals]", "hosts, values, approval, budget, serve, journal, audit"),
        ("[approval]\nforbid = ['a']", "never, always_ask, automatic"),
        ("[budget.prices]\n'a/b' = {input = 1.0, output = 2.0, cache = 1.0}", "input, output, cached"),
    ],
)
def test_a_setting_that_does_not_exist_lists_those_that_do(tmp_path: Path, text: str, known: str) -> None:
    problem = SitePolicy.read(system=write(tmp_path, text)).problem

    assert known in str(problem)


@pytest.mark.skipif(sys.platform != "linux", reason="the paths of Linux")
def test_the_systems_file_depends_on_nothing_that_a_user_can_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "HOME", "NBTOOL_HOME", "PROGRAMDATA", "ALLUSERSPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))

    assert system_path() == Path("/etc/xdg/nbtool/policy.toml")
