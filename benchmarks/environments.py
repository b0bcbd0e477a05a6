"""The environment of each peer, created if missing, and its size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.contestants import ENTRIES

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build" / "bench"
OUR_BASE = ("ipython", "ipywidgets", "anywidget")
"""The base of a notebook with widgets; nbtool's footprint is measured on top of it."""


def python_of(name: str) -> Path:
    """Return the Python that runs a contestant: nbtool's own, or that of its environment."""
    return HOME / name / "bin" / "python" if ENTRIES[name].packages else Path(sys.executable)


def install(name: str, packages: tuple[str, ...]) -> None:
    """Create an environment, unless it exists; without pip, so that it contains only the packages."""
    done, folder = HOME / f"{name}.installed", HOME / name
    if done.is_file() and done.read_text(encoding="utf-8") == " ".join(packages):
        return
    print(f"installing {name}", file=sys.stderr, flush=True)  # noqa: T201 - it takes a while
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    own_pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", *packages]
    subprocess.run(own_pip, check=True, stderr=subprocess.DEVNULL)
    done.write_text(" ".join(packages), encoding="utf-8")


def our_packages() -> tuple[str, ...]:
    """Return the dependencies of `nbtool-chat`."""
    import tomllib  # noqa: PLC0415 - only here

    found: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return tuple(found)


def footprint(name: str) -> tuple[int, float]:
    """Return the number of distributions of an environment, and its size in MB without bytecode."""
    packages = next((HOME / name / "lib").glob("python*/site-packages"))
    files = [*packages.rglob("*"), *(HOME / name / "share").rglob("*")]
    size = sum(file.lstat().st_size for file in files if file.suffix != ".pyc" and not file.is_dir())
    return len(list(packages.glob("*.dist-info"))), size / 1e6


def own_footprint() -> tuple[int, float]:
    """Return the footprint of nbtool on top of a notebook with widgets."""
    install("base", OUR_BASE)
    install("plain", our_packages())
    here, base = footprint("plain"), footprint("base")
    files = (file for file in (ROOT / "nbtool").rglob("*") if file.is_file() and file.suffix != ".pyc")
    return here[0] - base[0] + 1, here[1] - base[1] + sum(file.stat().st_size for file in files) / 1e6


def version_of(name: str) -> str:
    """Return the version of a contestant's own package."""
    package = ENTRIES[name].packages[0].partition("[")[0] if ENTRIES[name].packages else "httpx"
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([python_of(name), "-c", code], check=True, capture_output=True, text=True).stdout.strip()
