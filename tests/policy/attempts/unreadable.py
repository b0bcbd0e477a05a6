"""A policy that cannot be read: nothing is sent by any attempt, not even to the practice model."""

from __future__ import annotations

from tests.policy.attempts import hosts
from tests.policy.attempts.world import World, main


def policy(world: World) -> str:
    hosts.policy(world)
    return "[host]\nmodels = []\n"


if __name__ == "__main__":
    main(policy)
    hosts.stack.close()
