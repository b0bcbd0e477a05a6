"""The policy that asks after a text from outside was read, unless the person typed where the call goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nbtool.argument_check import check_arguments
from nbtool.errors import BadUsage
from nbtool.text import shorten
from nbtool.tools.approval.context import PolicyContext
from nbtool.tools.approval.policy import RunMode
from nbtool.tools.approval.typed_text import TypedWords, find_addresses, texts_in


@check_arguments
def ask_after_outside_text(*destinations: str, optional: Iterable[str] = ()) -> AskAfterOutsideText:
    """Return a policy for `run` that asks once the model has read a text from outside, unless the person typed the way.

        @tool(run=ask_after_outside_text("recipients", optional=("cc", "bcc")))
        def send_email(recipients: list[str], subject: str, body: str, cc: list[str] = [], bcc: list[str] = []): ...

    Then a call runs without asking only if each destination, and each address and each long number in any argument, is
    in the person's prompts of this chat: as it is, as whole words, of at least four characters.

    Args:
        destinations: the parameters that say who or what is affected; the call asks if one of them is missing or
            empty. Without any, every argument of the call is a destination.
        optional: those that may be missing or empty because the function then affects nobody by them.

    Raises:
        BadUsage: a name is that of no parameter.
    """
    others = tuple(optional)
    if wrong := [name for name in (*destinations, *others) if not name.isidentifier()]:
        raise BadUsage(
            f"A destination is the name of a parameter, not {shorten(wrong[0], 64)!r}.",
            fix='Pass names: ask_after_outside_text("recipients").',
        )
    return AskAfterOutsideText(destinations, others)


@dataclass(frozen=True, slots=True)
class AskAfterOutsideText:
    """The policy that `ask_after_outside_text` returns."""

    destinations: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def __call__(self, arguments: Mapping[str, Any], context: PolicyContext) -> RunMode:
        """Return `auto` if nothing from outside was read, or the person typed where the call goes."""
        if not context.has_read_outside or self._is_typed(arguments, TypedWords(context.prompts)):
            return "auto"
        return "ask_always"

    def _is_typed(self, arguments: Mapping[str, Any], typed: TypedWords) -> bool:
        has_names = bool(self.destinations or self.optional)
        required = self.destinations if has_names else tuple(arguments)
        ways = {name: tuple(texts_in(arguments.get(name))) for name in (*required, *self.optional)}
        if not ways or not all(ways[name] for name in required):
            return False
        if not all(map(typed.has, (text for texts in ways.values() for text in texts))):
            return False
        found = (address for text in texts_in(dict(arguments)) for address in find_addresses(text))
        return all(map(typed.has, dict.fromkeys(found)))
