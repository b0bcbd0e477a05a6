"""Compare two texts line by line with bounded work; texts that differ too much are both shown in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MAX_EDITS = 800
"""Maximum number of added and removed lines in a line-by-line diff."""

MAX_STEPS = 500_000
"""Maximum number of line comparisons in one diff."""

CONTEXT = 3
"""Number of unchanged lines shown around a change."""

TOO_DIFFERENT = "@@ too different to compare line by line: all of the old text, then all of the new @@"

ONLY_LINE_ENDS = "Only the line endings change."

Edit = tuple[int, int, int, int]
"""Lines `[0:1]` of the old text are replaced by lines `[2:3]` of the new one."""


def line_diff(before: str, after: str, name: str, *, max_edits: int = MAX_EDITS) -> str:
    """Return the changes as a unified diff; empty if there are none.

    Texts that differ too much are shown in full, after a line that says so.
    """
    old, new = before.splitlines(), after.splitlines()
    if old == new:
        return ONLY_LINE_ENDS if before != after else ""
    edits = _edits(old, new, max_edits)
    if edits is None:
        hunks = [TOO_DIFFERENT, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    else:
        hunks = [line for group in _groups(edits) for line in _hunk(group, old, new)]
    return "\n".join([f"--- {name}", f"+++ {name}", *hunks])


def changed_lines(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the removed lines and the added ones; all lines of texts that differ too much."""
    edits = _edits(old, new, MAX_EDITS)
    if edits is None:
        return [*old], [*new]
    removed = [line for begin, end, _, _ in edits for line in old[begin:end]]
    return removed, [line for _, _, begin, end in edits for line in new[begin:end]]


def _edits(old: Sequence[str], new: Sequence[str], max_edits: int) -> list[Edit] | None:
    """Return the changes between the common first lines and the common last lines."""
    shorter = min(len(old), len(new))
    head = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    tail = next((index for index in range(shorter - head) if old[-1 - index] != new[-1 - index]), shorter - head)
    numbers: dict[str, int] = {}
    old_lines, new_lines = (
        [numbers.setdefault(line, len(numbers)) for line in lines[head : len(lines) - tail]] for lines in (old, new)
    )
    steps = _shortest_path(old_lines, new_lines, max_edits)
    return None if steps is None else _join_steps(steps, head)


def _shortest_path(a: list[int], b: list[int], max_edits: int) -> list[tuple[int, int, bool]] | None:
    """Return the added and removed lines in order; None if that takes too many steps.

    The greedy algorithm of E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): its time is bounded by
    the number of edits, which `difflib` does not bound.
    """
    reach, trace, steps_left = {1: 0}, [], MAX_STEPS
    for edits in range(min(len(a) + len(b), max_edits) + 1):
        trace.append(reach.copy())
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
            x = begin = reach[k + 1] if down else reach[k - 1] + 1
            y = x - k
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            reach[k] = x
            steps_left -= x - begin + 1
            if x >= len(a) and y >= len(b):
                return _walk_back(trace, len(a), len(b))
        if steps_left < 0:
            return None
    return None


def _walk_back(trace: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, bool]]:
    """Return each edit as its position in both texts, and whether it adds a line."""
    steps = []
    for edits in range(len(trace) - 1, 0, -1):
        reach, k = trace[edits], x - y
        down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
        k += 1 if down else -1
        x = reach[k]
        y = x - k
        steps.append((x, y, down))
    return steps[::-1]


def _join_steps(steps: list[tuple[int, int, bool]], head: int) -> list[Edit]:
    """Join adjacent edits."""
    edits: list[Edit] = []
    for x, y, comes in steps:
        old_index, new_index = x + head, y + head
        end = (old_index, new_index + 1) if comes else (old_index + 1, new_index)
        if edits and edits[-1][1] == old_index and edits[-1][3] == new_index:
            edits[-1] = (edits[-1][0], end[0], edits[-1][2], end[1])
        else:
            edits.append((old_index, end[0], new_index, end[1]))
    return edits


def _groups(edits: list[Edit]) -> Iterator[list[Edit]]:
    """Yield groups of edits whose context lines overlap."""
    group: list[Edit] = []
    for edit in edits:
        if group and edit[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(edit)
    yield group


def _hunk(group: list[Edit], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    first, last = group[0], group[-1]
    before, after = min(CONTEXT, first[0]), min(CONTEXT, len(old) - last[1])
    begin, end = first[0] - before, last[1] + after
    yield f"@@ -{_hunk_range(begin, end)} +{_hunk_range(first[2] - before, last[3] + after)} @@"
    position = begin
    for old_index, to, new_index, up_to in group:
        yield from (f" {line}" for line in old[position:old_index])
        yield from (f"-{line}" for line in old[old_index:to])
        yield from (f"+{line}" for line in new[new_index:up_to])
        position = to
    yield from (f" {line}" for line in old[position:end])


def _hunk_range(begin: int, end: int) -> str:
    """Return a line range in the format of unified diffs."""
    length = end - begin
    return f"{begin + 1}" if length == 1 else f"{begin + 1 if length else begin},{length}"
