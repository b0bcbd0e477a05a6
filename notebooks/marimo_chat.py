# /// script
# requires-python = ">=3.11"
# dependencies = ["marimo", "nbtool-chat", "pandas"]
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App()

with app.setup:
    from typing import Literal

    import marimo as mo
    import pandas as pd

    from nbtool import Chat, tool
    from nbtool.view.standalone import by_click, turn_widget


@app.cell(hide_code=True)
def _():
    mo.md("""
    # A chat in marimo

    marimo has no magics: a chat is a `Chat`, and a turn is shown as a widget. Open this notebook with
    `marimo edit notebooks/marimo_chat.py`. It runs without a key: the built-in practice model answers.
    """)
    return


@app.cell
def _():
    penguins = pd.read_csv(mo.notebook_dir() / "data" / "penguins.csv")
    return (penguins,)


@app.cell
def _(penguins):
    @tool
    def count(species: Literal["Adelie", "Chinstrap", "Gentoo"]) -> int:
        """How many penguins of a species were measured."""
        return int((penguins["species"] == species).sum())

    return (count,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    The chat has a cell of its own, so that it keeps its turns when you send another prompt. With a key in the
    environment, `Chat()` takes that provider; `Chat("openai:gpt-6.1-terra", …)` names a model.
    """)
    return


@app.cell
def _(count):
    chat = Chat(tools=[count], system="Be brief.")
    return (chat,)


@app.cell
def _():
    prompt = mo.ui.text(value="How many Gentoo penguins were measured? Use `count`.", full_width=True)
    form = prompt.form(submit_button_label="Send")
    form
    return (form,)


@app.cell(hide_code=True)
def _():
    mo.md("""
    The call waits for your click: *Approve* runs `count`, *Deny* does not. `chat.start` returns at once, because marimo
    delivers a click only when no cell is running.
    """)
    return


@app.cell
def _(chat, form):
    mo.stop(not form.value, mo.md("*Send the prompt first.*"))
    turn = chat.start(form.value, approver=by_click)
    turn_widget(turn, chat.approvals)
    return (turn,)


@app.cell
def _(turn):
    use = mo.ui.run_button(label="Use the answer", tooltip=f"of {turn.turn_id}")
    use
    return (use,)


@app.cell
def _(turn, use):
    mo.stop(not use.value)
    mo.md(f"**{turn.status}**: {[call.result for call in turn.calls]}")
    return


if __name__ == "__main__":
    app.run()
