/**
 * Which diagrams of a model JupyterLab's Mermaid gets.
 *
 * It draws in the page before the result becomes an image, with limits for a person's own diagrams. So it gets only kinds
 * that are laid out quickly, of a bounded size, and nothing that links, loads, styles freely, configures or is HTML.
 */

/** Characters, lines, links between nodes, and `&` of a diagram that is drawn. */
export const MAX_DIAGRAM_CHARS = 4_000;
export const MAX_DIAGRAM_LINES = 120;
export const MAX_DIAGRAM_LINKS = 150;
export const MAX_JOINS = 3;

const KINDS =
  /^(?:flowchart|graph|sequenceDiagram|classDiagram|stateDiagram(?:-v2)?|erDiagram|pie|mindmap|timeline|journey|gitGraph|quadrantChart)(?![\w-])/;
const COMMENT = /^[ \t]*%%(?!\{).*$/gm;
const STATEMENTS = /[\r\n;\u0085\u2028\u2029\v\f]+/;

/** HTML but line breaks; `<<interface>>` and arrows are none. */
const MARKUP = /<(?!br ?\/?>)[\s]*[a-z!?/]/i;
const STEREOTYPE = /<<[A-Za-z ]{1,40}>>/g;

/** Links, addresses, entities, configuration, images and icons of shapes, formulas, escapes. */
const LOADS =
  /\/\/|\b(?:url|src|image|image-set|cross-fade|element|paint|expression|import|var|env|attr)\s*\(|%%\{|@\{|@import|\$\$|\\(?!n)|::icon|&#?\w+;|#(?!quot;)\w{1,12};|\b(?:https?|data|javascript|vbscript|file|blob):/i;
const CONFIGURATION = /^\s*---/;
const ACTION = /^\s*(?:click|link|links|callback|href|properties|details|config)\b/i;
const STYLE = /^\s*(?:style|classDef|linkStyle|cssClass|updateElementStyle)\b/i;
const PLAIN_STYLE = /^[\w\s#%.,:*-]*$/;
const LINK = /--|==|-\.|~~~|->|<-|\.\./g;

/** Why a diagram is not drawn; empty if it may be. */
export function diagramProblem(text: string): string {
  if (text.length > MAX_DIAGRAM_CHARS)
    return `it has more than ${MAX_DIAGRAM_CHARS.toLocaleString("en")} characters`;
  if (CONFIGURATION.test(text)) return "it has a configuration of its own";
  const source = text.replace(COMMENT, "").replace(STEREOTYPE, "");
  const statements = source.split(STATEMENTS);
  if (statements.length > MAX_DIAGRAM_LINES) return `it has more than ${MAX_DIAGRAM_LINES} lines`;
  if (!KINDS.test(source.trimStart())) return "its kind is not one that is drawn here";
  if (MARKUP.test(source)) return "it has HTML";
  if (LOADS.test(source)) return "it has links, images, escapes or a configuration of its own";
  if (statements.some((one) => ACTION.test(one))) return "it has links or actions";
  if (statements.some((one) => STYLE.test(one) && !PLAIN_STYLE.test(one)))
    return "it has styles that are not plain";
  const isJoined = statements.some((one) => one.split("&").length - 1 > MAX_JOINS);
  if (isJoined || (source.match(LINK)?.length ?? 0) > MAX_DIAGRAM_LINKS)
    return `it has more than ${MAX_DIAGRAM_LINKS} links, or more than ${MAX_JOINS} “&” in a line`;
  return "";
}
