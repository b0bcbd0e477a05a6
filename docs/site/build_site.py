"""Build the documentation site from the documents of the project: `make site`.

    python docs/site/build_site.py PARTS OUTPUT

`PARTS` has the notebooks as they were run (run_notebooks.py) in `notebooks`, and the live demo in `demo`. The sources
are laid out in `PARTS/source` as in the repository, so that every relative link of a document is one of the site too.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE")
PICTURE = re.compile(
    r'<picture>.*?srcset="(?P<dark>[^"]*)".*?src="(?P<light>[^"]*)".*?alt="(?P<alt>[^"]*)".*?</picture>', re.DOTALL
)
SENTENCE_END = re.compile(r"(?<=[.:]) ")
IMAGE = "```{{image}} {path}\n:class: only-{scheme}\n:alt: {alt}\n```"


def build(parts: Path, output: Path) -> None:
    """Lay the sources out and run Sphinx, for which each warning is an error; add the demo."""
    source = parts / "source"
    doctrees = parts / "doctrees"
    for folder in (source, doctrees, output):
        shutil.rmtree(folder, ignore_errors=True)
    write_documents(source)
    write_guides(parts / "notebooks", source / "notebooks")
    write_reference(source / "reference")
    demo = parts / "demo"
    megabytes = sum(file.stat().st_size for file in (demo / "static" / "pyodide").iterdir()) / 1e6
    index = (HERE / "index.md").read_text(encoding="utf-8").replace("DEMO_MB", f"{megabytes:.0f}")
    (source / "index.md").write_text(index, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", HERE]
    command += ["-d", doctrees]
    subprocess.run(list(map(str, [*command, source, output])), check=True, cwd=ROOT)
    shutil.copytree(demo, output / "demo")
    (output / "llms.txt").write_text(list_for_models(source), encoding="utf-8")


def list_for_models(sources: Path) -> str:
    """Return the list of the site's pages for language models, each with its first sentence: https://llmstxt.org."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = ["# nbtool", "", *(f"> {line}" for line in first_paragraph(readme).splitlines()), "", "## Docs", ""]
    for page in sorted(sources.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        title = next((line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), page.stem)
        about = SENTENCE_END.split(" ".join(first_paragraph(text).split()))[0]
        address = page.relative_to(sources).with_suffix(".html").as_posix()
        lines.append(f"- [{title}]({address}): {about}")
    skill = (ROOT / "nbtool" / "skill" / "nbtool" / "SKILL.md").read_text(encoding="utf-8")
    return "\n".join([*lines, "", "## In short", "", skill.partition("\n---\n")[2].strip(), ""])


def first_paragraph(text: str) -> str:
    """Return the first paragraph of prose of a page."""
    paragraphs = (paragraph.strip() for paragraph in text.split("\n\n"))
    return next((text for text in paragraphs if text[:1].isalpha() or text[:1] in "`["), "")


def write_documents(source: Path) -> None:
    """Copy the documents, with what Sphinx has another form for."""
    (source / "docs").mkdir(parents=True)
    for name in DOCUMENTS:
        shutil.copy2(ROOT / name, source)
    for document in (ROOT / "docs").glob("*.md"):
        text = document.read_text(encoding="utf-8")
        (source / "docs" / document.name).write_text(follow_theme(text), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "pictures", source / "docs" / "pictures")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (source / "README.md").write_text(adapt_readme(readme), encoding="utf-8")
    shutil.copy2(HERE / "architecture.md", source)


def adapt_readme(text: str) -> str:
    """Title the README as a page among others, link the folder of notebooks, and follow the theme in its picture."""
    text = text.replace("# nbtool\n", "# Quick start\n", 1).replace("](notebooks)", "](notebooks/index.md)")
    return follow_theme(text)


def follow_theme(text: str) -> str:
    """Show of each picture the one of the page's theme, which a reader can change."""
    return PICTURE.sub(_images, text)


def _images(picture: re.Match[str]) -> str:
    return "\n\n".join(
        IMAGE.format(path=picture[scheme], scheme=scheme, alt=picture["alt"]) for scheme in ("light", "dark")
    )


def write_guides(notebooks: Path, target: Path) -> None:
    """Copy the notebooks that were run, and list them."""
    (target / "data").mkdir(parents=True)
    names = sorted(notebook.stem for notebook in notebooks.glob("*.ipynb"))
    for name in names:
        shutil.copy2(notebooks / f"{name}.ipynb", target)
    shutil.copy2(ROOT / "notebooks" / "data" / "README.md", target / "data")
    text = (HERE / "guides.md").read_text(encoding="utf-8").replace("GUIDES", "\n".join(names))
    (target / "index.md").write_text(text, encoding="utf-8")


def read_public_modules() -> tuple[str, ...]:
    """Return the modules that the reference documents, from the script that writes it without a site."""
    tree = ast.parse((ROOT / "docs" / "reference.py").read_text(encoding="utf-8"))
    assigned = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    return ast.literal_eval(assigned["PUBLIC"])


def write_reference(target: Path) -> None:
    """Write a page for each public module; a name that several have is on the page of the first."""
    target.mkdir()
    modules = read_public_modules()
    home_of: dict[int, str] = {}
    for module in map(import_module, modules):
        public = {name: id(getattr(module, name)) for name in getattr(module, "__all__", ())}
        elsewhere = {name: home_of[key] for name, key in public.items() if key in home_of}
        home_of |= {key: module.__name__ for name, key in public.items() if name not in elsewhere}
        page = f"# {module.__name__}\n\n```{{eval-rst}}\n.. automodule:: {module.__name__}\n"
        page += f"   :exclude-members: {', '.join(elsewhere)}\n```\n" if elsewhere else "```\n"
        page += "".join(f"\n- `{name}`: see [{home}]({home}.md)" for name, home in sorted(elsewhere.items()))
        (target / f"{module.__name__}.md").write_text(page, encoding="utf-8")
    text = "# Reference\n\nWhat people import; other modules may change from one version to the next.\n\n"
    listed = "\n".join(modules)
    (target / "index.md").write_text(f"{text}```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n", encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
