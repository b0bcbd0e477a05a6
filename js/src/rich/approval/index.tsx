import { render } from "preact";
import type { Mount } from "../../kernel/lazy";
import { BindResult } from "./BindResult";
import { Card } from "./Card";
import css from "./card.css";

/** The views of approval, for the islands of the first module. */
export const approvalViews: Record<string, Mount> = {
  approval: (el, props) => render(props && <Card {...(props as Card["props"])} />, withStyles(el)),
  toNotebook: (el, props) =>
    render(props && <BindResult {...(props as BindResult["props"])} />, withStyles(el)),
};

let sheet: CSSStyleSheet | null = null;

/** Put the card's style sheet into the page, once, when the first of its views is drawn. */
function withStyles(el: HTMLElement): HTMLElement {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets.push(sheet);
  }
  return el;
}
