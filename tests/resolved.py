"""What arguments stand for, made for tests."""

from __future__ import annotations

from nbtool.events import ResolvedArgument, ResolvedReference


def plain(text: str) -> ResolvedArgument:
    """Return an argument without references."""
    return ResolvedArgument(text)


def reference(name: str, summary: str, columns: str = "") -> ResolvedArgument:
    """Return an argument that is a reference to an object."""
    text = f"{summary}: {columns}" if columns else summary
    return ResolvedArgument(f'"$VAR_REF{{{{{name}}}}}"', (ResolvedReference(name, text, summary),), is_reference=True)
