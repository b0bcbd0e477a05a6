"""`never`: a tool that the policy forbids does not run, whoever says that it may, a person too; other tools do."""

from __future__ import annotations

from tests.policy.attempts import approval
from tests.policy.attempts.world import World, main


def policy(world: World) -> str:
    approval.policy(world)
    return "[approval]\nnever = ['delete_*', 'friendly.*']\n"


if __name__ == "__main__":
    main(policy)
