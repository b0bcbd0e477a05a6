"""A call with everything it stands for: the tool, the arguments as written, and what each reference points to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.events import AskedAgain, Difference, Gate, ResolvedArgument
from nbtool.messages import Media
from nbtool.tools.approval import Question, digest_of
from nbtool.tools.content_hash.change_token import ChangeToken, token_of, token_of_tool
from nbtool.tools.content_hash.source import certain_source
from nbtool.tools.content_hash.tool_states import ToolStates
from nbtool.tools.schema.parameters import PLAIN
from nbtool.tools.tool import Tool
from nbtool.tools.values.preview import Glance, glance
from nbtool.tools.values.render import cut
from nbtool.tools.variables.references import OPENING, Link, Path, Resolved, resolve, unresolved
from nbtool.tools.variables.store import Variables

MAX_EFFECT = 20_000
"""Characters that are shown of what a call will change."""

MAX_QUICK = 10_000
"""Characters of a text argument that are looked through on the loop itself."""

GLANCES = 4
"""How many of a call's references are shown with their first rows."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A call as it would run now. `written` are the arguments as JSON, `values` what the function is given.

    `tokens` change when what a reference stands for does, `tool_token` when what the tool works with beside its
    arguments does (empty until it is read); `tool_problem` says why that may go unnoticed. `glances` are the first rows
    of what was opened for reading, by the names of the arguments that refer to it, `effect` is what the call will
    change, as its tool tells it. `closed` are the references to what was exposed by reference alone. `described` tells
    of each argument as it was when it was bound: references by name, type and shape, anything else as JSON.
    """

    tool: Tool
    written: str
    resolved: Resolved
    values: dict[str, Any] = field(repr=False)
    tokens: Mapping[Path, tuple[ChangeToken, ...]]
    glances: dict[str, Glance] = field(default_factory=dict, repr=False)
    effect: str = field(default="", repr=False)
    closed: tuple[Link, ...] = field(default=(), repr=False)
    tool_token: str = ""
    tool_problem: str = ""
    described: dict[str, ResolvedArgument] = field(default_factory=dict)

    @property
    def is_disclosing(self) -> bool:
        """Whether values that were exposed by reference alone would leave this kernel with the arguments."""
        return bool(self.closed) and self.tool.sends_to != ""

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as they were written: a copy, with which one may do as one likes."""
        copied: dict[str, Any] = json.loads(self.written)
        return copied

    @property
    def words(self) -> tuple[str, ...]:
        """The words of all tokens, in the order of the references."""
        return tuple(token.word for tokens in self.tokens.values() for token in tokens)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines about what a reference stands for, or the tool works with, and cannot be watched."""
        of_tool = [f"What {self.tool.name!r} works with cannot be watched for changes: {self.tool_problem}."]
        of_references = (
            f"{link.reference.text} cannot be watched for changes: {token.problem}."
            for path, tokens in self.tokens.items()
            for link, token in zip(self.resolved.links[path], tokens, strict=True)
            if token.problem
        )
        return (*of_references, *(of_tool if self.tool_problem else ()))

    @property
    def shown(self) -> str:
        """The arguments for the eye: JSON, keys sorted, indented; the same text for the same arguments."""
        return json.dumps(self.arguments, sort_keys=True, indent=2, ensure_ascii=False)

    def question(
        self,
        call_id: str,
        gate: Gate,
        shown: str,
        *,
        attempt: int = 0,
        media: tuple[Media, ...] = (),
        again: AskedAgain | None = None,
    ) -> Question:
        """Ask about this call at one of its gates, `media` with its result; each `attempt` is a question of its own."""
        tool = self.tool
        arguments, notes = self.arguments, self.notes if gate == "run" else ()
        what = {"tool": tool.name, "identity": tool.identity, "digest": tool.digest, "gate": gate}
        what["state"] = self.tool_token
        exactly = {**what, "arguments": arguments, "references": self.words, "effect": self.effect}
        notice = "\n\n".join(filter(None, (self._disclosure, tool.notice))) if gate == "run" else ""
        exactly["notice"] = notice
        schema = json.loads(json.dumps(dict(tool.parameters.schema)))
        seen = [sha256(one.data or b"").hexdigest() for one in media]
        sensitive = tool.policy.sensitive or self.is_disclosing
        keys = {"tool": digest_of(**what)} if notes else {"call": digest_of(**exactly), "tool": digest_of(**what)}
        return Question(
            call_id=call_id,
            gate=gate,
            digest=digest_of(**exactly, schema=schema, call_id=call_id, shown=shown, attempt=attempt, media=seen),
            tool=tool.name,
            shown=shown,
            description=tool.description,
            notice=notice,
            schema=schema,
            arguments=arguments,
            resolved=dict(self.described),
            effect=self.effect if gate == "run" else "",
            media=media,
            sensitive=sensitive,
            can_remember=gate == "run" and not sensitive,
            keys=keys,  # type: ignore[arg-type]  # the words are those of Scope
            glances={**self.glances} if gate == "run" else {},
            notes=notes,
            again=again,
        )

    def is_still(self, other: Bound) -> bool:
        """Whether another binding stands for the very same: tool, arguments, objects as they are, and what changes."""
        mine = (self.written, self.words, self.effect, self.tool_token)
        return mine == (other.written, other.words, other.effect, other.tool_token) and self.has_tool_of(other)

    def has_tool_of(self, other: Bound) -> bool:
        """Whether another binding would run the very same tool."""
        return (self.tool.identity, self.tool.digest) == (other.tool.identity, other.tool.digest)

    @property
    def _disclosure(self) -> str:
        names = ", ".join(dict.fromkeys(link.reference.name for link in self.closed))
        return (
            f"This sends the values of {names} to a server; the model may not read them." if self.is_disclosing else ""
        )

    def watched(self, states: ToolStates) -> Bound:
        """Read what the tool works with beside its arguments, as it is now; may take long."""
        token = token_of_tool(self.tool.function)
        return replace(self, tool_token=states.first(token.word), tool_problem=token.problem)

    def differences(self, now: Bound) -> tuple[Difference, ...]:
        """Say what is different now, without saying what is in an object that was referred to."""
        found = [
            _difference(f"the argument {name!r}", str(self.described.get(name, "")), str(now.described.get(name, "")))
            for name in {**self.described, **now.described}
        ]
        if not self.has_tool_of(now):
            found.append(_difference("the tool", _definition(self.tool), _definition(now.tool)))
        elif self.tool_token != now.tool_token:
            found.append(Difference("what the tool works with: its object, closure, defaults or globals"))
        found.append(_difference("what will change", self.effect, now.effect))
        told = tuple(one for one in found if one)
        return (
            told or tuple(Difference(f"what is in {text}") for text in self._changed(now)) or (Difference("the call"),)
        )

    def _changed(self, now: Bound) -> list[str]:
        """Give the references whose objects were changed in place, or replaced by others of the same shape."""
        texts = [link.reference.text for links in self.resolved.links.values() for link in links]
        if len(self.words) != len(now.words):
            return texts
        return [text for text, old, new in zip(texts, self.words, now.words, strict=True) if old != new]


def is_quick(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether binding takes no time and runs nobody's own code: plain values for plain parameters, no reference."""
    return tool.parameters.are_plain and tool.effect is None and all(map(_is_quick, arguments.values()))


def _is_quick(value: Any) -> bool:
    return type(value) in PLAIN and (type(value) is not str or (len(value) <= MAX_QUICK and OPENING not in value))


def bind(tool: Tool, arguments: Mapping[str, Any], variables: Variables) -> Bound:
    """Resolve and validate arguments as they are now. May take long: texts of referred objects are written out.

    Raises:
        ToolError: they are not JSON, a reference leads nowhere, or they do not fit the tool's schema.
    """
    written = unresolved(_as_json(arguments)).arguments
    resolved = resolve(written, variables) if tool.resolve else unresolved(written)
    _write_out(tool, resolved, variables)
    links = [link for found in resolved.links.values() for link in found]
    closed = tuple(link for link in links if not variables.get(link.reference.name).is_readable)
    if closed and tool.sends_to == "model":
        raise _would_disclose(tool, closed[0])
    values = tool.parameters.check(resolved)
    tokens = {path: _tokens(path, resolved) for path in resolved.links}
    glances, effect = _glances(resolved, variables), _effect(tool, resolved)
    described = {name: _described(name, value, resolved) for name, value in written.items()}
    return Bound(tool, json.dumps(written), resolved, values, tokens, glances, effect, closed, described=described)


def _described(name: str, value: Any, resolved: Resolved) -> ResolvedArgument:
    references = tuple(link.resolved() for link in resolved.links_in(name))
    return ResolvedArgument(json.dumps(value, ensure_ascii=False), references, (name,) in resolved.objects)


def _write_out(tool: Tool, resolved: Resolved, variables: Variables) -> None:
    """Put the text of an object that was opened for reading where its parameter takes a text and not the object."""
    for path, value in tuple(resolved.objects.items()):
        link = resolved.links[path][0]
        if len(path) > 1 or not tool.parameters.takes_text(str(path[0]), value):
            continue
        if variables.get(link.reference.name).is_readable:
            text = variables.text_of(value) if link.reference.keys else variables.text(link.reference.name)
            resolved.arguments[str(path[0])] = text
            resolved.links[path] = (replace(link, text=text),)
            del resolved.objects[path]


def _would_disclose(tool: Tool, link: Link) -> InvalidArguments:
    name = link.reference.name
    return InvalidArguments(
        f"{link.reference.text} was exposed by reference only, and {tool.name!r} sends its arguments to another model.",
        fix=f"Ask without its values, or let the user open it: `--read {name}`, or chat.expose(read=True, {name}=…).",
    )


def _tokens(path: Path, resolved: Resolved) -> tuple[ChangeToken, ...]:
    """Give the tokens of the references at one place: of the object that is passed on, or of the text made of it."""
    links = resolved.links[path]
    if path in resolved.objects:
        return tuple(token_of(link.value) for link in links)
    place: Any = resolved.arguments
    for step in path:
        place = place[step]
    word = sha256(str(place).encode("utf-8", "surrogatepass")).hexdigest()
    return tuple(ChangeToken(f"{link.reference.text}={word}") for link in links)


def _difference(what: str, before: str, after: str) -> Difference | None:
    return Difference(what, before, after) if before != after else None


def _definition(tool: Tool) -> str:
    """Write how a tool is defined, for the eye: its source where it can be read, else what it says of itself."""
    code = getattr(tool.function, "__code__", None)
    source = certain_source(code) if code is not None and code.co_name != "<lambda>" else ""
    return cut(source or f"{tool.name}: {tool.description}", MAX_EFFECT)


def _effect(tool: Tool, resolved: Resolved) -> str:
    """Let the tool tell what it would change; where it cannot, the arguments have to say it.

    It gets values of its own: what it does to them changes nothing that runs.
    """
    if tool.effect is None:
        return ""
    values = tool.parameters.check(resolved)
    positional, keywords = tool.parameters.bind(values)
    try:
        return cut(str(tool.effect(*positional, **keywords)), MAX_EFFECT)
    except Exception:  # noqa: BLE001 - such a call fails in its own words when it runs
        return ""


def _glances(resolved: Resolved, variables: Variables) -> dict[str, Glance]:
    """Look at the first rows behind the references to what was opened for reading."""
    glances: dict[str, Glance] = {}
    for path, links in resolved.links.items():
        if len(glances) == GLANCES or not variables.get(links[0].reference.name).is_readable:
            continue
        if seen := glance(links[0].value):
            glances.setdefault(path[0] if isinstance(path[0], str) else str(path[0]), seen)
    return glances


def _as_json(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give a fresh copy that is JSON and nothing else, however the arguments came in."""
    try:
        copy: dict[str, Any] = json.loads(json.dumps(dict(arguments)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(f"The arguments are not JSON: {error}.") from None
    return copy
