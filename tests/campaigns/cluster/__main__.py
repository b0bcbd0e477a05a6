# ruff: noqa: T201 - the figures are what a program of this kind is for
"""The kill campaign of a cluster: print its table, and fail on a violation.

    python -m tests.campaigns.cluster [--prompts N] [--kills K] [--seed S] [--compared M] [--folder F]

Sends the prompts with `chat.map_into` to a Dask cluster of two workers, and kills a worker or the scheduler after some
of the answers. Each prompt has one call, whose effects are counted. The first M answers are compared with those of the
same map in one process.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
from pathlib import Path

from tests.campaigns.bounds import seed
from tests.campaigns.cluster.campaign import run_campaign

SHOWN = 20
"""Violations that are printed."""


def main() -> int:
    """Run the campaign; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.cluster", description=__doc__)
    parser.add_argument("--prompts", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", default=seed)
    parser.add_argument("--compared", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # a client says at length that its scheduler was killed
    with tempfile.TemporaryDirectory(prefix="nbtool-cluster-") as own:
        folder = args.folder or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["NBTOOL_HOME"] = str(folder / "home")
        found = run_campaign(folder, args.prompts, args.kills, args.seed, compared=min(args.compared, args.prompts))
    print(f"seed {args.seed}", found.table(), *found.violations[:SHOWN], sep="\n")
    if len(found.violations) > SHOWN:
        print(f"and {len(found.violations) - SHOWN:,} more violations")
    return 1 if found.violations else 0


if __name__ == "__main__":
    sys.exit(main())
