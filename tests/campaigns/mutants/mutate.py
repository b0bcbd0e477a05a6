"""The mutants that a file of Python has: one small change of meaning each, found in its syntax tree.

What is left out says nothing about the tests: annotations, decorators, docstrings, words for people (a text with a
space in it), what stands in an f-string (its place is not known to Python 3.11), and lines that coverage leaves out.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
"""What each comparison becomes."""

COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
"""What each operator of arithmetic becomes; `|` joins types more often than bits, and stays."""

LEFT_OUT = "pragma: no cover"
NAMING = {"Literal", "TypeVar", "cast", "NewType", "ContextVar"}
"""Calls and subscripts whose texts are names for a reader or a type checker."""

WORDS = {"fix", "stacklevel"}
"""Arguments that hold words for people, or say where these are shown."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the bytes from `start` to `end` of the file at `path` become `after`.

    `lines` are those of the statement it stands in, `place` the function or class. `at_import`: it runs when the module
    is imported, also in a function that the module itself calls then. The id stays the same while the function moves,
    and ends when the changed words do.
    """

    path: str
    place: str
    before: str
    after: str
    start: int
    end: int
    lines: tuple[int, int]
    at_import: bool
    mutant_id: str = ""

    def of(self, source: bytes) -> bytes:
        """Return the changed source; every line that follows keeps its number."""
        after, lost = self.after, "\n" * source[self.start : self.end].count(b"\n")
        after = f"{after[:-1]}{lost})" if after.startswith("(") else after + lost
        return source[: self.start] + after.encode() + source[self.end :]


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Return every mutant of a file, with its id."""
    source = path.read_bytes()
    found = _Search(path.relative_to(root).as_posix(), source).mutants()
    seen: Counter[str] = Counter()
    named = []
    for mutant in found:
        words = f"{mutant.path} {mutant.place} {mutant.before} -> {mutant.after}"
        number = seen[words]
        seen[words] += 1
        digest = hashlib.sha256(f"{words} {number}".encode()).hexdigest()[:8]
        named.append(replace(mutant, mutant_id=f"{mutant.path}:{mutant.place or 'module'}:{digest}"))
    return named


class _Search:
    """A walk through one file; it knows which function and which statement it is in."""

    def __init__(self, path: str, source: bytes) -> None:
        self._path, self._source = path, source
        self._text = source.decode().split("\n")
        self._starts = [0]
        for line in source.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def mutants(self) -> Iterator[Mutant]:
        tree = ast.parse(self._source)
        self._import_calls = set(_import_calls(tree.body))
        yield from self._body(tree.body, "", at_import=True)

    def _body(self, body: list[ast.stmt], place: str, *, at_import: bool) -> Iterator[Mutant]:
        for statement in body:
            if _is_prose(statement) or _is_for_types(statement) or self._is_left_out(statement):
                continue
            yield from self._statement(statement, place, at_import=at_import)

    def _statement(self, statement: ast.stmt, place: str, *, at_import: bool) -> Iterator[Mutant]:
        inner = f"{place}.{statement.name}".strip(".") if isinstance(statement, _NAMED) else place
        is_function = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        lines = (statement.lineno, _header_end(statement))
        for node, after in _changes(statement, at_import=at_import):
            start, end = self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)
            before = " ".join(self._source[start:end].decode().split())
            if isinstance(node, ast.expr) and node.end_lineno != node.lineno and not after.startswith("("):
                after = f"({after})"
            runs_at_import = at_import or inner in self._import_calls
            yield Mutant(self._path, inner, before, after, start, end, lines, runs_at_import)
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            for below in getattr(statement, part, []):
                if isinstance(below, ast.ExceptHandler | ast.match_case):
                    yield from self._body(below.body, inner, at_import=at_import and not is_function)
                else:
                    yield from self._body([below], inner, at_import=at_import and not is_function)

    def _offset(self, line: int | None, column: int | None) -> int:
        assert line is not None
        assert column is not None
        return self._starts[line - 1] + column

    def _is_left_out(self, statement: ast.stmt) -> bool:
        return LEFT_OUT in self._text[statement.lineno - 1]


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _import_calls(body: list[ast.stmt]) -> Iterator[str]:
    """Return the names that are called while the module is imported, outside of functions."""
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        below = ast.iter_child_nodes(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            below = iter(getattr(node, "decorator_list", []))
        waiting += below


def _is_prose(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_for_types(statement: ast.stmt) -> bool:
    """Whether a statement is read by type checkers, or names what a module gives away."""
    if isinstance(statement, ast.If) and isinstance(statement.test, ast.Name):
        return statement.test.id == "TYPE_CHECKING"
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"


def _header_end(statement: ast.stmt) -> int:
    """Return the last line of a statement, without the statements in it."""
    below = [part for part in ("body", "cases", "handlers") if getattr(statement, part, [])]
    if not below:
        return statement.end_lineno or statement.lineno
    first = getattr(statement, below[0])[0]
    return max(statement.lineno, getattr(first, "lineno", statement.lineno + 1) - 1)


def _changes(statement: ast.stmt, *, at_import: bool) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    """Return the changes of one statement, but not of those in it: the node to replace, and by which text."""
    yield from _whole(statement, at_import=at_import)
    if isinstance(statement, ast.If | ast.While) and not _turns_by_itself(statement.test):
        yield statement.test, f"(not ({ast.unparse(statement.test)}))"
    for expression in _expressions(statement):
        for node in _inside(expression):
            for changed in _variants(node):
                yield node, changed if isinstance(changed, str) else f"({ast.unparse(changed)})"


def _whole(statement: ast.stmt, *, at_import: bool) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    """Leave a statement out, or take the value out of it."""
    match statement:
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Delete():
            yield statement, "pass"
        case ast.Return(value=ast.expr() as value) if not _is_empty(value):
            yield value, "None"
        case ast.Assign(value=value) if not at_import and not _is_empty(value):
            yield value, "None"
        case ast.AugAssign(op=op) if type(op) in COUNTED:
            changed = copy.deepcopy(statement)
            changed.op = COUNTED[type(op)]()
            yield statement, ast.unparse(changed)
        case ast.Break():
            yield statement, "continue"
        case ast.Continue():
            yield statement, "break"


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Return the expressions that belong to a statement itself, without annotations and decorators."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (default for default in [*statement.args.defaults, *statement.args.kw_defaults] if default)
        case ast.ClassDef():
            return
        case ast.AnnAssign():
            yield from [statement.value] if statement.value else []
        case ast.Match():
            yield from [statement.subject, *(case.guard for case in statement.cases if case.guard)]
        case ast.Try():
            return
        case ast.Expr(value=value) | ast.Return(value=ast.expr() as value) | ast.Assign(value=value):
            yield value
        case _:
            yield from (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr))
            for item in getattr(statement, "items", []):
                yield item.context_expr


def _inside(node: ast.AST) -> Iterator[ast.expr]:
    """Walk an expression, but not into what has no place of its own or is a name for readers."""
    if isinstance(node, ast.JoinedStr):
        return
    named = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else None
    if isinstance(named, ast.Name) and named.id in NAMING:
        return
    if isinstance(node, ast.expr):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _inside(child)


def _variants(node: ast.expr) -> Iterator[ast.expr | str]:
    """Return what an expression may become."""
    match node:
        case ast.Compare():
            yield from _otherwise_compared(node)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp(op=op) if type(op) in COUNTED:
            yield ast.BinOp(node.left, COUNTED[type(op)](), node.right)
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Call():
            yield from _with_less(node)
        case ast.Constant(value=value):
            yield from _other_constant(value)


def _otherwise_compared(node: ast.Compare) -> Iterator[ast.expr]:
    for place, op in enumerate(node.ops):
        changed = copy.deepcopy(node)
        changed.ops[place] = COMPARED[type(op)]()
        yield changed


def _with_less(call: ast.Call) -> Iterator[ast.expr]:
    for left_out in call.keywords:
        if left_out.arg and left_out.arg not in WORDS:
            yield ast.Call(call.func, call.args, [keyword for keyword in call.keywords if keyword is not left_out])


def _other_constant(value: object) -> Iterator[str]:
    match value:
        case bool():
            yield str(not value)
        case int() | float():
            yield repr(value + 1)
        case str() if not any(map(str.isspace, value)) or not value.strip():
            yield repr(f"XX{value}XX")


def _turns_by_itself(test: ast.expr) -> bool:
    """Whether a condition has a change of its own that is its opposite."""
    opposites = ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(ops=[op]):
            return isinstance(op, opposites)
    return False


def _is_empty(value: ast.expr) -> bool:
    """Whether a value is as good as None where only its truth is asked for."""
    return isinstance(value, ast.Constant) and not value.value
