"""A front end that sends nothing of a widget while a cell runs: a double of its page, with a real kernel.

No front end is known to do so: whether VS Code and Colab's own page do has not been tried.
"""

from __future__ import annotations

from tests.compat.page import open_page, park_and_approve
from tests.compat.test_kernels import SETUP


def test_a_parked_cell_ends_and_the_click_that_was_held_back_sets_it_going() -> None:
    with open_page(holds_back=True) as page:
        page.run(SETUP)

        assert park_and_approve(page) == "parked []\n"
        assert page.run("print(answer.status, received, answer.calls[0].decisions[0].by)") == (
            "completed [21] button\n"
        )
