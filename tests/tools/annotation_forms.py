"""The forms of annotations, what each means, and the places where a function with it may be defined.

Each form is source text, since some are the syntax of newer Pythons. `measure` defines a function with it at each place,
lets a model's arguments be read, and says where the outcome is another one than is stated here. The page
docs/annotations.md is made of this.
"""

# ruff: noqa: E501 - a form is a line, as a row of a table

from __future__ import annotations

import importlib.util
import json
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.variables.references import without_references


@dataclass(frozen=True, slots=True)
class Form:
    """An annotation.

    Args:
        group: the heading under which it stands.
        annotation: its source.
        written: what a model writes, as JSON.
        received: the `repr` of what the function gets.
        schema: the types of its schema, separated by ` or `, with their formats.
        refused: JSON that is not taken; empty for none.
        default: the source of a default.
        stated_default: how the schema tells that default, as JSON; empty if it has no JSON form.
        setup: source that defines names of the annotation.
        since: the oldest Python with the syntax.
        needs: a package.
        parameters: PEP 695 type parameters of the function.
        kind: what stands before the parameter: `*` or `**`.
    """

    group: str
    annotation: str
    written: str
    received: str
    schema: str
    refused: str = ""
    default: str = ""
    stated_default: str = ""
    setup: str = ""
    since: tuple[int, int] = (3, 11)
    needs: str = ""
    parameters: str = ""
    kind: str = ""

    @property
    def is_available(self) -> bool:
        """Whether this Python has its syntax and its package."""
        return sys.version_info >= self.since and (not self.needs or importlib.util.find_spec(self.needs) is not None)


_DATES = "import datetime as dt"
_NUMPY = "import numpy as np"
_PANDAS = "import pandas as pd"
_TYPING = "from typing import *\nfrom typing_extensions import TypeVar, TypeAliasType, TypedDict, Unpack, ReadOnly"
_OPTIONS = f"{_TYPING}\nclass Options(TypedDict, total=False):\n    limit: Required[int]\n    sort: str"

PLAIN, LIBRARY, VARIABLES, NAMES, KEYS = (
    "Python's types", "Scalar classes", "Type variables", "Names for types", "Unpacked `*args` and `**kwargs`",
)  # fmt: skip

FORMS = (
    Form(PLAIN, "int", "5", "5", "integer", "5.5", "3", "3"),
    Form(PLAIN, "int", "5.0", "5", "integer", '"5"'),
    Form(PLAIN, "int", "1e3", "1000", "integer", "true"),
    Form(PLAIN, "float", "5", "5.0", "number", '"5"', 'float("inf")'),
    Form(PLAIN, "bool", "true", "True", "boolean", "1", "False", "false"),
    Form(PLAIN, "str", '"a"', "'a'", "string", "1", "'b'", '"b"'),
    Form(PLAIN, "int | None", "2.0", "2", "integer or null", '"2"', "None", "null"),
    Form(PLAIN, "int | float", "5.0", "5.0", "integer or number"),
    Form(PLAIN, "list[int]", "[1.0, 2]", "[1, 2]", "array", "[1.5]", "(1, 2)", "[1, 2]"),
    Form(PLAIN, "tuple[int, ...]", "[1]", "(1,)", "array", '["a"]', "(1, 2)", "[1, 2]"),
    Form(PLAIN, "dict[str, int]", '{"a": 1.0}', "{'a': 1}", "object", '{"a": "1"}'),
    Form(PLAIN, "Iterable[str]", '["a"]', "['a']", "array", "[1]", setup=_TYPING),
    Form(PLAIN, "Collection[int]", "[1]", "[1]", "array", '"a"', setup=_TYPING),
    Form(PLAIN, "Literal[1, 2]", "2.0", "2", "integer", "3", "1", "1", setup=_TYPING),
    Form(PLAIN, "Annotated[int, Field(ge=1)]", "1.0", "1", "integer", "0", "3", "3", setup=f"{_TYPING}\nfrom pydantic import Field"),
    Form(PLAIN, "Color", '"red"', "<Color.RED: 'red'>", "string", '"green"', "Color.RED", '"red"', setup="import enum\nclass Color(enum.Enum):\n    RED = 'red'"),
    Form(PLAIN, "dt.date", '"2026-01-02"', "datetime.date(2026, 1, 2)", "string (date)", "5", "dt.date(2026, 1, 3)", '"2026-01-03"', setup=_DATES),
    Form(PLAIN, "dt.timedelta", '"P1D"', "datetime.timedelta(days=1)", "string (duration)", '"x"', "dt.timedelta(1)", '"P1D"', setup=_DATES),
    Form(PLAIN, "Decimal", '"1.10"', "Decimal('1.10')", "number or string", '"x"', "Decimal('1.5')", '"1.5"', setup="from decimal import Decimal"),
    Form(PLAIN, "Path", '"a/b"', "PosixPath('a/b')", "string (path)", "1", "Path('c')", '"c"', setup="from pathlib import Path"),
    Form(PLAIN, "Point", '{"x": 1.0}', "Point(x=1, y=0)", "object", '{"x": 1.5}', "Point(2)", '{"x": 2, "y": 0}', setup="import dataclasses\n@dataclasses.dataclass\nclass Point:\n    x: int\n    y: int = 0"),
    Form(PLAIN, "Order", '{"n": 2.0}', "Order(n=2)", "object", '{"n": "2"}', "Order(n=3)", '{"n": 3}', setup="from pydantic import BaseModel\nclass Order(BaseModel):\n    n: int"),
    Form(PLAIN, "Pair", '{"a": 1}', "{'a': 1}", "object", "{}", setup=f"{_TYPING}\nclass Pair(TypedDict):\n    a: ReadOnly[int]\n    b: NotRequired[str]"),
    Form(PLAIN, "numbers.Real", "2.5", "2.5", "integer or number", '"a"', "1", "1", setup="import numbers"),
    Form(PLAIN, "SupportsFloat", "2.5", "2.5", "integer or number", '"a"', setup=_TYPING),
    Form(PLAIN, "Frame", '"$VAR_REF{{name}}"', "a reference", "a reference", "1", setup="class Frame:\n    pass"),
    Form(LIBRARY, "UserId", '"ada"', "'ada'", "string", "1", "UserId('bob')", '"bob"', setup="class UserId(str):\n    pass"),
    Form(LIBRARY, "Celsius", "3", "3.0", "number", '"3"', "Celsius(20)", "20.0", setup="class Celsius(float):\n    pass"),
    Form(LIBRARY, "Stamp", '"2026-01-02"', "Stamp(2026, 1, 2, 0, 0)", "string (date-time) or string (date)", "5", setup=f"{_DATES}\nclass Stamp(dt.datetime):\n    pass"),
    Form(LIBRARY, "np.float64", "3", "np.float64(3.0)", "number", '"3"', "np.float64(0.5)", "0.5", setup=_NUMPY, needs="numpy"),
    Form(LIBRARY, "np.int64", "3.0", "np.int64(3)", "integer", "3.5", "np.int64(2)", "2", setup=_NUMPY, needs="numpy"),
    Form(LIBRARY, "np.uint8", "255", "np.uint8(255)", "integer", "300", setup=_NUMPY, needs="numpy"),
    Form(LIBRARY, "np.float16", "0.1", "np.float16(0.1)", "number", "1e10", setup=_NUMPY, needs="numpy"),
    Form(LIBRARY, "np.bool_", "true", "np.True_", "boolean", "1", setup=_NUMPY, needs="numpy"),
    Form(LIBRARY, "np.integer", "3", "np.int64(3)", "integer", "3.5", setup=_NUMPY, needs="numpy"),
    Form(LIBRARY, "np.datetime64", '"2026-01-02"', "np.datetime64('2026-01-02T00:00:00.000000')", "string (date-time) or string (date)", "5", setup=_NUMPY, needs="numpy"),
    Form(LIBRARY, "list[np.float64]", "[1]", "[np.float64(1.0)]", "array", '["a"]', setup=_NUMPY, needs="numpy"),
    Form(LIBRARY, "np.ndarray", '"$VAR_REF{{name}}"', "a reference", "a reference", "[1]", setup=_NUMPY, needs="numpy"),
    Form(LIBRARY, "pd.Timestamp", '"2026-01-02"', "Timestamp('2026-01-02 00:00:00')", "string (date-time) or string (date)", "5", "pd.Timestamp('2026-01-03')", '"2026-01-03T00:00:00"', setup=_PANDAS, needs="pandas"),
    Form(LIBRARY, "pd.Timestamp | None", '"2026-01-02T03:04:05.123456789"', "Timestamp('2026-01-02 03:04:05.123456789')", "string (date-time) or string (date) or null", "5", "None", "null", setup=_PANDAS, needs="pandas"),
    Form(LIBRARY, "pd.Timedelta", '"P1DT2H"', "Timedelta('1 days 02:00:00')", "string (duration)", '"x"', setup=_PANDAS, needs="pandas"),
    Form(LIBRARY, "Params", '{"rate": 1}', "Params(rate=np.float64(1.0))", "object", '{"rate": "a"}', setup=f"{_NUMPY}\nimport dataclasses\n@dataclasses.dataclass\nclass Params:\n    rate: np.float64", needs="numpy"),
    Form(VARIABLES, "T", "[1]", "[1]", "anything", setup=f"{_TYPING}\nT = TypeVar('T')"),
    Form(VARIABLES, "T", "3.0", "3", "integer", '"no"', setup=f"{_TYPING}\nT = TypeVar('T', bound=int)"),
    Form(VARIABLES, "list[T]", "[1]", "[1]", "array", "[[]]", setup=f"{_TYPING}\nT = TypeVar('T', int, str)"),
    Form(VARIABLES, "T", '"a"', "'a'", "string or integer", "[1]", setup=f"{_TYPING}\nT = TypeVar('T', int, str)"),
    Form(VARIABLES, "T", "3", "3", "integer", '"a"', setup=f"{_TYPING}\nT = TypeVar('T', default=int)"),
    Form(VARIABLES, "Callable[P, int]", '"$VAR_REF{{name}}"', "a reference", "a reference", "1", setup=f"{_TYPING}\nP = ParamSpec('P')"),
    Form(VARIABLES, "T", "3.0", "3", "integer", '"no"', since=(3, 12), parameters="[T: int]"),
    Form(VARIABLES, "list[T]", "[1]", "[1]", "array", "[[]]", since=(3, 12), parameters="[T: (int, str)]"),
    Form(VARIABLES, "T", "3", "3", "integer", '"a"', since=(3, 13), parameters="[T = int]"),
    Form(NAMES, "Number", "3.0", "3", "integer", "3.5", setup=f"{_TYPING}\nNumber = NewType('Number', int)"),
    Form(NAMES, "Rate", "3", "np.float64(3.0)", "number", '"3"', setup=f"{_TYPING}\n{_NUMPY}\nRate = NewType('Rate', np.float64)", needs="numpy"),
    Form(NAMES, "Numbers", "[1]", "[1]", "array", "[1.5]", setup=f"{_TYPING}\nNumbers = TypeAliasType('Numbers', list[int])"),
    Form(NAMES, "Numbers", "[1]", "[1]", "array", "[1.5]", setup="type Numbers = list[int]", since=(3, 12)),
    Form(NAMES, "Many[Frame]", '["$VAR_REF{{name}}"]', "a reference", "array", "1", setup="class Frame:\n    pass\ntype Many[X] = list[X]", since=(3, 12)),
    Form(NAMES, "LiteralString", '"a"', "'a'", "string", "1", setup=_TYPING),
    Form(KEYS, "Unpack[Options]", '{"limit": 3.0}', "{'limit': 3}", "limit: integer, sort: string", '{"limit": "3"}', setup=_OPTIONS, kind="**"),
    Form(KEYS, "Unpack[Options]", '{"limit": 3, "sort": "a"}', "{'limit': 3, 'sort': 'a'}", "limit: integer, sort: string", '{"sort": "a"}', setup=_OPTIONS, kind="**"),
    Form(KEYS, "int", '{"a": 3.0}', "{'a': 3}", "any name: integer", '{"a": "3"}', kind="**"),
    Form(KEYS, "int", '{"it": [1.0]}', "(1,)", "array", '{"it": ["a"]}', kind="*"),
    Form(KEYS, "*tuple[int, str]", '{"it": [1.0, "a"]}', "(1, 'a')", "array", '{"it": ["a", 1]}', kind="*"),
    Form(KEYS, "Unpack[tuple[int, ...]]", '{"it": [1]}', "(1,)", "array", '{"it": ["a"]}', kind="*", setup=_TYPING),
)  # fmt: skip
"""Each form with what it means in Python, pydantic and JSON Schema."""

POSTPONED = "from __future__ import annotations\n"

PLACES = {
    "a module": "{setup}\ndef f{parameters}({parameter}):\n    return it",
    "postponed": POSTPONED + "{setup}\ndef f{parameters}({parameter}):\n    return it",
    "quoted": "{setup}\ndef f{parameters}({quoted}):\n    return it",
    "a function": "def make():\n{inner}\n    def f{parameters}({parameter}):\n        return it\n    return f\nf = make()",
    "a method": "{setup}\nclass C:\n    def f{parameters}(self, {parameter}):\n        return it\nf = C().f",
    "a method, postponed": POSTPONED
    + "{setup}\nclass C:\n    def f{parameters}(self, {parameter}):\n        return it\nf = C().f",
    "a class body, postponed": POSTPONED
    + "class C:\n{inner}\n    def f{parameters}(self, {parameter}):\n        return it\nf = C().f",
    "a class method": "{setup}\nclass C:\n    @classmethod\n    def f{parameters}(cls, {parameter}):\n        return it\nf = C.f",
    "a static method, postponed": POSTPONED
    + "{setup}\nclass C:\n    @staticmethod\n    def f{parameters}({parameter}):\n        return it\nf = C.f",
    "`__call__`": "{setup}\nclass C:\n    def __call__{parameters}(self, {parameter}):\n        return it\nf = C()",
    "a decorator": "{setup}\nimport functools\ndef outer(g):\n    @functools.wraps(g)\n"
    "    def h(*args, **kwargs):\n        return g(*args, **kwargs)\n    return h\n"
    "@outer\ndef f{parameters}({parameter}):\n    return it",
    "a partial": "{setup}\nimport functools\ndef g{parameters}(first, {parameter}):\n    return it\nf = functools.partial(g, 1)",
    "`partialmethod`": "{setup}\nimport functools\nclass C:\n    def g{parameters}(self, first, {parameter}):\n        return it\n"
    "    f = functools.partialmethod(g, 1)\nf = C().f",
    "keywords": "{setup}\ndef f{parameters}({keyword}):\n    return it",
}
"""Where a function may be defined, as source that defines `f`."""


def define(form: Form, place: str, default: str = "") -> Any:
    """Return the function of a form at a place, with the source of a default."""
    declared = f"{form.kind}it: {{}}" + (f" = {default}" if default else "")
    parameter = declared.format(form.annotation)
    imports, rest = _parts(form.setup)
    template = PLACES[place]
    first = POSTPONED if template.startswith(POSTPONED) else ""
    source = template.removeprefix(first).format(
        setup=rest,
        inner=textwrap.indent(rest, "    ") or "    pass",
        parameters=form.parameters,
        parameter=parameter,
        quoted=declared.format(repr(form.annotation)),
        keyword=parameter if form.kind else f"*, {parameter}",
    )
    module = ModuleType("annotation_form")
    sys.modules[module.__name__] = module  # where a class looks up what its annotations name
    code = compile(f"{first}{imports}\n{source}", "annotation_form", "exec", dont_inherit=True)
    exec(code, vars(module))
    return vars(module)["f"]


def _parts(setup: str) -> tuple[str, str]:
    """Return the imports of a setup, and the rest."""
    lines = setup.splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    return "\n".join(imports), "\n".join(line for line in lines if line not in imports)


def places_of(form: Form) -> Iterator[str]:
    """Yield the places where a form may stand."""
    for place in PLACES:
        is_star_in_quotes = place == "quoted" and form.annotation.startswith("*")
        if not is_star_in_quotes and not (form.kind and place == "keywords"):
            yield place


def measure(form: Form) -> list[str]:
    """Return where the outcome is another than is stated, with what it is."""
    wrong = []
    for place in places_of(form):
        try:
            wrong += [f"{place}: {problem}" for problem in _problems(form, place)]
        except Exception as error:  # noqa: BLE001 - an outcome, too
            wrong.append(f"{place}: {type(error).__name__}: {error}")
    return wrong


def _problems(form: Form, place: str) -> Iterator[str]:
    function = define(form, place)
    if (schema := described(function, form)) != form.schema:
        yield f"the schema is {schema}"
    if form.received != "a reference" and (received := _call(function, form.written, form)) != form.received:
        yield f"{form.written} is {received}"
    if form.refused:
        with suppress(InvalidArguments):
            yield f"{form.refused} is {_call(function, form.refused, form)}"
    if form.default:
        with_default = define(form, place, form.default)
        stated_default = parameters_of(with_default)[1].schema["properties"]["it"]
        stated = json.dumps(stated_default["default"]) if "default" in stated_default else ""
        if stated != form.stated_default:
            yield f"the default is stated_default as {stated or 'nothing'}"
        _call(with_default, "", form)


def _call(function: Any, written: str, form: Form) -> str:
    value = json.loads(written) if written else None
    given = (value if form.kind else {"it": value}) if written else {}
    parameters = parameters_of(function)[1]
    positional, keywords = parameters.bind(parameters.check(without_references(given)))
    return repr(function(*positional, **keywords)).removeprefix("make.<locals>.").removeprefix("C.")


def described(function: Any, form: Form) -> str:
    """Return the types of the schema of a form in words."""
    schema = parameters_of(function)[1].schema
    if form.kind != "**":
        return _types(schema["properties"]["it"])
    if schema["additionalProperties"]:
        return f"any name: {_types(schema['additionalProperties'])}"
    return ", ".join(f"{name}: {_types(one)}" for name, one in schema["properties"].items())


def _types(schema: Any) -> str:
    kinds = []
    for one in schema.get("anyOf", [schema]):
        if str(one.get("description", "")).startswith("a reference"):
            kinds.append("a reference")
        else:
            kinds.append(f"{one.get('type', 'anything')}{' (' + one['format'] + ')' if 'format' in one else ''}")
    return " or ".join(dict.fromkeys(kinds))
