"""The manual's first notebook: what it holds, and that its prompts get the exchange that it tells of."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd

from nbtool.practice.plan import make_plan
from nbtool.practice.request import parse_request
from nbtool.tools.tool import as_tools

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
DATA = NOTEBOOKS / "data"


def cells() -> dict[str, str]:
    notebook = nbformat.read(NOTEBOOKS / "01_first_chat.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    return {cell["id"]: cell["source"] for cell in notebook["cells"]}


def plan_cell(cell_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Plan what a chat cell asks, with the tools as the notebook defines them."""
    names: dict[str, Any] = {"penguins": pd.read_csv(DATA / "penguins.csv"), "pd": pd}
    exec(cells()["tools"], names)
    offers = [
        {"type": "function", "function": {key: tool.spec[key] for key in ("name", "description", "parameters")}}
        for name in ("count", "heaviest")
        for tool in as_tools(names[name])
    ]
    prompt = cells()[cell_id].partition("\n")[2]
    reply = make_plan(parse_request({"messages": [{"role": "user", "content": prompt}], "tools": offers}))
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


def test_it_is_clean() -> None:
    notebook = json.loads((NOTEBOOKS / "01_first_chat.ipynb").read_text())

    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])
    assert all(cell.get("execution_count") is None for cell in notebook["cells"])


def test_its_first_prompt_gets_three_calls_one_of_them_by_reference() -> None:
    assert plan_cell("ask") == [
        ("count", {"species": "Adelie"}),
        ("count", {"species": "Gentoo"}),
        ("heaviest", {"df": "$VAR_REF{{penguins}}", "n": 3}),
    ]


def test_its_second_prompt_goes_on_with_the_third_species() -> None:
    assert plan_cell("again") == [("count", {"species": "Chinstrap"})]


def test_its_data_are_the_published_ones() -> None:
    actual = re.search(r"SHA-256 `(\w+)`", (DATA / "README.md").read_text())

    assert actual
    assert actual[1] == hashlib.sha256((DATA / "penguins.csv").read_bytes()).hexdigest()
