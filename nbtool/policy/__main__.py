"""The command `python -m nbtool.policy [FILE]`: check a policy file, and say what it means.

Without a file it checks the policy in force. The exit status is 0 for a valid policy, and 1 for an invalid one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from nbtool.command_output import closable_output
from nbtool.errors import PolicyUnreadable
from nbtool.policy.description import describe_rules
from nbtool.policy.file import PolicyFile, read_policy_file, system_path
from nbtool.policy.site import site_policy

WRITABLE = "You can change this file, so it does not bind you: it must belong to the administrator."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m nbtool.policy", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="a policy file; without it, the policy in force")
    with closable_output():  # of --help
        file = parser.parse_args(arguments).file
    try:
        found = [read_policy_file(file, is_required=True)] if file else site_policy().readable_files()
    except PolicyUnreadable as error:
        print(error, file=sys.stderr)  # noqa: T201 - the output of a command
        return 1
    texts = [_describe(policy_file) for policy_file in found if policy_file]
    with closable_output():
        print("\n\n".join(texts) or f"No policy is in force: {system_path()} does not exist.")  # noqa: T201 - the same
    return 0


def _describe(file: PolicyFile) -> str:
    lines = [f"{file.path} is valid. It means:"]
    lines += [f"  {subject}: {sentence}." for subject, sentence in describe_rules(file.rules)]
    return "\n".join([*lines, *([WRITABLE] if file.is_writable else [])])


if __name__ == "__main__":
    sys.exit(main())
