"""The tree of a conversation as rows, in reading order.

The active line goes straight down; side branches are indented, above its continuation. So a conversation
of a thousand turns is only as wide as it has branches.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from nbtool.blocks.history.protocol import Index, Row, Version
from nbtool.blocks.sanitize import one_line
from nbtool.events import CallFinished, CallStatus, ReplyFinished, TurnEnded, TurnStarted
from nbtool.messages import Usage
from nbtool.turn_view import NodeView, TurnView
from nbtool.wire.framing.known_secrets import hide_secrets

MAX_NODES = 5_000
"""Nodes in an index, the first ones in tree order."""

MAX_VERSIONS = 50
"""Versions of one node in an index, the latest ones."""

MAX_TOOLS = 20
"""Tool names in a row."""

FAILED_STATUSES: frozenset[CallStatus] = frozenset(("error", "invalid", "not_found", "timed_out", "unknown"))
"""The outcomes of a call that failed; not those that a person decided."""

DENIED_STATUSES: frozenset[CallStatus] = frozenset(("denied", "withheld"))
"""The outcomes of a call that a person, or a policy, decided against."""

MAX_PROMPT_CHARS = 140
"""Characters of a prompt in a row."""


def tree_rows(
    roots: Sequence[NodeView], line: Container[str], *, max_nodes: int = MAX_NODES, max_versions: int = MAX_VERSIONS
) -> Index:
    """Return the tree as rows; `line` are the ids of the nodes on the active line."""
    rows: list[Row] = []
    left_out = 0
    waiting = [(root, -1, 0, len(roots) > 1) for root in reversed(roots)]
    while waiting:
        node, parent, depth, branches = waiting.pop()
        at = len(rows)
        if at < max_nodes:
            is_on_line = node.node_id in line
            rows.append(_row(node, parent, depth, branches=branches, is_on_line=is_on_line, max_versions=max_versions))
        else:
            left_out += 1
        main, sides = _split_branches(node.children, line)
        waiting += [(main, at, depth, False)] if main else []
        waiting += [(side, at, depth + 1, True) for side in reversed(sides)]
    return {"rows": rows, "left_out": left_out}


def version_row(turn: TurnView) -> Version:
    """Return the row data of a turn."""
    log = list(turn.log)
    began = next((event for event in log if isinstance(event, TurnStarted)), None)
    ended = next((event for event in reversed(log) if isinstance(event, TurnEnded)), None)
    replies = [event for event in log if isinstance(event, ReplyFinished)]
    calls = [event for event in log if isinstance(event, CallFinished)]
    usage = ended.usage if ended else sum((reply.usage for reply in replies), Usage())
    names = dict.fromkeys(one_line(call.display_name, 64) for call in calls)
    row: Version = {
        "turn_id": turn.turn_id,
        "said": prompt_line(turn, MAX_PROMPT_CHARS),
        "status": turn.status,
        "model": one_line(turn.model, 80),
        "started": began.started if began else None,
        "seconds": ended.seconds if ended else None,
        "rounds": ended.rounds if ended else len(replies),
        "calls": ended.calls if ended else len(calls),
        "tokens": usage.total_tokens,
        "cost": usage.cost,
        "tools": list(names)[:MAX_TOOLS],
        "replayed": one_line(began.replayed, 40) if began else "",
        "made": origin_of(turn),
    }
    if ended and ended.waited:
        row["waited"] = ended.waited
    if len(names) > MAX_TOOLS:
        row["more_tools"] = len(names) - MAX_TOOLS
    failed = sum(call.status in FAILED_STATUSES for call in calls)
    if failed:
        row["failed"] = failed
    denied = sum(call.status in DENIED_STATUSES for call in calls)
    if denied:
        row["denied"] = denied
    return row


def origin_of(turn: TurnView) -> str:
    """Describe in one line how a turn was derived from another version; empty if it was not."""
    return one_line(hide_secrets(str(turn.difference)), 300) if turn.difference is not None else ""


def prompt_line(turn: TurnView, limit: int) -> str:
    """Return the prompt of a turn in one line, without known secrets: lists of turns are saved with the notebook."""
    return one_line(hide_secrets(turn.prompt.text), limit)


def _row(node: NodeView, parent: int, depth: int, *, branches: bool, is_on_line: bool, max_versions: int) -> Row:
    versions = list(node.versions)
    dropped = max(0, len(versions) - max_versions)
    return {
        "node_id": node.node_id,
        "parent": parent,
        "depth": depth,
        "branches": branches,
        "line": is_on_line,
        "hidden": node.hidden,
        "pinned": node.pinned,
        "current": max(0, node.current - dropped),
        "versions": [version_row(turn) for turn in versions[dropped:]],
    }


def _split_branches(children: Sequence[NodeView], line: Container[str]) -> tuple[NodeView | None, list[NodeView]]:
    """Return the node that continues the line, and those that branch off."""
    if not children:
        return None, []
    main = next((child for child in children if child.node_id in line), children[-1])
    return main, [child for child in children if child is not main]
