import { render } from "preact";
import type { LazyMounts } from "../../views/LazyView";
import { BindResult } from "./BindResult";
import css from "./card.css";
import { Card } from "./QuestionList";

/** The views of approval, which the first module shows by `LazyView`. */
export const approvalViews: LazyMounts<"approval" | "toNotebook"> = {
  approval: (el, props) => render(props && <Card {...props} />, withStyles(el)),
  toNotebook: (el, props) => render(props && <BindResult {...props} />, withStyles(el)),
};

let sheet: CSSStyleSheet | null = null;

/** Add the card's style sheet to the page, once, when the first of its views is rendered. */
function withStyles(el: HTMLElement): HTMLElement {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets.push(sheet);
  }
  return el;
}
