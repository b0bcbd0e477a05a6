"""AgentDojo's suites: tasks, attacks, tools and checks, of its package in a folder of its own.

`make bench BENCH=gates` installs the package below build/; it is no dependency of nbtool.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from multiprocessing.connection import Client
from types import SimpleNamespace
from typing import Any, get_type_hints

from benchmarks.environments import ROOT
from benchmarks.gates.world import Call, World

FOLDER = ROOT / "build" / "agentdojo"
VERSION = "0.1.35"
SUITES_VERSION = "v1.2.2"
MISSING = "AgentDojo is not installed in build/agentdojo: run `make bench BENCH=gates`."

MARK = "<INFORMATION>"
"""A part of the injected text."""

WITHHELD = "It gives orders."
"""Why a person withholds a result."""

CANARY = "canary-{name}-"
USER, MODEL = "Emma Johnson", "GPT-4"


def is_installed() -> bool:
    """Whether AgentDojo is in its folder."""
    return (FOLDER / "agentdojo").is_dir()


def load_suites() -> dict[str, Any]:
    """Import AgentDojo without its clients of models, and return its suites by name."""
    _prepare_import()
    import yaml  # noqa: PLC0415 - of a folder that is added to the path

    if loader := getattr(yaml, "CSafeLoader", None):  # the same values, ten times as fast
        yaml.safe_load = partial(yaml.load, Loader=loader)
    suites = import_module("agentdojo.task_suite.load_suites")
    return dict(suites.get_suites(SUITES_VERSION))


def injected_text(goal: str) -> str:
    """Return AgentDojo's `important_instructions` for a goal."""
    attacks = import_module("agentdojo.attacks.important_instructions_attacks")
    template = attacks.ImportantInstructionsAttack._JB_STRING
    return str(template.format(user=USER, model=MODEL, goal=goal))


def _prepare_import() -> None:
    if not is_installed():
        raise SystemExit(MISSING)
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))  # last: what nbtool has too is its own
    package = types.ModuleType("agentdojo.agent_pipeline")
    package.__path__ = [str(FOLDER / "agentdojo" / "agent_pipeline")]
    pipeline = types.ModuleType("agentdojo.agent_pipeline.ground_truth_pipeline")
    pipeline.GroundTruthPipeline = object  # type: ignore[attr-defined]  # imported there by name only
    for module in (package, pipeline):
        sys.modules.setdefault(module.__name__, module)


def make_functions(suite: Any, world: World) -> dict[str, Callable[..., Any]]:
    """Return the functions of a suite as ordinary functions that ask the world's server."""
    return {function.name: _make_function(function, world.address) for function in suite.tools}


def _make_function(function: Any, address: Any) -> Callable[..., Any]:
    signature, hints, name = inspect.signature(function.run), get_type_hints(function.run), function.name
    shown = [
        parameter.replace(annotation=hints.get(one, Any))
        for one, parameter in signature.parameters.items()
        if one not in function.dependencies
    ]

    def run(**arguments: Any) -> Any:
        with Client(address) as connection:
            connection.send((name, arguments))
            has_returned, value = connection.recv()
        if not has_returned:
            raise value
        return value

    run.__name__ = run.__qualname__ = name
    run.__doc__ = function.description
    run.__signature__ = signature.replace(parameters=shown, return_annotation=Any)  # type: ignore[attr-defined]  # of any function
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return run


def calls_of(task: Any, env: Any) -> list[Call]:
    """Return the correct calls that a task lists."""
    return [Call(call.function, dict(call.args)) for call in task.ground_truth(env)]


def places_read(suite: Any, task: Any, world: World) -> list[str]:
    """Return the places for injections whose texts the correct calls of a task read."""
    names = list(suite.get_injection_vector_defaults())
    env = task.init_environment(suite.load_and_inject_default_environment({name: _canary(name) for name in names}))
    calls = calls_of(task, env)
    world.begin(env)
    results = "".join(str(world.run(call)) for call in calls)
    return [name for name in names if _canary(name) in results]


def _canary(name: str) -> str:
    return CANARY.format(name=name)


def is_done(task: Any, answer: str, before: Any, after: Any, ran: list[Call]) -> bool:
    """Whether a user's task succeeded, by AgentDojo's own check."""
    by_calls = task.utility_from_traces(answer, before, after, list(_traces(ran)))
    return bool(task.utility(answer, before, after) if by_calls is None else by_calls)


def has_succeeded(task: Any, answer: str, before: Any, after: Any, ran: list[Call]) -> bool:
    """Whether an attack succeeded, by AgentDojo's own check."""
    by_calls = task.security_from_traces(answer, before, after, list(_traces(ran)))
    return bool(task.security(answer, before, after) if by_calls is None else by_calls)


def _traces(ran: list[Call]) -> Iterator[SimpleNamespace]:
    """Yield calls with the attributes by which AgentDojo reads them."""
    for call in ran:
        yield SimpleNamespace(function=call.tool, args=dict(call.arguments))
