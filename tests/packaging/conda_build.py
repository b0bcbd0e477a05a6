"""Builds the recipe with rattler-build, whose environment has no nbtool: `conda_build.py FOLDER PYTHON`.

FOLDER has `recipe/recipe.yaml` and `dist/`. It makes a channel with stand-ins for python, pip and hatchling, which call
PYTHON, and prints what the package contains as JSON.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import rattler_build
from conda_package_streaming.package_streaming import stream_conda_component

PLATFORM = "linux-64"


def make_channel(folder: Path, python: str) -> str:
    """Make a channel of three packages; pip of the stand-in installs into the prefix of the build."""
    program = f'#!/bin/sh\nPIP_PREFIX="$PREFIX" exec {python} "$@"\n'
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    packages = {
        ("python", f"{version}.0"): {"bin/python": program, f"lib/python{version}/site-packages/README": ""},
        ("pip", "24.2"): {"share/pip": ""},
        ("hatchling", "1.26"): {"share/hatchling": ""},
    }
    index = {}
    for (name, number), files in packages.items():
        for path, text in files.items():
            file = folder / "sources" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755)
        out = folder / "channel" / PLATFORM
        made = Path(
            rattler_build.assemble_package(name, number, PLATFORM, "0", out, files_dir=folder / "sources" / name).path
        )
        data = made.read_bytes()
        index[made.name] = {
            "name": name, "version": number, "build": "0", "build_number": 0, "depends": [], "subdir": PLATFORM,
            "size": len(data), "md5": hashlib.md5(data).hexdigest(), "sha256": hashlib.sha256(data).hexdigest(),
        }  # fmt: skip
        made.rename(out / made.name)
    write_index(folder / "channel" / PLATFORM, index)
    write_index(folder / "channel" / "noarch", {})
    return f"file://{folder / 'channel'}"


def write_index(folder: Path, packages: dict[str, dict[str, object]]) -> None:
    """Write the index of one platform."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"info": {"subdir": folder.name}, "packages": {}, "packages.conda": packages, "repodata_version": 1}
    (folder / "repodata.json").write_text(json.dumps(content))


def main(folder: Path, python: str) -> None:
    """Build the recipe, unpack the package, and print what it has."""
    recipe = rattler_build.Stage0Recipe.from_file(folder / "recipe" / "recipe.yaml")
    (variant,) = recipe.render(rattler_build.VariantConfig())
    settings = rattler_build.ToolConfiguration(use_sharded=False, use_zstd=False, use_bz2=False)
    built = variant.run_build(tool_config=settings, output_dir=folder / "out", channels=[make_channel(folder, python)])
    package = rattler_build.Package.from_file(built.packages[0])
    unpacked = folder / "unpacked"
    with open(package.path, "rb") as file:  # noqa: PTH123 - of the path that the library returns
        for archive, member in stream_conda_component(str(package.path), file, "pkg"):
            archive.extract(member, unpacked)
    found = {"files": list(package.files), "noarch": package.noarch, "unpacked": str(unpacked)}
    print(json.dumps(found))  # noqa: T201 - the output of a program


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
