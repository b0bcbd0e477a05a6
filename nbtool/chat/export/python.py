"""Export turns as plain Python: the successful calls, in order, without nbtool and without a model.

Calls become calls of the user's functions on the user's variables, references become names. Failed calls are omitted
and counted; calls that cannot be written become comments that say what is missing. Code that the model wrote is in
separate, marked cells. Text of the model cannot escape the string or the comment that contains it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nbtool.blocks.sanitize import escape_invisible, one_line
from nbtool.chat.export.call_code import CallWriter, ExportContext, arguments_of
from nbtool.chat.export.definitions import Definitions, definitions_of
from nbtool.chat.export.dependencies import TurnCalls, names_used, required_calls, successful_calls
from nbtool.chat.export.literals import LiteralWriter, NotLiteral, text_literal
from nbtool.chat.export.model_code import BY_MODEL, UNSEEN, as_comment, as_source, compiles, names_in
from nbtool.chat.export.names import NotebookNames
from nbtool.chat.export.redaction import Redaction
from nbtool.chat.export.references import Binding, ReferenceWriter
from nbtool.chat.turn import Turn
from nbtool.errors import UnknownReference
from nbtool.tools.variables.eviction import EvictedResult
from nbtool.turn_state import Call

TITLE = "# The calls of a chat as plain Python. nbtool wrote this; running it needs neither nbtool nor a model."
TITLE_WITH_NBTOOL = (
    "# The calls of a chat as plain Python. nbtool wrote this; running it needs no model, and nbtool only for: {names}."
)
DEFINITIONS_TITLE = "# Of your notebook, without tool decorators; where a name is taken, yours stays:"
REDACTED = "# Private values are replaced by [email] and the like: put them back before you run it."
FROM_FILE = "# From an imported file: these calls were not run here. Review them before you run them."
CHECK_SOURCE = """if {missing} := [name for name in {needed} if name not in {globals}()]:
    raise {NameError}(f"Define first, as in the notebook of this chat: {{', '.join({missing})}}")"""

OMITTED_REASONS: dict[str, str] = {
    "denied": "denied",
    "withheld": "whose result was withheld",
    "error": "that failed",
    "not_found": "of tools that do not exist",
    "invalid": "with arguments that do not fit",
    "timed_out": "that timed out",
    "cancelled": "cancelled",
    "stopped": "that you stopped",
    "not_run": "that did not run",
    "unknown": "whose outcome is unknown",
    "looked": "that only listed or read variables",
    "unwritten": "that cannot be written (see below)",
}
"""The labels of omitted calls, by their status or the reason of the omission."""

_VARIABLE_TOOLS = frozenset(("ListVars", "ReadVar", "WriteVar", "RemoveVars"))
_RUN_PYTHON = "run_python"


@dataclass(frozen=True, slots=True)
class CodeCell:
    """A piece of code; `by_model`: the model wrote it. `turn_id` is empty for code that precedes all turns."""

    source: str
    by_model: bool = False
    turn_id: str = ""


@dataclass(frozen=True, slots=True)
class PythonExport:
    """Turns as code: the cells in order, the number of calls in them, and the counts of omitted calls."""

    cells: tuple[CodeCell, ...]
    calls: int
    omitted: Mapping[str, int]

    @property
    def text(self) -> str:
        """All cells as one source text."""
        return "\n\n".join(cell.source for cell in self.cells) + "\n"

    @property
    def has_code(self) -> bool:
        """Whether there is more in it than counts: a call, or a comment with what a call lacks."""
        return bool(self.calls or self.omitted.get("unwritten"))

    @property
    def omitted_text(self) -> str:
        """The counts of omitted calls, by reason."""
        return _count_omitted(self.omitted)

    @property
    def summary(self) -> str:
        """The number of exported calls, and of omitted ones by reason."""
        calls_text = f"{self.calls} {'call' if self.calls == 1 else 'calls'}"
        return f"{calls_text}; left out: {self.omitted_text}" if self.omitted else calls_text


def export_python(
    turns: Sequence[Turn], context: ExportContext, *, before: Sequence[Turn] = (), call_id: str = ""
) -> PythonExport:
    """Return turns as plain Python, with those calls of the turns `before` whose results they use.

    With `call_id`, only this call of the first turn, and the calls before it that it uses.
    """
    redaction = Redaction(context.plugins)
    earlier: list[TurnCalls] = [(turn, redaction.calls(turn)) for turn in before]
    selected: list[TurnCalls] = [(turn, redaction.calls(turn)) for turn in turns]
    at = next((at for at, call in enumerate(turns[0].calls if turns else ()) if call.call_id == call_id), None)
    if at is not None:
        (turn, calls), *_ = selected
        earlier, selected = [*earlier, (turn, calls[:at])], [(turn, [calls[at]])]
    required = required_calls(earlier, selected)
    everything = [*required, *selected]
    names = NotebookNames(context.notebook, _names_of_code(everything))
    references = ReferenceWriter(names, context.variables)
    sheet = _Builder(names, references, CallWriter(names, references, context), names_used(everything), redaction)
    for turn, calls in required:
        sheet.turn(turn, calls, "Needed from the turn")
    for turn, calls in selected:
        sheet.turn(turn, calls, "Turn")
    code = sheet.code()
    return code if compiles(code.text, script=context.script) else _commented_out(code)


class _Builder:
    """Accumulate the code, one call after another."""

    def __init__(
        self,
        names: NotebookNames,
        references: ReferenceWriter,
        writer: CallWriter,
        used: set[str],
        redaction: Redaction,
    ) -> None:
        self._names = names
        self._references = references
        self._writer = writer
        self._used = used
        self._redaction = redaction
        self._turn_id = ""
        self._cells: list[CodeCell] = []
        self._lines: list[str] = []
        self._calls = 0
        self._last_result = ""
        self._omitted: Counter[str] = Counter()

    def turn(self, turn: Turn, calls: Sequence[Call], title: str) -> None:
        """Add these calls of a turn, if there are any."""
        if not calls:
            return
        self._turn_id = turn.turn_id
        name = self._writer.context.numbers.get(turn.turn_id) or one_line(turn.turn_id, 40)
        self._lines.append(f"# {title} {name}: {one_line(self._redaction.text(turn.prompt.text, turn), 100)}")
        for call in calls:
            if call.status == "ok":
                self._call(call)
            else:
                self._omitted[call.status if call.status in OMITTED_REASONS else "unknown"] += 1
                self._omit(call, "a call that did not succeed")
        self._close()

    def code(self) -> PythonExport:
        """Return the complete code, preceded by imports and definitions."""
        context = self._writer.context
        closed = frozenset(entry.name for entry in context.variables.list_entries() if not entry.is_readable)
        used = definitions_of(
            sorted(self._names.used),
            context.notebook,
            closed=closed,
            is_private=self._redaction.changes,
            cells=context.cells or (),
        )
        head = [_title(used), *([] if context.trusted else [FROM_FILE])]
        if self._redaction.has_changed:
            head.append(REDACTED)
        if used.missing:
            needed = ", ".join(f"{name} ({one_line(kind, 40)})" for name, kind in sorted(used.missing.items()))
            head.append(f"# Needs from your notebook: {needed}")
        if self._omitted:
            head.append(f"# Calls that are left out: {_count_omitted(self._omitted)}.")
        check = self._check_of_names(used.missing)
        imports = sorted({*self._names.imports, *used.imports})
        defined = "\n".join([DEFINITIONS_TITLE, *used.sources]) if used.sources else ""
        pieces = ["\n".join(head), "\n".join(imports), check, defined, "\n".join(self._names.constructed)]
        first = CodeCell("\n\n".join(piece.rstrip("\n") for piece in pieces if piece))
        if context.cells is not None and self._last_result and not self._cells[-1].by_model:
            self._cells[-1] = replace(self._cells[-1], source=f"{self._cells[-1].source}\n{self._last_result}")
        return PythonExport((first, *self._cells), self._calls, dict(self._omitted))

    def _check_of_names(self, names: Iterable[str]) -> str:
        """Return code that raises one clear error if a name of the notebook is missing; empty if none is needed."""
        if not (every := sorted(names)):
            return ""
        in_calls = [name for name in every if name in self._names.used]
        defined = sorted(self._names.used.keys() - {*every})
        needed = json.dumps(every)
        builtins = {name: self._names.builtin(name) for name in ("globals", "NameError")}
        if in_calls != every:  # the others are used by the definitions below, which give way to the notebook's own
            is_defined = f"{{{json.dumps(defined)[1:-1]}}} <= {builtins['globals']}().keys()"
            needed = f"({json.dumps(in_calls)} if {is_defined} else {needed})"
        return CHECK_SOURCE.format(missing=self._names.unique("missing"), needed=needed, **builtins)

    def _call(self, call: Call) -> None:
        origin = self._origin(call)
        try:
            if origin.startswith("nbtool.variables."):
                self._variable_tool(call)
            elif origin.startswith("nbtool.python."):
                self._code(call)
            elif origin == "nbtool.script":
                self._lines.append(
                    "# These calls were made by a script of the model; the rest of the script is not exported:"
                )
            else:
                self._plain(call)
        except NotLiteral as missing:
            self._omitted["unwritten"] += 1
            self._omit(call, "a call that is not exported")
            description = f"{one_line(call.display_name, 64)}({one_line(call.edited or call.arguments, 200)})"
            self._lines += [f"# Not exported: {description}", f"#   It needs {escape_invisible(str(missing))}."]

    def _origin(self, call: Call) -> str:
        """Return the origin of a tool; a removed built-in tool is recognized by name, unless the notebook has it."""
        if tool := self._writer.context.tools.get(call.name):
            return tool.origin
        if self._names.has(call.name):
            return ""
        if call.name in _VARIABLE_TOOLS:
            return f"nbtool.variables.{call.name}"
        return f"nbtool.python.{_RUN_PYTHON}" if call.name == _RUN_PYTHON else ""

    def _plain(self, call: Call) -> None:
        code = self._writer.write(call)
        gives_nothing = call.result is None and call.shown.strip() in ("", "None")
        name = "" if gives_nothing else self._names.numbered("r")
        self._lines += [f"# {remark}" for remark in code.remarks]
        self._lines.append(f"{name} = {code.expression}" if name else code.expression)
        self._last_result = name
        self._calls += 1
        if any(decided.gate == "result" and decided.edited for decided in call.decisions):
            self._insert_text(call)
        elif call.reference:
            binding = Binding(name or "None")
            is_there = not isinstance(call.result, EvictedResult)
            self._references.bind(call.reference, replace(binding, value=call.result) if is_there else binding)
        elif call.dead_reference:  # the object is gone, but the code creates it
            self._references.bind(call.dead_reference, Binding(name or "None"))
        self._keep_arguments(call)

    def _keep_arguments(self, call: Call) -> None:
        """Assign arguments that later calls refer to; references in them stay text."""
        if call.arguments_reference in self._used:
            name, arguments = self._names.numbered("r"), arguments_of(call)
            self._lines.append(f"{name} = {LiteralWriter(self._names).write(arguments)}")
            self._references.bind(call.arguments_reference, Binding(name, value=arguments))

    def _insert_text(self, call: Call) -> None:
        """Assign the text of an edited result, if later calls use it."""
        if call.result_name not in self._used:
            return
        try:
            text = self._writer.context.variables.value(call.result_name)
        except UnknownReference:
            text = None
        if not isinstance(text, str):
            return self._omit(call, "an edited result whose text is no longer available")
        name, text = self._names.numbered("r"), self._redaction.text(text)
        self._lines.append(f"{name} = {text_literal(text)}  # the edited result")
        self._references.bind(call.result_name, Binding(name, value=text))

    def _variable_tool(self, call: Call) -> None:
        """Assign a note that later calls use; listing, reading and removing variables has no effect in code."""
        arguments = arguments_of(call) if call.name == "WriteVar" else {}
        note, text = arguments.get("name"), arguments.get("value")
        if note in self._used and isinstance(note, str) and isinstance(text, str):
            name = self._names.numbered("r")
            self._lines.append(f"{name} = {text_literal(text)}  # a note of the model")
            self._references.bind(note, Binding(name, value=text))
            self._calls += 1
        else:
            self._omitted["looked"] += 1

    def _code(self, call: Call) -> None:
        """Add code of the model as a separate cell."""
        code = arguments_of(call).get("code")
        if not isinstance(code, str):
            raise NotLiteral("code")
        is_used = call.result_name in self._used
        name = self._names.numbered("r") if is_used else ""
        self._last_result = ""
        self._close()
        try:
            if not self._writer.context.trusted:
                raise NotLiteral("a review of this code")
            source = as_source(code, name)
        except NotLiteral:
            mark = BY_MODEL if self._writer.context.trusted else UNSEEN
            self._cells.append(CodeCell(f"{mark}\n{as_comment(code)}", by_model=True, turn_id=self._turn_id))
            raise
        self._cells.append(CodeCell(f"{BY_MODEL}\n{source}", by_model=True, turn_id=self._turn_id))
        self._calls += 1
        if is_used:
            value = call.result.get("value") if isinstance(call.result, dict) else None
            self._references.bind(call.result_name, Binding(name, value=value, keys=("value",)))

    def _omit(self, call: Call, reason: str) -> None:
        """Record why the result of a call is missing, for later references to it."""
        if call.result_name:
            self._references.bind(
                call.result_name, Binding(missing=f"the result of `{one_line(call.display_name)}`, {reason}")
            )

    def _close(self) -> None:
        if self._lines:
            self._cells.append(CodeCell("\n".join(self._lines), turn_id=self._turn_id))
            self._lines = []


def _title(used: Definitions) -> str:
    return TITLE_WITH_NBTOOL.format(names=", ".join(used.from_nbtool)) if used.from_nbtool else TITLE


def _names_of_code(turns: Iterable[TurnCalls]) -> set[str]:
    """Return the names in code of the model, which the surrounding code must not reuse."""
    codes = [_code_in(call) for call in successful_calls(turns)]
    return {name for code in codes for name in names_in(code)}


def _code_in(call: Call) -> str:
    try:
        return str(arguments_of(call).get("code", ""))
    except NotLiteral:
        return ""


def _commented_out(code: PythonExport) -> PythonExport:
    """Comment out the model's code if the complete source does not compile with it."""
    cells = [replace(cell, source=as_comment(cell.source)) if cell.by_model else cell for cell in code.cells]
    omitted_count = sum(cell.by_model for cell in cells)
    return PythonExport(
        tuple(cells),
        code.calls - omitted_count,
        {**code.omitted, "unwritten": code.omitted.get("unwritten", 0) + omitted_count},
    )


def _count_omitted(omitted: Mapping[str, int]) -> str:
    return ", ".join(f"{omitted[reason]} {text}" for reason, text in OMITTED_REASONS.items() if omitted.get(reason))
