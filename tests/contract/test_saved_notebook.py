"""A turn in a notebook file is readable without a kernel, nbtool, a script or a fetch, and hostile text stays text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from markdown_it import MarkdownIt
from nbclient import NotebookClient

from tests.contract.notebook import process_environment
from tests.contract.simulator import call, simulate

DATA = "application/vnd.nbtool.turn+json"
HOSTILE_PARTS = (
    "<script>alert(1)</script>",
    '<img src="https://evil.example/a.png" onerror="alert(2)">',
    '<img srcset="https://evil.example/b.png 2x">',
    '<iframe src="https://evil.example/"></iframe>',
    '<p style="background:url(https://evil.example/c.png)">styled</p>',
    "<style>@import 'https://evil.example/d.css';</style>",
    '<svg onload="alert(3)"><use href="https://evil.example/e.svg"/></svg>',
    '<form action="https://evil.example/"><button>send</button></form>',
    '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
    '<a href="javascript:alert(4)">link</a>',
    '<a href="https://evil.example/f" ping="https://evil.example/g">link</a>',
)
MARKDOWN_PARTS = (
    "[link](javascript:alert(5))",
    "![image](https://evil.example/h.png)",
    "[![image](https://evil.example/i.png)](data:text/html;base64,PHNjcmlwdD4=)",
)
HOSTILE = " ".join((*HOSTILE_PARTS, *MARKDOWN_PARTS))
CELLS = [
    "%load_ext nbtool",
    'from nbtool import tool\n@tool(run="auto")\ndef price(ticker: str) -> int:\n    "The price."\n    return 1234\n'
    '@tool\ndef pay(amount: int) -> str:\n    "Pay."\n    return "paid"',
    "%%chat -t price pay\nWhat does AAPL cost?",
    "%%chat\nShow me something dangerous.",
    "%%chat\nPay 7.",
    "import pandas as pd\n@tool(run='auto')\ndef hostile(text: str) -> object:\n    'Hostile.'\n"
    f"    return pd.DataFrame({{{HOSTILE!r}: [text]}})",
    f"%%chat -t hostile\nCall it with {HOSTILE}",
    "%chat show 4 --whole",
    "%chat explore --static",
    "%chat history",
    "%chat export ipynb chat.ipynb",
    "%chat export md chat.md",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the notebook."""
    return tmp_path_factory.mktemp("saved")


@pytest.fixture(scope="module")
def saved(folder: Path) -> Any:
    """Run a notebook as a program does, and read its file."""
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
        environment = process_environment(folder, OLLAMA_HOST=model.host, NBTOOL_MODEL="ollama:tiny")
        NotebookClient(notebook, timeout=240, kernel_name="python3").execute(env=environment, cwd=str(folder))
    nbformat.write(notebook, folder / "saved.ipynb")
    return nbformat.read(folder / "saved.ipynb", as_version=4)


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


TAGS = {
    "a", "b", "blockquote", "br", "caption", "code", "del", "details", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6",
    "hr", "i", "img", "li", "ol", "p", "pre", "s", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody",
    "td", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
"""The elements that show something, and do nothing else."""

ATTRIBUTES = {
    "align", "alt", "class", "colspan", "href", "id", "open", "rel", "rowspan", "scope", "src", "start", "style",
    "target", "title",
}  # fmt: skip
"""Their attributes that run and send nothing by themselves; `href` and `src` by their addresses."""


def active_parts(html: str) -> list[str]:
    """Return everything in HTML that could run, fetch or send something, or lead to what does."""
    found: list[str] = []
    for tag, attributes in Tags(html).tags:
        found += [tag] if tag not in TAGS else []
        for name, value in attributes.items():
            text = re.sub(r"[\x00-\x20]", "", value or "").lower()
            is_address_bad = name == "href" and not re.match(r"https?://|mailto:|#", text)
            is_fetched = name == "src" and not text.startswith("data:image/")
            has_css_address = name == "style" and bool(re.search(r"url|@import|image|expression|behaviou?r|\\\\", text))
            if name not in ATTRIBUTES or is_address_bad or is_fetched or has_css_address:
                found.append(f"{tag} {name}={value}")
    return found


@pytest.mark.parametrize("part", HOSTILE_PARTS)
def test_a_hostile_part_that_is_not_escaped_would_be_found(part: str) -> None:
    assert active_parts(part)


def pages_of(saved: Any, folder: Path) -> dict[str, str]:
    """Return everything that a reader of the notebook, or of its exports, is shown as HTML."""
    exported = nbformat.read(folder / "chat.ipynb", as_version=4)
    outputs = {
        f"{where} {at}": output["data"]
        for where, notebook in {"cell": saved, "export": exported}.items()
        for at, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", ())
        if "data" in output
    }
    pages = {where: "".join(data["text/html"]) for where, data in outputs.items() if "text/html" in data}
    texts = {f"text {at}": cell.source for at, cell in enumerate(exported.cells) if cell.cell_type == "markdown"}
    texts["document"] = (folder / "chat.md").read_text(encoding="utf-8")
    return pages | {where: MarkdownIt("gfm-like", {"linkify": False}).render(text) for where, text in texts.items()}


@pytest.mark.promise("reads-alone")
@pytest.mark.promise("inert-text")
def test_no_page_of_a_notebook_or_of_its_exports_runs_fetches_or_sends_anything(saved: Any, folder: Path) -> None:
    pages = pages_of(saved, folder)

    assert sum("alert(1)" in Tags(html).text for html in pages.values()) >= 6
    assert {where: found for where, html in pages.items() if (found := active_parts(html))} == {}


@pytest.mark.promise("inert-text")
def test_an_output_has_no_other_form_than_text_html_and_the_data_of_a_turn(saved: Any) -> None:
    forms = {form for cell in saved.cells for output in cell.get("outputs", ()) for form in output.get("data", ())}

    assert forms == {"text/plain", "text/html", DATA}


@pytest.mark.promise("inert-text")
@pytest.mark.parametrize("cell", [3, 6], ids=["of a model", "of arguments, results and column names"])
def test_hostile_text_stays_text(saved: Any, cell: int) -> None:
    bundle = bundle_of(saved, cell)

    for shown in (Tags(bundle["text/html"]).text, bundle["text/plain"]):
        assert "<script>alert(1)</script>" in shown


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


def test_every_cell_of_a_notebook_that_nobody_watches_has_ended(saved: Any) -> None:
    errors = [output for cell in saved.cells for output in cell.outputs if output.output_type == "error"]

    assert errors == []
    assert [cell.source for cell in saved.cells if cell.source.startswith("%%chat") and not cell.outputs] == []
