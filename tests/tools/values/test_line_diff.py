from __future__ import annotations

import difflib
import random

import pytest

from nbtool.tools.values.line_diff import MAX_EDITS, TOO_DIFFERENT, changed_lines, line_diff
from tests.cpu_time import run_within

SECONDS = 1.0
"""CPU time that a diff of two texts of 100 kB may take."""


def patched(before: str, diff: str) -> list[str]:
    """Apply a unified diff, as `patch` does."""
    old, out, at = before.splitlines(), [], 0
    for line in diff.split("\n")[2:]:
        if line.startswith("@@"):
            begin, _, count = line.split()[1][1:].partition(",")
            start = int(begin) - (count != "0")
            out += old[at:start]
            at = start
        elif line[0] == "+":
            out.append(line[1:])
        else:
            assert old[at] == line[1:]
            out += [line[1:]] if line[0] == " " else []
            at += 1
    return out + old[at:]


def test_a_diff_turns_the_old_text_into_the_new_one_in_as_few_lines_as_can_be() -> None:
    chance = random.Random(5)
    for _ in range(300):
        before = [chance.choice("abc") for _ in range(chance.randrange(30))]
        after = [line for line in before if chance.random() > 0.2]
        after.insert(chance.randrange(len(after) + 1), chance.choice("abcd"))
        diff = line_diff("\n".join(before), "\n".join(after), "f")
        if before == after:
            assert diff == ""
            continue
        assert patched("\n".join(before), diff) == after
        whole = difflib.unified_diff(before, after, n=0, lineterm="")
        changed = [line for line in diff.split("\n")[2:] if line[:1] in ("+", "-")]
        assert len(changed) <= len([line for line in whole if line[:1] in "+-"]) - 2


def test_a_small_change_reads_as_every_unified_diff() -> None:
    before = [f"line {n}" for n in range(30)]
    after = [*before[:4], "new", *before[5:20], *before[22:]]

    expected = "\n".join(difflib.unified_diff(before, after, "f", "f", lineterm=""))

    assert line_diff("\n".join(before), "\n".join(after), "f") == expected


def hostile() -> dict[str, tuple[str, str]]:
    """Pairs of texts of 100 kB that take a diff without a bound very long."""
    chance = random.Random(1)
    short = [f"{chance.randrange(40_000):x}" for _ in range(20_000)]
    few = [chance.choice("abcdefgh") for _ in range(50_000)]
    pairs = {
        "shuffled": (short, chance.sample(short, len(short))),
        "few lines, shuffled": (few, chance.sample(few, len(few))),
        "turned around": (short, short[::-1]),
        "one line over and over, broken": (["a"] * 49_000, (["a"] * 40 + ["b"]) * 1_200),
        "two in turn": (["a", "b"] * 25_000, ["b", "b", "a"] * 16_000),
        "moved by a line": (["x", *"ab" * 25_000], [*"ab" * 25_000, "y"]),
        "all new": (short, [f"z{line}" for line in short]),
    }
    return {name: ("\n".join(before), "\n".join(after)) for name, (before, after) in pairs.items()}


@pytest.mark.parametrize("name", hostile())
def test_a_diff_of_hostile_texts_ends_at_once(name: str) -> None:
    before, after = hostile()[name]

    diff = run_within(SECONDS, lambda: line_diff(before, after, "f"))

    if TOO_DIFFERENT in diff:
        lines = diff.split("\n")
        assert [line[1:] for line in lines[3:] if line[0] == "-"] == before.splitlines()
        assert [line[1:] for line in lines[3:] if line[0] == "+"] == after.splitlines()
    else:
        assert patched(before, diff) == after.splitlines()


def test_texts_are_compared_up_to_a_number_of_edits() -> None:
    before, after = "\n".join("abcd"), "\n".join("wxyz")
    assert TOO_DIFFERENT not in line_diff(before, after, "f", max_edits=8)
    assert line_diff(before, after, "f", max_edits=7).split("\n")[2] == TOO_DIFFERENT


def test_texts_that_differ_too_much_are_removed_and_added_as_a_whole() -> None:
    old, new = [f"old {n}" for n in range(MAX_EDITS)], [f"new {n}" for n in range(MAX_EDITS)]

    assert changed_lines(old, new) == (old, new)
