"""What a policy file means, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nbtool.policy.host_pattern import HostPattern
from nbtool.policy.rules import ApprovalRules, BudgetRules, HostRules, PolicyRules, PriceRule
from nbtool.text import count_of

NO_RULES = "limits nothing"


def describe_rules(rules: PolicyRules) -> list[tuple[str, str]]:
    """Return what each rule of a file means, as pairs of a subject and a sentence."""
    return [*_hosts(rules.hosts), *_limits(rules)] or [("rules", NO_RULES)]


def _hosts(hosts: HostRules | None) -> Iterator[tuple[str, str]]:
    if hosts is None:
        return
    yield "models", f"only at {_list(hosts.models)}" if hosts.models else "none but the practice model"
    yield "MCP servers", f"only at {_list(hosts.mcp)}" if hosts.mcp else "none by HTTP"
    yield "MCP commands", f"only {_list(hosts.mcp_commands)}" if hosts.mcp_commands else "none"
    yield "agents", f"only {_list(hosts.agents)}" if hosts.agents else "none"
    yield "web pages", f"only at {_list(hosts.pages)}" if hosts.pages else "none"
    yield "proxies", f"only {_list(hosts.proxies)}" if hosts.proxies else "none"


def _limits(rules: PolicyRules) -> Iterator[tuple[str, str]]:
    journal = rules.journal
    if not rules.values.may_leave:
        yield "values", "none is sent: of variables and results only names, types and shapes"
    yield from _approval(rules.approval)
    yield from _budget(rules.budget)
    if not rules.serve.allowed:
        yield "%chat serve", "is refused"
    if rules.audit.file:
        yield "audit", f"each decision about a call is written to {rules.audit.file}, before anything follows from it"
    if journal.storage:
        yield "journal", "in memory only" if journal.storage == "memory" else "on disk, whatever NBTOOL_JOURNAL says"
    if journal.days:
        yield "journal days", f"turns older than {journal.days:g} days are deleted"


def _approval(approval: ApprovalRules) -> Iterator[tuple[str, str]]:
    if approval.never:
        yield "tools that never run", f"{', '.join(approval.never)}: no call of them runs, approved or not"
    if approval.always_ask:
        yield "tools that always ask", f"{', '.join(approval.always_ask)}: a person decides before every call"
    if not approval.automatic:
        yield "approval", "only by a person: `--approve auto` and approvers in Python cannot approve"


def _budget(budget: BudgetRules) -> Iterator[tuple[str, str]]:
    amounts = [f"{budget.usd:g} USD"] if budget.usd else []
    amounts += [count_of(budget.tokens, "token")] if budget.tokens else []
    if amounts:
        yield "budget", f"at most {' and '.join(amounts)} in one kernel"
    if budget.prices:
        listed = ", ".join(map(_price, budget.prices.items()))
        yield "prices", f"in US dollars per million tokens of input and output: {listed}"


def _price(named: tuple[str, PriceRule]) -> str:
    name, price = named
    return f"{name} {price.input:g} and {price.output:g}"


def _list(names: Sequence[HostPattern | str]) -> str:
    return ", ".join(name if isinstance(name, str) else name.text for name in names)
