"""The policy that asks after a text from outside was read, unless the person typed where the call goes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbtool.argument_check import check_arguments
from nbtool.errors import BadUsage
from nbtool.text import left_out, shorten
from nbtool.tools.approval.context import PolicyContext
from nbtool.tools.approval.policy import RunMode
from nbtool.tools.approval.typed_text import MIN_CHARS, TypedWords, find_addresses, texts_in


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
        BadUsage: a name cannot be that of a parameter; `@tool` refuses one that its function does not have.
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
        if not context.has_read_outside or not self._find_untyped(arguments, context.prompts):
            return "auto"
        return "ask_always"

    def explain(self, arguments: Mapping[str, Any], context: PolicyContext) -> str:
        """Return why a call asks, for its question; empty if this rule does not make it ask."""
        untyped = self._find_untyped(arguments, context.prompts) if context.has_read_outside else ""
        if not untyped:
            return ""
        sources = [shorten(outside_text.source, MAX_SHOWN) for outside_text in context.outside]
        named = list(dict.fromkeys(reversed(sources)))[:MAX_SOURCES]
        more = [left_out(len(sources) - len(named), "texts")] if len(sources) > len(named) else []
        read = ", ".join([*named, *more])
        return f"It asks because the model has read a text from outside ({read}), and {untyped}."

    def check_parameters(self, name: str, parameters: Collection[str]) -> None:
        """Check that a tool has the parameters that this rule names.

        Raises:
            BadUsage: it does not have one of them.
        """
        if missing := [
            destination for destination in (*self.destinations, *self.optional) if destination not in parameters
        ]:
            raise BadUsage(
                f"ask_after_outside_text names {missing[0]!r}, which is no parameter of the tool {name!r}.",
                fix=f"Its parameters: {', '.join(parameters) or 'none'}.",
            )

    def _find_untyped(self, arguments: Mapping[str, Any], prompts: Sequence[str]) -> str:
        """Return what of a call the person did not type, in words; empty if that is nothing."""
        typed = TypedWords(prompts)
        has_names = bool(self.destinations or self.optional)
        required = self.destinations if has_names else tuple(arguments)
        ways = {name: tuple(texts_in(arguments.get(name))) for name in (*required, *self.optional)}
        if not ways:
            return "it has no argument that says where it goes"
        if empty := [name for name in required if not ways[name]]:
            return f"`{shorten(empty[0], MAX_SHOWN)}` is empty"
        found = (address for text in texts_in(dict(arguments)) for address in find_addresses(text))
        texts = dict.fromkeys([*(text for texts in ways.values() for text in texts), *found])
        untyped = next((text for text in texts if not typed.has(text)), None)
        return "" if untyped is None else _why_untyped(untyped, prompts)


def _why_untyped(text: str, prompts: Sequence[str]) -> str:
    shown = repr(shorten(text, MAX_SHOWN))
    if not any(text.casefold() in prompt.casefold() for prompt in prompts):
        return f"you did not type {shown}"
    if len(text) < MIN_CHARS:
        return f"{shown} is too short to count as typed: it has fewer than {MIN_CHARS} characters"
    return f"you typed {shown} in another way: only the same letters as whole words count"


MAX_SOURCES = 3
"""Texts from outside that the reason of a question names."""

MAX_SHOWN = 80
"""Characters of a source, a name or a value in the reason of a question."""
