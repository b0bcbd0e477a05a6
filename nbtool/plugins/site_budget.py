"""The budget of the administrator's policy: one for all chats of a kernel, which nobody can raise."""

from __future__ import annotations

from functools import cache

from nbtool.plugins.budget import Budget
from nbtool.policy import site_policy
from nbtool.tools.approval import Denied

SERVED = "nbtool.mcp_server."
"""The module of the endpoints of served clients, which ask no model."""

NO_MORE = "the policy {path} allows no more in one kernel"
ENDED = "Ask your administrator; the amount is counted from the start of the kernel."


@cache
def site_budget() -> Budget | None:
    """Return the budget of this process; None if no policy sets one."""
    policy = site_policy()
    usd, tokens = policy.budget("usd"), policy.budget("tokens")
    if not (usd or tokens):
        return None
    refusal = Denied(NO_MORE.format(path=" and ".join(dict.fromkeys(one[1] for one in (usd, tokens) if one))))
    limit = Budget(tokens=int(tokens[0]) if tokens else None, usd=usd[0] if usd else None, ask=lambda _: refusal)
    limit.fix = f"{refusal.reason[0].upper()}{refusal.reason[1:]}. {ENDED}"
    return limit


def is_limited(endpoint: object) -> bool:
    """Whether requests to an endpoint count: not those to a model in this process, or of a served client."""
    native = getattr(endpoint, "native", endpoint)
    url = getattr(native, "base_url", None)
    if isinstance(url, str):
        return not site_policy().is_own_server(url)
    return not type(endpoint).__module__.startswith(SERVED)
