"""The policy in force: the rules of every policy file of this process, read once; the strictest applies."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nbtool.errors import BadUsage, PolicyRefused, PolicyUnreadable
from nbtool.policy.file import ADMINISTRATOR, NAMED_BY, VARIABLE, PolicyFile, read_policy_file, system_path
from nbtool.policy.host_pattern import HostPattern
from nbtool.server_url import ServerUrl, parse_server_url
from nbtool.text import shorten

if TYPE_CHECKING:
    from nbtool.policy.rules import PriceRule

_NAMED_FILE = os.environ.get(VARIABLE, "")
"""Read when the package is imported: a later change of the environment has no effect."""

BY_REFERENCE = (
    "Only names, types and shapes are sent; a tool gets the object itself by reference: "
    "`-v NAME`, or chat.expose(NAME=…)."
)
"""What a person can do with an object whose values may not be sent."""

_own_servers: set[tuple[str, str, int]] = set()

_sent_files: list[PolicyFile] = []
"""Of processes whose turns this one runs."""


@dataclass(frozen=True, slots=True)
class SitePolicy:
    """The policy files in force; with a `problem` nothing may be sent."""

    files: tuple[PolicyFile, ...] = ()
    problem: PolicyUnreadable | None = None

    @classmethod
    def read(cls, named: str = "", system: Path | None = None) -> SitePolicy:
        """Read the system's file, and another one if it is named."""
        try:
            found = (
                read_policy_file(system or system_path(), is_required=False, who=ADMINISTRATOR),
                read_policy_file(Path(named), is_required=True, who=NAMED_BY) if named else None,
            )
        except PolicyUnreadable as error:
            return cls(problem=error)
        return cls(tuple(filter(None, found)))

    def check_readable(self) -> None:
        """Raise PolicyUnreadable if a policy file could not be read."""
        if self.problem:
            raise self.problem.changed()

    def readable_files(self) -> tuple[PolicyFile, ...]:
        """Return the files in force; raises as `check_readable`."""
        self.check_readable()
        return self.files

    def check_model_url(self, url: str) -> None:
        """Check the address of a model.

        Raises:
            PolicyRefused: a policy does not allow it.
            PolicyUnreadable: a policy cannot be read.
        """
        self.check_readable()
        if self.files and _parse_url(url).origin not in _own_servers:
            self._check_url("models", url)

    def allows_model_url(self, url: str) -> bool:
        """Whether a model at this address may be used."""
        try:
            self.check_model_url(url)
        except (PolicyRefused, PolicyUnreadable):
            return False
        return True

    def check_custom_endpoint(self, endpoint: object) -> None:
        """Check an endpoint object: a user's own cannot be held to a list of hosts. Raises as `check_model_url`."""
        self.check_readable()
        for file in self.files:
            if file.rules.hosts and type(endpoint).__module__.partition(".")[0] != "nbtool":
                raise _refusal(file, "an endpoint of your own", file.rules.hosts.models)

    def check_mcp_url(self, url: str) -> None:
        """Check the address of an MCP server; raises as `check_model_url`."""
        self._check_url("mcp", url)

    def check_mcp_command(self, command: str, args: Sequence[str]) -> None:
        """Check the command of an MCP server, which a rule names alone or with all arguments; raises likewise."""
        self.check_readable()
        line = shlex.join([command, *args])
        for file in self.files:
            if file.rules.hosts and not {command, line} & set(file.rules.hosts.mcp_commands):
                shown = f"the MCP server {shorten(command, 80)!r}"
                raise _refusal(file, shown, file.rules.hosts.mcp_commands)

    def check_agent(self, command: str) -> None:
        """Check the absolute command of an agent, which gets the notebook's tools; raises as `check_model_url`."""
        self.check_readable()
        for file in self.files:
            if not file.rules.serve.allowed:
                raise PolicyRefused(f"The policy {file.path} lets no other program call the notebook's tools.")
            if file.rules.hosts and command not in file.rules.hosts.agents:
                raise _refusal(file, f"the agent {shorten(command, 80)!r}", file.rules.hosts.agents)

    def check_page_url(self, url: ServerUrl) -> None:
        """Check the address of a page for a model; raises as `check_model_url`."""
        self._check_url("pages", url)

    def check_proxies(self, addresses: Iterable[str]) -> None:
        """Check the proxies through which requests would go; raises as `check_model_url`."""
        self.check_readable()
        if not any(file.rules.hosts for file in self.files):
            return
        for host, port in map(_parse_proxy, addresses):
            for file in self.files:
                allowed = file.rules.hosts.proxies if file.rules.hosts else None
                if allowed is not None and not any(pattern.matches_proxy(host, port) for pattern in allowed):
                    raise _refusal(file, f"the proxy {host}:{port}", allowed)

    @property
    def values_may_leave(self) -> bool:
        """Whether values may be sent, and not only names, types and shapes; not if a policy cannot be read."""
        return not (self.problem or (self.files and any(not file.rules.values.may_leave for file in self.files)))

    def check_values(self, what: str, fix: str = BY_REFERENCE) -> None:
        """Check that values may be sent. Raises as `check_model_url`.

        Args:
            what: names them, for the error.
            fix: what the person can do instead.
        """
        if refusal := self.values_refusal(what):
            raise PolicyRefused(refusal, fix=fix)

    def values_refusal(self, what: str) -> str:
        """Return why `what` cannot be sent; empty if values may leave."""
        if self.problem:
            return str(self.problem)
        file = next((file for file in self.files if not file.rules.values.may_leave), None)
        return f"The policy {file.path} allows no values to leave, so {what} cannot be sent." if file else ""

    def rule_to_refuse(self, *names: str) -> str:
        """Return why a tool of these names never runs; empty if it may."""
        for file in self.files:
            if pattern := _find_pattern(file.rules.approval.never, names):
                return f"The administrator's policy {file.path} forbids every call of {pattern!r}."
        return "" if not self.problem else str(self.problem)

    def rule_to_ask(self, *names: str) -> str:
        """Return why a tool of these names always asks; empty if it does not."""
        for file in self.files:
            if pattern := _find_pattern(file.rules.approval.always_ask, names):
                return f"The policy {file.path} requires a person's decision on every call of {pattern!r}."
        return "" if not self.problem else str(self.problem)

    @property
    def rule_of_person(self) -> str:
        """Why only a person may approve; empty if an approver in Python may too."""
        if self.problem:
            return str(self.problem)
        files = (file for file in self.files if not file.rules.approval.automatic)
        return next((f"The policy {file.path} requires that a person approves." for file in files), "")

    def check_approve_mode(self, mode: str) -> None:
        """Check the value of `--approve`; raises as `check_model_url`."""
        self.check_readable()
        if mode == "auto" and self.rule_of_person:
            raise PolicyRefused(self.rule_of_person, fix="Use `--approve ask`, or set the default back.")

    @property
    def audit_files(self) -> tuple[Path, ...]:
        """The files that get a line for each decision about a call."""
        named = (file.rules.audit.file for file in self.files)
        return tuple(dict.fromkeys(Path(path).expanduser() for path in named if path))

    def check_serving(self) -> None:
        """Check that a notebook may be served to other programs; raises as `check_model_url`."""
        self.check_readable()
        for file in self.files:
            if not file.rules.serve.allowed:
                raise PolicyRefused(f"The policy {file.path} does not allow `%chat serve`.")

    def files_for_workers(self) -> tuple[PolicyFile, ...]:
        """Return the files for workers that run turns of this process, which counts their budget; raises likewise."""
        return tuple(map(_without_budget, self.readable_files()))

    def budget(self, kind: Literal["usd", "tokens"]) -> tuple[float, str] | None:
        """Return the most that this kernel may spend, and the file that says so; None is no limit."""
        amounts = [(amount, str(file.path)) for file in self.files if (amount := getattr(file.rules.budget, kind))]
        return min(amounts, default=None)

    def prices(self, host: str, model: str) -> list[PriceRule | None]:
        """Return the price of a model at a host in each file that limits dollars; None where one names none."""
        limiting = [file.rules.budget for file in self.files if file.rules.budget.usd]
        return [
            budget_rules.prices.get(f"{host}/{model}") or budget_rules.prices.get(f"{host}/*")
            for budget_rules in limiting
        ]

    @property
    def journal_storage(self) -> Literal["disk", "memory", ""]:
        """Where history is kept: in memory if any policy says so; empty leaves it to the user."""
        wanted = {file.rules.journal.storage for file in self.files}
        return "memory" if "memory" in wanted else "disk" if "disk" in wanted else ""

    @property
    def journal_days(self) -> float | None:
        """The days after which turns are deleted; None leaves it to the user."""
        return min((file.rules.journal.days for file in self.files if file.rules.journal.days), default=None)

    def is_own_server(self, url: str) -> bool:
        """Whether an address is of a server in this process."""
        return parse_server_url(url).origin in _own_servers

    def _check_url(self, kind: str, url: str | ServerUrl) -> None:
        self.check_readable()
        for file in self.files:
            if file.rules.hosts is None:
                continue
            allowed: list[HostPattern] = getattr(file.rules.hosts, kind)
            parsed = url if isinstance(url, ServerUrl) else _parse_url(url)
            if not any(pattern.matches(parsed) for pattern in allowed):
                raise _refusal(file, f"{_KINDS[kind]} {parsed.scheme}://{parsed.netloc}", allowed)


def _find_pattern(patterns: Iterable[str], names: Iterable[str]) -> str:
    """Return the first pattern that one of the names of a tool matches; empty if there is none."""
    folded = [name.casefold() for name in names if name]
    matching = (pattern for pattern in patterns if any(fnmatchcase(name, pattern.casefold()) for name in folded))
    return next(matching, "")


_KINDS = {"models": "models at", "mcp": "an MCP server at", "pages": "pages at"}


_PROXY_PORTS = {"http": 80, "https": 443}
"""Default ports of proxies; of SOCKS it is 1080."""


@cache
def site_policy() -> SitePolicy:
    """Return the policy of this process; empty if there is none."""
    own = read_own_policy()
    return SitePolicy((*own.files, *_sent_files), own.problem)


@cache
def read_own_policy() -> SitePolicy:
    """Return the policy that this process reads by itself, once."""
    return SitePolicy.read(_NAMED_FILE)


def apply_sent_files(files: Iterable[PolicyFile]) -> None:
    """Apply the policy of a process whose turns this worker runs beside its own, until this process ends."""
    known = [*map(_without_budget, read_own_policy().files), *_sent_files]
    _sent_files.extend(file for file in files if file not in known)
    site_policy.cache_clear()


def _without_budget(file: PolicyFile) -> PolicyFile:
    return replace(file, rules=file.rules.model_copy(update={"budget": type(file.rules.budget)()}))


def register_own_server(url: str) -> None:
    """Note the address of a server in this process, such as the practice model: nothing leaves by it."""
    _own_servers.add(parse_server_url(url).origin)


def _parse_url(url: str) -> ServerUrl:
    try:
        return parse_server_url(url, may_have_query=True)
    except BadUsage as error:
        raise PolicyRefused(
            f"This address cannot be compared with the policy. {error.message}", fix=error.fix
        ) from None


def _parse_proxy(address: str) -> tuple[str, int]:
    """Return host and port of a proxy, without user and password."""
    scheme, has_scheme, rest = address.partition("://")
    authority = (rest if has_scheme else address).partition("/")[0].rpartition("@")[2]
    try:
        url = parse_server_url(f"http://{authority}")
    except BadUsage:
        raise PolicyRefused("The address of a proxy cannot be compared with the policy.") from None
    has_port = re.search(r":\d+$", authority)
    return url.host, url.port if has_port else _PROXY_PORTS.get(scheme.lower() if has_scheme else "http", 1080)


def _refusal(file: PolicyFile, what: str, allowed: Sequence[HostPattern | str]) -> PolicyRefused:
    names = ", ".join(text if isinstance(text, str) else text.text for text in allowed)
    return PolicyRefused(
        f"The policy {file.path} does not allow {what}.", fix=f"Allowed: {shorten(names, 400) or 'none'}."
    )
