/** The style sheet of the second module. */
import conditions from "../styles/conditions.css";
import insertedCell from "../styles/insertedCell.css";
import media from "../styles/media.css";
import words from "../styles/words.css";
import actions from "./actions/actions.css";
import card from "./approval/card.css";
import pill from "./approval/pill.css";
import log from "./log/log.css";
import code from "./markdown/code.css";
import prose from "./markdown/prose.css";

/** Documents and shadow roots that have the style sheet of the second module. */
const styledRoots = new WeakSet<Node>();

/** Add the style sheet of the second module to where an element is, once. */
export function withStyles(el: HTMLElement): HTMLElement {
  const root = el.getRootNode();
  const target = root instanceof ShadowRoot ? root : document;
  if (!styledRoots.has(target)) {
    styledRoots.add(target);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(words + prose + code + log + media + actions + insertedCell + card + pill + conditions);
    target.adoptedStyleSheets.push(sheet);
  }
  return el;
}
