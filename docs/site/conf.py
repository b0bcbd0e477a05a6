"""Settings of the documentation site, for Sphinx: `make site`. Its sources are laid out by build_site.py."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import nbtool

sys.path.insert(0, str(Path(__file__).parent))

project = "nbtool"
version = release = nbtool.__version__
author = "nbtool contributors"
project_copyright = author
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "index"
default_role = "code"  # docstrings are Markdown: single backticks are code
suppress_warnings = [
    "ref.python",  # a name that two modules have, such as an error, is not ambiguous to a reader
    "mystnb.unknown_mime_type",  # the data of a saved turn: its HTML, beside it, is shown
]

myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "off"  # the notebooks are run before, by nbtool's own environment
nb_merge_streams = True
nb_ipywidgets_js: dict[str, Any] = {}  # its default loads scripts from other hosts
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]  # a page has no kernel

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {
    "members": True,  # also those of a base that is on no page, as a chat has those of its conversation
    "inherited-members": "object, BaseException, NbtoolError, Protocol, Generic, dict, tuple, str, int",
}
python_use_unqualified_type_names = True
add_module_names = False
maximum_signature_line_length = 72  # a longer one has a line for each parameter
pygments_dark_style = "github-dark"  # furo's own underlines the names of modules
toc_object_entries_show_parents = "hide"
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"nbtool {version}"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b57d0", "color-brand-content": "#0b57d0"},
    "dark_css_variables": {"color-brand-primary": "#8ab4f8", "color-brand-content": "#8ab4f8"},
}


def mark_examples(_app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Make an indented example of a docstring, which is code in Markdown, code for Sphinx too."""
    for index in range(len(lines) - 1, 1, -1):
        begins = lines[index].startswith("    ") and not lines[index - 1].strip()
        above = lines[index - 2]
        if begins and above.strip() and not above.startswith((" ", "Args", "Returns", "Raises", "Yields")):
            lines[index:index] = [".. code-block:: ipython3", "    :force:", ""]


def setup(app: Sphinx) -> None:
    """Load what the public modules load lazily, and read docstrings as they are written."""
    from build_site import read_public_modules  # noqa: PLC0415 - beside this file, whose folder is on the path by now

    for module in map(import_module, read_public_modules()):
        for name in getattr(module, "__all__", ()):
            getattr(module, name)
    app.connect("autodoc-process-docstring", mark_examples, priority=400)  # before napoleon
