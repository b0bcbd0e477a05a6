"""What a page of VS Code looks like around a view: its variables, its style of plain elements, its white containers.

The variables in `vscode_themes.json` were read in VS Code 1.139 with the themes that it comes with.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

Theme = Literal["dark", "light", "high-contrast", "high-contrast-light"]
THEMES: dict[Theme, Any] = json.loads(Path(__file__).with_name("vscode_themes.json").read_text(encoding="utf-8"))

STYLE = """
@layer vscode-default {
  body { color: var(--vscode-editor-foreground); font-family: var(--vscode-font-family);
    font-size: var(--vscode-font-size); }
  a, a code { color: var(--vscode-textLink-foreground); }
  code { color: var(--vscode-textPreformat-foreground); background-color: var(--vscode-textPreformat-background);
    padding: 1px 3px; border-radius: 4px; }
  pre code { padding: 0; }
  blockquote { background: var(--vscode-textBlockQuote-background); border-color: var(--vscode-textBlockQuote-border); }
  kbd { background-color: var(--vscode-keybindingLabel-background); color: var(--vscode-keybindingLabel-foreground);
    border: 1px solid; padding: 1px 3px; }
}
thead { background-color: rgba(130, 130, 130, 0.16); }
tr:nth-child(2n) { background-color: rgba(130, 130, 130, 0.08); }
.cell-output-ipywidget-background { background: white !important; }
:root { --jp-content-font-color1: black; --jp-ui-font-color2: rgba(0, 0, 0, 0.5); --jp-layout-color1: white;
  --jp-ui-inverse-font-color1: white; --jp-border-color2: #e0e0e0; --jp-layout-color0: white;
  --jp-brand-color1: #2196f3; --jp-warn-color1: #ff9800; --jp-error-color1: #f44336; --jp-success-color1: #4caf50; }
"""
WEAR = """({ style, theme }) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  document.adoptedStyleSheets = [sheet, ...document.adoptedStyleSheets];
  for (const [name, value] of Object.entries(theme.variables)) document.documentElement.style.setProperty(name, value);
  document.documentElement.style.colorScheme = "";
  document.body.style = "background: var(--vscode-editor-background)";
  document.body.className = theme.class;
}"""


def wear(page: Page, theme: Theme) -> None:
    """Give a bare page the look of VS Code with a theme."""
    page.evaluate(WEAR, {"style": STYLE, "theme": THEMES[theme]})


def wrap_as_widget(page: Page) -> None:
    """Put what VS Code puts around a widget around all that the page shows."""
    page.evaluate("() => { document.querySelector('main').className = 'cell-output-ipywidget-background'; }")
