"""Validate and compile a script."""

from __future__ import annotations

import ast
import builtins
from types import CodeType
from typing import Any

from nbtool.text import shorten

SCRIPT_FILE = "<script>"
MAIN_NAME = "_main"
OWN_NAMES = "_own"

MAX_SCRIPT = 20_000
"""Maximum number of characters of a script."""

_SAFE_BUILTINS = """
abs all any bool bytes chr dict divmod enumerate filter float format frozenset hash hex int isinstance issubclass iter
len list map max min next oct ord pow range repr reversed round set slice sorted str sum tuple zip
ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NameError NotImplementedError
OverflowError RecursionError RuntimeError StopIteration TimeoutError TypeError UnicodeError ValueError ZeroDivisionError
"""
BUILTINS: dict[str, Any] = {name: getattr(builtins, name) for name in _SAFE_BUILTINS.split()}
"""The builtins of a script: none that read, write, import or evaluate."""

_FORBIDDEN_NODES: dict[type[ast.AST], str] = {
    ast.Import: "imports",
    ast.ImportFrom: "imports",
    ast.ClassDef: "classes",
    ast.AsyncFunctionDef: "async",
    ast.AsyncFor: "async",
    ast.AsyncWith: "async",
    ast.Await: "async",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}


def validate(script: str) -> str:
    """Return a script if it is allowed.

    Raises:
        ValueError: it is too long, is not Python, or uses a construct that is not allowed.
    """
    if len(script) > MAX_SCRIPT:
        raise ValueError(f"a script of at most {MAX_SCRIPT} characters, not {len(script)}")
    for node in ast.walk(_parse(script)):
        if construct := _forbidden(node):
            raise ValueError(f"a script without {construct} (line {getattr(node, 'lineno', 1)})")
    return script


def compile_script(script: str) -> CodeType:
    """Compile a script as the function `MAIN_NAME`, so that it may return; it also returns its last expression.

    Texts in it with references are marked as written by the model: only these are resolved.
    """
    main = ast.parse(f"def {MAIN_NAME}(): pass").body[0]
    assert isinstance(main, ast.FunctionDef)
    body = _parse(script).body
    if body and isinstance(last := body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    main.body = [_MarkReferences().visit(node) for node in body] or main.body
    module = ast.fix_missing_locations(ast.Module([main], []))
    return compile(module, SCRIPT_FILE, "exec", dont_inherit=True)


class _MarkReferences(ast.NodeTransformer):
    """Wraps texts with references, except those in f-strings and patterns."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, str) or "$VAR_REF{{" not in node.value:
            return node
        return ast.copy_location(ast.Call(ast.Name(OWN_NAMES, ast.Load()), [node], []), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        return node


def _parse(script: str) -> ast.Module:
    try:
        return ast.parse(script, SCRIPT_FILE)
    except SyntaxError as error:
        raise ValueError(f"Python: {error.msg} (line {error.lineno})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"Python: {error}") from None


def _forbidden(node: ast.AST) -> str:
    if construct := _FORBIDDEN_NODES.get(type(node)):
        return construct
    if isinstance(node, ast.ExceptHandler) and node.type is None:
        return "a bare except; name what it catches"
    identifiers = [getattr(node, field, None) for field in ("id", "attr", "name", "arg", "rest")]
    for name in [*identifiers, *(node.names if isinstance(node, ast.Global | ast.Nonlocal) else ())]:
        if isinstance(name, str) and name.startswith("_") and name != "_":
            return f"names that begin with _, as {shorten(name, 40)!r}"
    return ""
