"""What each provider refuses, in its own words: one row a behaviour, with the day it was reported and where."""

from __future__ import annotations

from tests.providers.rows.anthropic import ANTHROPIC_ROWS
from tests.providers.rows.google import GOOGLE_ROWS, VERTEX_ROWS
from tests.providers.rows.hosted import HOSTED_ROWS
from tests.providers.rows.openai import OPENAI_ROWS
from tests.providers.rows.servers import SERVER_ROWS
from tests.providers.rows.tools import TOOL_ROWS

BEHAVIOURS = (
    *OPENAI_ROWS, *ANTHROPIC_ROWS, *GOOGLE_ROWS, *VERTEX_ROWS, *HOSTED_ROWS, *SERVER_ROWS, *TOOL_ROWS,
)  # fmt: skip
"""All rows, in the order in which a provider checks them."""

WITHOUT_ROW = {
    "colab": "its proxy is open to its own notebooks only, and no refusal of it was published",
    "practice": "it runs in this process",
}
"""The providers of which no refusal is known, and why."""
