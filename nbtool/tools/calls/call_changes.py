"""What changed between the call that a person was asked about and the call that would run now."""

from __future__ import annotations

from nbtool.events import Difference, ResolvedArgument
from nbtool.tools.calls.bound_call import MAX_EFFECT, BoundCall
from nbtool.tools.content_hash.source import verified_source
from nbtool.tools.tool import Tool
from nbtool.tools.values.content_lines import ContentLines, comparison_note, content_difference
from nbtool.tools.values.line_diff import changed_lines
from nbtool.tools.values.model_text import truncate
from nbtool.tools.variables.references import Path, ReferenceTarget


def find_differences(before: BoundCall, current: BoundCall) -> tuple[Difference, ...]:
    """Return what is different now; of the contents of referenced objects, those that may be read."""
    former, now = before.resolved_arguments, current.resolved_arguments
    differences = [
        _difference(
            f"the argument {name!r}",
            _format_argument(former.get(name)),
            _format_argument(now.get(name)),
        )
        for name in {**former, **now}
    ]
    if not before.same_tool_as(current):
        differences.append(_difference("the tool", _definition(before.tool), _definition(current.tool)))
    elif before.tool_token != current.tool_token:
        differences.append(Difference("the data that the tool uses: its object, closure, defaults or globals"))
    differences.append(_effect_difference(before.effect, current.effect))
    changed = [difference for difference in differences if difference]
    contents = _changed_contents(before, current)
    shown = contents if not changed else [content for content in contents if content.before or content.after]
    return (*changed, *shown) or (Difference("the call"),)


def _changed_contents(before: BoundCall, current: BoundCall) -> list[Difference]:
    """Return the references whose objects were changed in place, or replaced by others."""
    return [
        _content_difference(link, _content(before, path, index), _content(current, path, index))
        for path, tokens in before.tokens.items()
        for index, (link, old, new) in enumerate(
            zip(before.resolved.links[path], tokens, current.tokens.get(path, ()), strict=False)
        )
        if old.digest != new.digest
    ]


def _content(call: BoundCall, path: Path, index: int) -> ContentLines | None:
    contents = call.contents.get(path, ())
    return contents[index] if index < len(contents) else None


def _content_difference(link: ReferenceTarget, before: ContentLines | None, after: ContentLines | None) -> Difference:
    what = f"what is in {link.reference.path}"
    if before is None or after is None:
        return Difference(what)
    removed, added = content_difference(before, after)
    return Difference(what + comparison_note(before, after), removed, added, is_content=True)


def _format_argument(argument: ResolvedArgument | None) -> str:
    if argument is None:
        return ""
    references = "; ".join(f"{reference.name}: {reference.text}" for reference in argument.references)
    return references if argument.is_reference else f"{argument.text} ({references})" if references else argument.text


def _difference(what: str, before: str, after: str) -> Difference | None:
    return Difference(what, before, after) if before != after else None


def _effect_difference(before: str, after: str) -> Difference | None:
    """Return the lines of an effect that are different; the question itself shows all of it."""
    if before == after:
        return None
    removed, added = changed_lines(before.splitlines(), after.splitlines())
    return Difference("what will change", "\n".join(removed), "\n".join(added))


def _definition(tool: Tool) -> str:
    """Return a tool's definition for display: its source if it can be read, else its name and description."""
    code = getattr(tool.function, "__code__", None)
    source = verified_source(code) if code is not None and code.co_name != "<lambda>" else ""
    return truncate(source or f"{tool.name}: {tool.description}", MAX_EFFECT)
