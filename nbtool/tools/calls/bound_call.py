"""A call bound to its tool, its arguments and the objects of its references."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from hashlib import sha256
from operator import attrgetter
from typing import Any

from nbtool.errors import InvalidArguments, ToolFailed
from nbtool.events import Gate, RepeatedQuestion, ResolvedArgument, resolve_arguments
from nbtool.messages import Media
from nbtool.policy import site_policy
from nbtool.tools.approval import Question, make_digest
from nbtool.tools.calls.site_rules import person_rule, rule_to_ask
from nbtool.tools.content_hash.change_token import ChangeToken, change_token, tool_change_token
from nbtool.tools.content_hash.tool_states import ToolStates
from nbtool.tools.execution.executors import worker_notice
from nbtool.tools.schema.annotations import PLAIN_TYPES
from nbtool.tools.tool import Tool
from nbtool.tools.values.content_lines import ContentLines, content_lines
from nbtool.tools.values.jsonable import JsonConverter
from nbtool.tools.values.model_text import truncate
from nbtool.tools.values.table_preview import TablePreview, preview_table
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.variables.references import (
    REFERENCE_PREFIX,
    Path,
    ReferenceTarget,
    ResolvedArguments,
    resolve,
    without_references,
)
from nbtool.tools.variables.store import Variables

MAX_EFFECT = 20_000
"""Maximum number of characters shown of the effect of a call."""

WOULD_FAIL = "This call would fail: {reason}"
NO_PREVIEW = "What this call would change cannot be shown ({kind})."

MAX_CHEAP_CHARS = 10_000
"""Maximum number of characters of a text argument that is scanned on the event loop."""

MAX_FILLED = 2_000
"""Maximum number of characters shown of a default that validation filled in."""

MAX_PREVIEWS = 4
"""Maximum number of references of a call shown with their first rows."""


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call as it would run now.

    Args:
        arguments_json: the arguments as JSON.
        values: the values passed to the function.
        tokens: change when the object of a reference changes.
        tool_token: changes when the data that the tool uses besides its arguments changes; empty until it is
            computed.
        tool_problem: why such a change may go unnoticed.
        may_tool_change: the person was informed that this data keeps changing, so it is not compared any more.
        previews: the first rows of readable variables, by argument name.
        effect: what the call would change, as reported by the tool.
        unreadable_links: the references to variables that were exposed by reference only.
        described: the arguments, when it was bound, that differ from what was written: references by name, type and
            shape, and the defaults that were filled in.
        contents: the contents of the objects of readable variables when approval was asked, for comparison.
    """

    tool: Tool
    arguments_json: str
    resolved: ResolvedArguments
    values: dict[str, Any] = field(repr=False)
    tokens: Mapping[Path, tuple[ChangeToken, ...]]
    previews: dict[str, TablePreview] = field(default_factory=dict, repr=False)
    effect: str = field(default="", repr=False)
    unreadable_links: tuple[ReferenceTarget, ...] = field(default=(), repr=False)
    tool_token: str = ""
    tool_problem: str = ""
    may_tool_change: bool = False
    described: dict[str, ResolvedArgument] = field(default_factory=dict)
    contents: Mapping[Path, tuple[ContentLines | None, ...]] = field(default_factory=dict, repr=False)

    @property
    def discloses_values(self) -> bool:
        """Whether values exposed by reference only would leave this kernel with the arguments."""
        return bool(self.unreadable_links) and self.tool.sends_to != ""

    @property
    def arguments(self) -> dict[str, Any]:
        """A copy of the arguments as they were written."""
        arguments: dict[str, Any] = json.loads(self.arguments_json)
        return arguments

    @property
    def resolved_arguments(self) -> dict[str, ResolvedArgument]:
        """Each argument as the tool receives it."""
        return resolve_arguments(self.arguments_json, self.described)

    @property
    def token_digests(self) -> tuple[str, ...]:
        """The digests of all tokens, in the order of the references."""
        return tuple(token.digest for tokens in self.tokens.values() for token in tokens)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines about referenced objects and tool data that cannot be watched for changes."""
        of_tool = [f"The data that {self.tool.display_name!r} uses cannot be watched for changes: {self.tool_problem}."]
        of_references = (
            f"{link.reference.text} cannot be watched for changes: {token.problem}."
            for path, tokens in self.tokens.items()
            for link, token in zip(self.resolved.links[path], tokens, strict=True)
            if token.problem
        )
        return (*of_references, *(of_tool if self.tool_problem else ()))

    @property
    def arguments_text(self) -> str:
        """The arguments for display: indented JSON, in the order in which they were written, as the log shows them."""
        return json.dumps(self.arguments, indent=2, ensure_ascii=False)

    def question(
        self,
        call_id: str,
        gate: Gate,
        text: str,
        *,
        attempt: int = 0,
        media: tuple[Media, ...] = (),
        repeated: RepeatedQuestion | None = None,
    ) -> Question:
        """Return the question about this call at a gate; each `attempt` has its own digest."""
        tool = self.tool
        arguments, notes = self.arguments, self.notes if gate == "run" else ()
        identity_parts = {"tool": tool.name, "identity": tool.identity, "digest": tool.digest, "gate": gate}
        identity_parts["state"] = self.tool_token
        call_parts = {**identity_parts, "arguments": arguments, "references": self.token_digests, "effect": self.effect}
        notices = (self.disclosure_notice, worker_notice(tool.executor), tool.notice) if gate == "run" else ()
        notice = "\n\n".join(filter(None, notices))
        call_parts["notice"] = notice
        schema = json.loads(json.dumps(dict(tool.parameters.form_schema or tool.parameters.schema)))
        media_digests = [sha256(item.data or b"").hexdigest() for item in media]
        sensitive = tool.policy.sensitive or self.discloses_values
        keys = (
            {"tool": make_digest(**identity_parts)}
            if notes
            else {"call": make_digest(**call_parts), "tool": make_digest(**identity_parts)}
        )
        return Question(
            call_id=call_id,
            gate=gate,
            digest=make_digest(
                **call_parts, schema=schema, call_id=call_id, shown=text, attempt=attempt, media=media_digests
            ),
            tool=tool.name,
            shown=text,
            description=" ".join(filter(None, (tool.hint, tool.description))),
            notice=notice,
            schema=schema,
            arguments=arguments,
            described=dict(self.described),
            effect=self.effect if gate == "run" else "",
            media=media,
            sensitive=sensitive,
            can_remember=gate == "run" and not sensitive,
            remember_keys=keys,  # type: ignore[arg-type]  # the keys are those of Scope
            glances={**self.previews} if gate == "run" else {},
            notes=(*notes, rule) if (rule := rule_to_ask(tool)) else notes,
            again=repeated,
            qualified_name=tool.qualified_name,
            is_form=gate == "run" and tool.parameters.is_form,
            person_rule=person_rule(tool),
        )

    def same_as(self, other: BoundCall) -> bool:
        """Whether another binding has the same tool, arguments, object contents and effect."""
        of = attrgetter("arguments_json", "token_digests", "effect", "tool_token")
        return bool(of(self) == of(other)) and self.same_tool_as(other)

    def has_inputs(
        self, tool: Tool, arguments_json: str, resolved: ResolvedArguments, tokens: Mapping[Path, Any]
    ) -> bool:
        """Whether its values would come of these arguments, objects and tool too."""
        before = self.resolved.objects
        return (
            not any(token.problem for path_tokens in tokens.values() for token in path_tokens)
            and tool.parameters is self.tool.parameters
            and (arguments_json, tokens, resolved.objects.keys()) == (self.arguments_json, self.tokens, before.keys())
            and all(before[path] is value for path, value in resolved.objects.items())
        )

    def same_tool_as(self, other: BoundCall) -> bool:
        """Whether another binding would run the same tool."""
        return (self.tool.identity, self.tool.digest) == (other.tool.identity, other.tool.digest)

    def is_unchanged(self, states: ToolStates) -> bool:
        """Whether the objects and the tool's data are as they were when this call was approved; may take long."""
        if any(_change_tokens(path, self.resolved) != self.tokens[path] for path in self.resolved.objects):
            return False
        if self.may_tool_change or self.tool_problem or states.is_running_elsewhere(self.tool_token):
            return True
        now = tool_change_token(self.tool.function).digest
        return len(set(states.first_tokens(now, self.tool_token))) == 1  # a run of it may have ended since the question

    @property
    def disclosure_notice(self) -> str:
        """What the person must know if values exposed by reference only would leave this kernel; else empty."""
        names = ", ".join(dict.fromkeys(link.reference.name for link in self.unreadable_links))
        return (
            f"This sends the values of {names} to a server; the model may not read them."
            if self.discloses_values
            else ""
        )

    def with_tool_token(self, states: ToolStates) -> BoundCall:
        """Return the call with the current token of the data that the tool uses; may take long."""
        token = tool_change_token(self.tool.function)
        return replace(self, tool_token=states.first_token(token.digest), tool_problem=token.problem)

    def with_contents(self, variables: Variables) -> BoundCall:
        """Return the call with the current contents of the referenced objects that may be read; may take long."""
        contents = {
            path: tuple(
                content_lines(link.value) if variables.get(link.reference.name).is_readable else None for link in links
            )
            for path, links in self.resolved.links.items()
        }
        return replace(self, contents=contents)


def is_cheap(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether binding is fast and runs no user code: plain values for plain parameters, no reference."""
    return tool.parameters.is_plain and tool.preview_effect is None and all(map(_is_cheap_value, arguments.values()))


def _is_cheap_value(value: Any) -> bool:
    return type(value) in PLAIN_TYPES and (
        type(value) is not str or (len(value) <= MAX_CHEAP_CHARS and REFERENCE_PREFIX not in value)
    )


def bind(tool: Tool, arguments: Mapping[str, Any], variables: Variables, earlier: BoundCall | None = None) -> BoundCall:
    """Resolve and validate arguments as they are now. May take long: referenced objects are rendered as text.

    The values of an `earlier` binding are reused if the same arguments, objects and validator led to them: a check of
    the tool's author runs once, and what a person was asked about is what runs.

    Raises:
        ToolError: they are not JSON, a reference cannot be resolved, or they do not fit the tool's schema.
    """
    arguments_json = _json_arguments(tool.offer.restore(arguments))
    text = json.dumps(arguments_json)
    resolved = ResolvedArguments(arguments_json, json_text=text)
    unreadable_links: tuple[ReferenceTarget, ...] = ()
    tokens: dict[Path, tuple[ChangeToken, ...]] = {}
    previews: dict[str, TablePreview] = {}
    if tool.resolves_references and REFERENCE_PREFIX in text:
        resolved = resolve(arguments_json, variables)
        unreadable_links = _check_references(tool, resolved, variables)
        tokens = {path: _change_tokens(path, resolved) for path in resolved.links}
        previews = _previews(resolved, variables)
    is_same = earlier is not None and earlier.has_inputs(tool, text, resolved, tokens)
    values = earlier.values if earlier and is_same else tool.parameters.check(resolved)
    return BoundCall(
        tool,
        text,
        resolved,
        values,
        tokens,
        previews,
        _effect_preview(tool, values, resolved) if tool.preview_effect else "",
        unreadable_links,
        described=_describe_arguments(tool, arguments, arguments_json, values, resolved),
    )


def _check_references(tool: Tool, resolved: ResolvedArguments, variables: Variables) -> tuple[ReferenceTarget, ...]:
    """Render what a tool takes as text, and return the references to variables that were exposed by reference only.

    Raises:
        InvalidArguments: their values may not be sent where the tool sends its arguments.
    """
    _render_text_arguments(tool, resolved, variables)
    links = [link for path_links in resolved.links.values() for link in path_links]
    unreadable_links = tuple(link for link in links if not variables.get(link.reference.name).is_readable)
    if unreadable_links and tool.sends_to == "model":
        raise _disclosure_error(tool, unreadable_links[0])
    if links and tool.sends_to and (refusal := site_policy().values_refusal(f"{links[0].reference.text}")):
        raise InvalidArguments(refusal)
    return unreadable_links


def _describe_arguments(
    tool: Tool,
    written: Mapping[str, Any],
    arguments: Mapping[str, Any],
    values: Mapping[str, Any],
    resolved: ResolvedArguments,
) -> dict[str, ResolvedArgument]:
    """Describe each argument that is not as it was written, and each declared default that validation filled in."""
    described = {
        name: _described(name, value, resolved)
        for name, value in arguments.items()
        if (resolved.links and resolved.links_in(name)) or name not in written or written[name] != value
    }
    for name, parameter in tool.parameters.by_name.items():
        if parameter.is_filled_in(arguments):
            described[name] = ResolvedArgument(_filled_text(values[name]))
    return described


def _filled_text(value: Any) -> str:
    """Return the JSON of a default; a description if it has none."""
    converter = JsonConverter(MAX_FILLED)
    text = json.dumps(converter.convert(value), ensure_ascii=False)
    return text if converter.is_complete and not converter.has_objects else describe(value)


def _described(name: str, value: Any, resolved: ResolvedArguments) -> ResolvedArgument:
    references = tuple(link.resolved() for link in resolved.links_in(name))
    return ResolvedArgument(json.dumps(value, ensure_ascii=False), references, (name,) in resolved.objects)


def _render_text_arguments(tool: Tool, resolved: ResolvedArguments, variables: Variables) -> None:
    """Replace a readable object by its text if its parameter takes a text and not the object."""
    for path, value in tuple(resolved.objects.items()):
        link = resolved.links[path][0]
        if len(path) > 1 or not tool.parameters.takes_text(str(path[0]), value):
            continue
        if variables.get(link.reference.name).is_readable:
            text = variables.render(value) if link.reference.keys else variables.text(link.reference.name)
            resolved.arguments[str(path[0])] = text
            resolved.links[path] = (replace(link, text=text),)
            del resolved.objects[path]


def _disclosure_error(tool: Tool, link: ReferenceTarget) -> InvalidArguments:
    name = link.reference.name
    return InvalidArguments(
        f"{link.reference.text} was exposed by reference only, and {tool.name!r} sends its arguments to another model.",
        fix=f"Call it without its values, or ask the user for `--read {name}` or chat.expose(read=True, {name}=…).",
    )


def _change_tokens(path: Path, resolved: ResolvedArguments) -> tuple[ChangeToken, ...]:
    """Return the tokens of the references at one path: of the object passed on, or of the text created from it."""
    links = resolved.links[path]
    if path in resolved.objects:
        return tuple(change_token(link.value) for link in links)
    value: Any = resolved.arguments
    for step in path:
        value = value[step]
    digest = sha256(str(value).encode("utf-8", "surrogatepass")).hexdigest()
    return tuple(ChangeToken(f"{link.reference.text}={digest}") for link in links)


def _effect_preview(tool: Tool, values: Mapping[str, Any], resolved: ResolvedArguments) -> str:
    """Return the effect that the tool reports for this call, or why there is none.

    It receives its own copy of the values, so that it cannot change what runs. The reason goes to the person only: to a
    model it could tell what a file or a cell contains.
    """
    if tool.preview_effect is None:
        return ""
    try:
        same_objects = {id(value): value for value in resolved.objects.values()}
        positional, keywords = tool.parameters.bind(deepcopy(dict(values), same_objects))
        return truncate(str(tool.preview_effect(*positional, **keywords)), MAX_EFFECT)
    except ToolFailed as error:
        return truncate(WOULD_FAIL.format(reason=error), MAX_EFFECT)
    except Exception as error:  # noqa: BLE001 - such a call reports its own error when it runs
        return NO_PREVIEW.format(kind=type(error).__name__)


def _previews(resolved: ResolvedArguments, variables: Variables) -> dict[str, TablePreview]:
    """Return the first rows behind the references to readable variables."""
    previews: dict[str, TablePreview] = {}
    for path, links in resolved.links.items():
        if len(previews) == MAX_PREVIEWS or not variables.get(links[0].reference.name).is_readable:
            continue
        if preview := preview_table(links[0].value):
            previews.setdefault(path[0] if isinstance(path[0], str) else str(path[0]), preview)
    return previews


def _json_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy that contains only JSON values, and texts that can be encoded."""
    try:
        text = json.dumps(dict(arguments))
        copy: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(f"The arguments are not JSON: {error}.") from None
    has_surrogates = "\\ud" in text  # as JSON writes them, in pairs or alone
    return without_references(copy).arguments if has_surrogates else copy
