"""A turn in a notebook file is readable without a kernel, nbtool, a script or a fetch, and hostile text stays text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.contract.notebook import process_environment
from tests.contract.simulator import call, simulate

DATA = "application/vnd.nbtool.turn+json"
HOSTILE = (
    '<script>alert(1)</script><img src="https://evil.example/x.png" onerror="alert(2)">[link](javascript:alert(3))'
)
CELLS = [
    "%load_ext nbtool",
    'from nbtool import tool\n@tool(run="auto")\ndef price(ticker: str) -> int:\n    "The price."\n    return 1234\n'
    '@tool\ndef pay(amount: int) -> str:\n    "Pay."\n    return "paid"',
    "%%chat -t price pay\nWhat does AAPL cost?",
    "%%chat\nShow me something dangerous.",
    "%%chat\nPay 7.",
    "import pandas as pd\n@tool(run='auto')\ndef hostile(text: str) -> object:\n    'Hostile.'\n"
    f"    return pd.DataFrame({{{HOSTILE!r}: [text]}})",
    "%%chat -t hostile\nCall it.",
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run a notebook as a program does, and read its file."""
    home = tmp_path_factory.mktemp("saved")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    with simulate(
        call("price", ticker="AAPL"),
        "AAPL costs 1234.",
        f"Here: {HOSTILE}",
        call("pay", amount=7),
        "I may not pay.",
        call("hostile", text=HOSTILE),
        "Done.",
    ) as model:
        environment = process_environment(home, OLLAMA_HOST=model.host, NBTOOL_MODEL="ollama:tiny")
        NotebookClient(notebook, timeout=240, kernel_name="python3").execute(env=environment, cwd=str(home))
    nbformat.write(notebook, home / "saved.ipynb")
    return nbformat.read(home / "saved.ipynb", as_version=4)


def bundle_of(saved: Any, cell: int) -> dict[str, Any]:
    """Return the output of a cell that has a turn."""
    outputs = [output["data"] for output in saved.cells[cell].outputs if "data" in output]
    (bundle,) = [one for one in outputs if DATA in one]
    return dict(bundle)


class Tags(HTMLParser):
    """Collects the tags of a page with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.promise("reads-alone")
def test_the_file_is_a_valid_notebook(saved: Any) -> None:
    nbformat.validate(saved)


@pytest.mark.promise("reads-alone")
@pytest.mark.parametrize("form", ["text/plain", "text/html"])
def test_answer_calls_and_results_can_be_read_as_text_and_as_html(saved: Any, form: str) -> None:
    content = bundle_of(saved, 2)[form]
    text = Tags(content).text if form == "text/html" else content

    assert "AAPL costs 1234." in text
    assert "price" in text
    assert "1234" in text


@pytest.mark.promise("reads-alone")
def test_the_html_runs_nothing_and_fetches_nothing(saved: Any) -> None:
    tags = Tags(bundle_of(saved, 2)["text/html"]).tags

    assert not any(tag in {"script", "iframe", "object", "embed", "link"} for tag, _ in tags)
    assert not any(name.startswith("on") for _, attributes in tags for name in attributes)
    assert not any(
        re.match(r"(https?:)?//", value or "") for _, one in tags for name, value in one.items() if name == "src"
    )


@pytest.mark.promise("inert-text")
@pytest.mark.parametrize("cell", [3, 6], ids=["of a model", "of arguments, results and column names"])
def test_hostile_text_stays_text(saved: Any, cell: int) -> None:
    html = bundle_of(saved, cell)["text/html"]
    tags = Tags(html).tags

    assert "alert(1)" in Tags(html).text
    assert not any(tag == "script" for tag, _ in tags)
    assert not any(
        "evil.example" in (value or "")
        for tag, one in tags
        for name, value in one.items()
        if name != "title" and tag == "img"
    )
    assert not any((value or "").lower().startswith("javascript:") for _, one in tags for value in one.values())


@pytest.mark.promise("reads-alone")
def test_the_data_of_a_turn_are_in_the_file_too(saved: Any) -> None:
    data = json.dumps(bundle_of(saved, 2)[DATA])

    assert "AAPL costs 1234." in data
    assert '"price"' in data


@pytest.mark.promise("fails-closed")
def test_a_notebook_that_nobody_watches_denies_what_asks_and_its_file_says_so(saved: Any) -> None:
    text = bundle_of(saved, 4)["text/plain"]

    assert "denied" in text
    assert "I may not pay." in text


def test_every_chat_cell_of_a_notebook_that_nobody_watches_has_ended(saved: Any) -> None:
    assert [cell.outputs[0].output_type != "error" for cell in saved.cells if cell.outputs] == [True] * 5
