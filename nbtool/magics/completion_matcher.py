"""Tab completion where IPython has matchers that get the whole cell: since 8.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from nbtool.magics.completion import CompletionSource, find_offer

_FILE_MATCHER = "IPCompleter.file_matcher"


class _NoCompletions(list[SimpleCompletion]):
    """No completions, and none of other matchers: IPython suppresses those only for a result that has a length."""

    def __len__(self) -> int:
        return 1


def completer(source: CompletionSource) -> Callable[[CompletionContext], SimpleMatcherResult]:
    """Create the matcher that IPython calls at each Tab; it returns nothing for other cells.

    In a `%%chat` cell and a `%chat` line it is the only one, but for paths: the text is no Python.
    """

    @context_matcher(identifier="nbtool")  # type: ignore[untyped-decorator]  # IPython ships no types for it
    def nbtool_matcher(context: CompletionContext) -> SimpleMatcherResult:
        offer = find_offer(source, context)
        if offer is None:
            return {"completions": []}
        matches = [*offer.matches().items()][: context.limit]
        completions = [SimpleCompletion(text=word, type=kind) for word, kind in matches]
        return {
            "completions": completions or _NoCompletions(),
            "matched_fragment": offer.fragment,
            "suppress": True,
            "do_not_suppress": {_FILE_MATCHER} if offer.takes_path else set(),
        }

    return nbtool_matcher  # type: ignore[no-any-return]  # the same


def add_completer(shell: Any, matcher: Callable[..., Any]) -> None:
    """Call a matcher at each Tab."""
    shell.Completer.custom_matchers.append(matcher)


def remove_completer(shell: Any, matcher: Callable[..., Any]) -> None:
    """Undo `add_completer`."""
    shell.Completer.custom_matchers.remove(matcher)
