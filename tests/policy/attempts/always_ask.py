"""`always_ask` alone: an approver in Python may approve other tools, and calls in an approved script still ask."""

from __future__ import annotations

from tests.policy.attempts import approval
from tests.policy.attempts.world import World, main


def policy(world: World) -> str:
    return approval.policy(world).replace("automatic = false", "")


if __name__ == "__main__":
    main(policy)
