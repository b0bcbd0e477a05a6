"""The bytes of a turn in a saved notebook: several calls, a table, a plot and a long reply, in a real kernel.

python benchmarks/saved_turn.py            prints them
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parents[1]))

MAX_BYTES = 300_000
"""What the output of one such turn may add to the file of a notebook."""

SETUP = '''%load_ext nbtool
import io
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from nbtool import Chat, tool
from nbtool.messages import Media
from nbtool.testing import ScriptedWire, call

@tool(run="auto")
def sales(region: str) -> pd.DataFrame:
    "The sales of a region, a row a day."
    days = pd.date_range("2026-01-01", periods=365)
    return pd.DataFrame({f"product_{n}": np.random.default_rng(n).normal(100, 20, 365) for n in range(8)}, index=days)

@tool(run="auto")
def plot(region: str) -> Media:
    "Draw the sales of a region."
    figure, axes = plt.subplots(figsize=(8, 4.5), dpi=100)
    for n in range(8):
        axes.plot(np.random.default_rng(n).normal(100, 20, 365).cumsum(), label=f"product_{n}")
    axes.legend()
    data = io.BytesIO()
    figure.savefig(data, format="png")
    plt.close(figure)
    return Media("image/png", data.getvalue(), name="sales.png")

@tool(run="auto")
def notes(region: str) -> str:
    "What the staff of a region wrote."
    return "\\n".join(f"Day {n}: the {region} shop sold more than in the week before." for n in range(120))

@tool(run="auto")
def total(region: str) -> dict:
    "The sums of a region."
    return {f"product_{n}": 36_500 + n for n in range(8)}

section = """## {n}. What the figures say

The sales rose in *most* weeks, with **two** exceptions; see `product_{n}`.

| product | first half | second half |
|---|--:|--:|
| product_{n} | 18,250 | 18,310 |

```python
sales("north")["product_{n}"].resample("W").sum().plot()
```

"""
reply = "".join(section.format(n=n) for n in range(40))
calls = [[call(name, region=region) for name in ("sales", "total", "notes")] for region in ("north", "south")]
calls.append([call("plot", region="north")])
chat = Chat(wire=ScriptedWire([*calls, reply]))
print(len(reply))'''
"""A chat with seven calls in three rounds, of which two return a table of 365 by 8 and one an image of 800 by 450."""

ASK = "%%chat -c chat -t sales total notes plot\nHow did the sales of north and south develop? Plot those of the north."


def output_bytes(cell: nbformat.NotebookNode) -> int:
    """Return how many bytes the outputs of a cell have in the file of a notebook."""
    return len(json.dumps(cell.outputs, ensure_ascii=False, indent=1).encode())


def measure() -> int:
    """Run the turn in a kernel of its own, and return the bytes of its output."""
    from nbclient import NotebookClient  # noqa: PLC0415 - the test in JupyterLab has its own way to run the cells

    new = nbformat.v4
    cells = [new.new_code_cell(SETUP), new.new_code_cell(ASK)]
    notebook = new.new_notebook(cells=cells)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    return output_bytes(notebook.cells[1])


if __name__ == "__main__":
    print(f"{measure():,} bytes")  # noqa: T201 - this is a program
