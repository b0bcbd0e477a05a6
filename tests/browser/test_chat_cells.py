"""A `%%chat` cell in the editor: coloured as Markdown with mentions, and what Tab offers in it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from nbtool.magics.commands.dispatch import COMMANDS
from nbtool.toolsets import STANDARD
from nbtool.wire.dialect import PROVIDER_TOOL_NAMES
from tests.browser.lab import PANEL, PICTURED_THEMES, Front, Lab, Notebook, screenshot

PYTHON = "def f(a):\n    return [x for x in a and 'b']"
CHAT = (
    "%%chat -m practice:fast --tool double -s 'be brief'\n"
    "# Trains and cars\n"
    "Isn't it **odd** for x and y in trains? Use &`double` on $`frame`,\n"
    "then on $VAR_REF{{frame}} and not on cost_of_a and $5."
)
STYLE = """([cell, text]) => {
    const walker = document.createTreeWalker(document.querySelectorAll('.jp-Notebook .cm-content')[cell], 4);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const { color, fontWeight, textDecorationLine } = getComputedStyle(node.parentElement);
        if (node.data.includes(text)) return { color, bold: Number(fontWeight) > 500, part: node.data };
    }
}"""
CONTRAST = """([cell, text]) => {
    const walker = document.createTreeWalker(document.querySelectorAll('.jp-Notebook .cm-content')[cell], 4);
    const light = (css) => {
        const [r, g, b] = css.match(/[\\d.]+/g).map((one) => one / 255)
            .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (!node.data.includes(text)) continue;
        let back = node.parentElement;
        while (getComputedStyle(back).backgroundColor === 'rgba(0, 0, 0, 0)') back = back.parentElement;
        const [a, b] = [getComputedStyle(node.parentElement).color, getComputedStyle(back).backgroundColor].map(light);
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    }
}"""


def expect_language(notebook: Notebook, index: int, name: str) -> None:
    expect(notebook.cell(index).locator(".cm-content")).to_have_attribute("data-language", name)


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.parametrize("front", ["lab", "notebook"])
def test_a_chat_cell_is_coloured_as_markdown_with_mentions_and_flags(lab: Lab, front: Front) -> None:
    notebook = lab.open_cells(CHAT, PYTHON, "just words", kernel="python3", name=f"colours-{front}.ipynb", front=front)
    expect_language(notebook, 0, "nbtool-chat")
    expect_language(notebook, 1, "python")

    def style(index: int, text: str) -> dict[str, object]:
        return dict(notebook.page.evaluate(STYLE, [index, text]))

    plain = style(0, " x and y in trains")["color"]
    assert style(0, "Isn't it ")["color"] == plain, "an apostrophe opens no string"
    assert not style(0, " x and y in trains")["bold"]
    assert style(1, "and")["bold"], "Python stays Python"
    assert style(0, "odd")["bold"]
    assert style(0, "Trains and cars")["bold"]
    parts = {text: style(0, text) for text in ("%%chat", "-m", "--tool", "&`double`", "$`frame`", "$VAR_REF{{frame}}")}
    assert {text: one["part"] for text, one in parts.items()} == {text: text for text in parts}, "each is one part"
    assert plain not in [one["color"] for one in parts.values()]
    assert parts["-m"]["color"] == parts["--tool"]["color"] != parts["%%chat"]["color"]
    assert parts["$`frame`"]["color"] == parts["$VAR_REF{{frame}}"]["color"] != parts["&`double`"]["color"]
    assert style(0, "cost_of_a and $5.")["color"] == plain
    assert not [error for error in notebook.errors if "nbtool" in error]


BREAKS = "el => getComputedStyle(el).wordBreak"


def test_the_messages_of_a_command_break_between_words_and_other_outputs_as_jupyterlab_does(lab: Lab) -> None:
    notebook = lab.open_cells("%load_ext nbtool", "%chat help", "print('a line')", kernel="python3", name="words.ipynb")
    for cell in range(3):
        notebook.run_cell(cell)

    said, other = (notebook.output(cell).locator(".jp-RenderedText pre").first for cell in (1, 2))
    expect(said).to_be_visible()
    assert said.evaluate(BREAKS) == "normal"
    assert other.evaluate(BREAKS) == "break-all"
    notebook.write_cell(2, "%chat help")
    assert other.evaluate(BREAKS) == "normal"
    assert notebook.errors == []


def test_a_cell_changes_its_colours_when_it_becomes_a_chat_cell_and_back(lab: Lab) -> None:
    notebook = lab.open_cells(PYTHON, kernel="python3")
    editor = notebook.cell(0).locator(".cm-content")
    expect_language(notebook, 0, "python")
    editor.click()
    notebook.page.keyboard.press("Control+Home")
    notebook.page.keyboard.type("%%chat")
    expect_language(notebook, 0, "python")
    notebook.page.keyboard.press("Enter")
    expect_language(notebook, 0, "nbtool-chat")
    notebook.page.keyboard.press("Backspace")
    notebook.page.keyboard.type("s")
    expect_language(notebook, 0, "python")
    notebook.page.keyboard.press("Backspace")
    notebook.page.keyboard.type(" -q\n")
    expect_language(notebook, 0, "nbtool-chat")
    notebook.page.keyboard.press("Control+Home")
    notebook.page.keyboard.type("#")
    expect_language(notebook, 0, "python")
    notebook.page.keyboard.press("Backspace")
    expect_language(notebook, 0, "nbtool-chat")


LINES = "el => el.getBoundingClientRect().height / parseFloat(getComputedStyle(el).lineHeight)"
OVERFLOW = "el => el.scrollWidth - el.clientWidth"
LONG = "Say what you think of it, and of all else that may come to your mind. " * 8


def test_the_lines_of_a_chat_cell_wrap_and_those_of_code_only_as_the_person_has_set_it(lab: Lab) -> None:
    prompt, code = f"%%chat\n{LONG}", f"x = 1\n# {LONG}"
    notebook = lab.open_cells(prompt, code, kernel="python3", name="wrapped.ipynb")
    expect_language(notebook, 0, "nbtool-chat")

    def expect_wrapped(index: int, *, is_wrapped: bool) -> None:
        lines = notebook.cell(index).locator(".cm-line").last.evaluate(LINES)
        overflow = notebook.cell(index).locator(".cm-scroller").evaluate(OVERFLOW)
        assert (lines > 3, overflow == 0) == (is_wrapped, is_wrapped)

    expect_wrapped(0, is_wrapped=True)
    expect_wrapped(1, is_wrapped=False)
    screenshot(notebook.page, "wrapped-cells")
    notebook.write_cell(0, code)
    notebook.write_cell(1, prompt)
    expect_language(notebook, 0, "python")
    expect_language(notebook, 1, "nbtool-chat")
    expect_wrapped(0, is_wrapped=False)
    expect_wrapped(1, is_wrapped=True)


def test_only_code_cells_of_python_become_chat_cells(lab: Lab) -> None:
    notebook = lab.open_cells("%%chat\nHello", "%%chatter\nHello", "x = '%%chat'", kernel="python3")
    expect_language(notebook, 0, "nbtool-chat")
    expect_language(notebook, 1, "python")
    expect_language(notebook, 2, "python")

    notebook.cell(0).locator(".jp-InputPrompt").click()
    notebook.page.keyboard.press("m")
    expect(notebook.page.locator(".jp-MarkdownCell .cm-content")).to_have_attribute("data-language", "markdown")


def test_a_magic_with_a_name_of_ones_own_is_coloured_once_a_turn_is_below_it(lab: Lab) -> None:
    load = "get_ipython().config.NbTool.magic = 'ask'\n%load_ext nbtool"
    other = "%%bash\nls | grep x"
    ask = "%%ask -m practice:fast\nIsn't it **odd**?"
    notebook = lab.open_cells(load, ask, ask, other, kernel="python3")
    expect_language(notebook, 1, "python")
    notebook.run_cell(0)
    notebook.run_cell(1)

    expect_language(notebook, 1, "nbtool-chat")
    expect_language(notebook, 2, "nbtool-chat")
    expect_language(notebook, 3, "python")
    screenshot(notebook.cell(1), "chat-cell-own-name")
    assert not [error for error in notebook.errors if "nbtool" in error]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_of_a_chat_cell_can_be_read(lab: Lab, theme: str) -> None:
    lab.set_theme(theme)  # type: ignore[arg-type]  # pytest's parameters are plain texts
    notebook = lab.open_cells(CHAT, PYTHON, kernel="python3")
    expect_language(notebook, 0, "nbtool-chat")
    screenshot(notebook.cell(0), f"chat-cell-{theme}")

    contrast = {
        text: notebook.page.evaluate(CONTRAST, [0, text])
        for text in ("%%chat", "-m", "be brief", "Isn't", "odd", "&`double`", "$`frame`", "$VAR_REF{{frame}}")
    }
    assert {text: value for text, value in contrast.items() if value < 4.5} == {}


def test_typing_in_a_long_chat_cell_stays_quick(lab: Lab) -> None:
    body = "Some *words* with &`double` and $`frame`, and `code`, isn't it?\n" * 5_000
    notebook = lab.open_cells(f"%%chat\n{body}", kernel="python3")
    expect_language(notebook, 0, "nbtool-chat")
    notebook.cell(0).locator(".cm-content").click()
    notebook.page.keyboard.press("Control+Home")

    seconds = notebook.page.evaluate(
        f"""() => {{
            const view = {PANEL}.content.widgets[0].editor.editor;
            const times = [];
            for (let count = 0; count < 40; count++) {{
                const at = view.state.doc.line(2).to;
                const start = performance.now();
                view.dispatch({{ changes: {{ from: at, insert: "a" }} }});
                times.push(performance.now() - start);
            }}
            return times.sort((a, b) => a - b)[20];
        }}"""
    )
    assert seconds < 50, "the parser reads what changed, not the whole cell"


DEFINITIONS = """%load_ext nbtool
from nbtool import tool, Progress
from fractions import Fraction
frames = [1]
frame = 2
def double(n):
    'Twice a number.'"""


def press_tab(items: Locator, count: int) -> None:
    """Press Tab until the menu is there: JupyterLab drops what a busy kernel answers after a second."""
    for _ in range(5):
        items.page.keyboard.press("Tab")
        try:
            expect(items).to_have_count(count, timeout=3_000)
        except AssertionError:
            continue
        return
    expect(items).to_have_count(count)


@pytest.mark.journey
@pytest.mark.parametrize("theme", PICTURED_THEMES)
def test_tab_shows_the_kind_and_help_of_flags_and_tools(lab: Lab, theme: str) -> None:
    lab.set_theme(theme)  # type: ignore[arg-type]  # pytest's parameters are plain texts
    notebook = lab.open_cells(DEFINITIONS, "", kernel="python3")
    notebook.run_cell(0)
    keys, menu = notebook.page.keyboard, notebook.page.locator(".jp-Completer")
    items = menu.locator(".jp-Completer-item")
    notebook.cell(1).locator(".cm-content").click()

    keys.type("%%chat --re")
    press_tab(items, 2)
    expect(items.nth(0)).to_contain_text("--read")
    expect(items.nth(0)).to_contain_text("flag: ")
    screenshot(notebook.page, f"tab-flags-{theme}")
    keys.press("Enter")
    expect(menu).to_be_hidden()
    keys.type(" -t ")
    keys.press("Tab")
    expect(items.filter(has_text="double")).to_contain_text("function: twice a number.")
    assert len({round(box["height"]) for item in items.all() if (box := item.bounding_box())}) == 1, "one line each"
    screenshot(notebook.page, f"tab-tools-{theme}")
    expect(items).to_have_count(1 + len(STANDARD) + 1 + len(PROVIDER_TOOL_NAMES))

    keys.press("Escape")
    notebook.write_cell(1, "%chat ")
    notebook.cell(1).locator(".cm-content").click()
    keys.press("End")
    press_tab(items.filter(has_text="command:"), len(COMMANDS))
    assert len({round(box["height"]) for item in items.all() if (box := item.bounding_box())}) == 1, "one line each"
    screenshot(notebook.page, f"tab-commands-{theme}")


def test_tab_closes_the_backtick_of_a_mention_and_offers_nothing_else(lab: Lab) -> None:
    notebook = lab.open_cells(DEFINITIONS, "%%chat -q\nIsn't it **odd**? Use $`fr", kernel="python3")
    notebook.run_cell(0)
    expect_language(notebook, 1, "nbtool-chat")
    keys, items = notebook.page.keyboard, notebook.page.locator(".jp-Completer .jp-Completer-item")
    notebook.cell(1).locator(".cm-content").click()
    keys.press("Control+End")
    press_tab(items, 2)
    expect(items.nth(1)).to_contain_text("variable: list")
    keys.press("ArrowDown")
    keys.press("Enter")
    keys.type(" and &`dou")
    press_tab(items, 1)
    keys.press("Enter")

    assert notebook.source(1).endswith("Use $`frames` and &`double`")
    tokens = notebook.page.evaluate(f"() => {PANEL}.content.widgets[1].editor.getTokens().length")
    assert tokens == 1, "JupyterLab's own completer offers no parts of the prompt"
