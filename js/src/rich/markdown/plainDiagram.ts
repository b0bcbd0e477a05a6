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
  /^(?:flowchart|graph|gantt|sequenceDiagram|classDiagram|stateDiagram(?:-v2)?|erDiagram|pie|mindmap|timeline|journey|gitGraph|quadrantChart)(?![\w-])/;
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

/**
 * The lines of a gantt chart that is drawn: Mermaid goes through its time day by day, and through its ticks one by one. So
 * its dates are days, its tasks are at most 999 days long, and its ticks are Mermaid's own.
 */
const GANTT_LINE =
  /^(?:gantt|(?:title|section|accTitle:?|accDescr:?) .*|dateFormat +YYYY-MM-DD|axisFormat +[%\w ./:-]{1,30}|excludes +weekends|todayMarker +off|inclusiveEndDates|topAxis|)$/i;
const GANTT_TASK =
  /^(?!(?:click|\w+Format|\w*cludes|tickInterval|todayMarker|week\w+) )[^:]{1,100}:(?: *(?:active|done|crit|milestone|vert) *,)*(?: *[\w-]{1,40} *,)?(?: *(?:DAY|after(?: +[\w-]{1,40}){1,9}) *,)? *(?:DAY|until(?: +[\w-]{1,40}){1,9}|\d{1,3}d|\d{1,2}w)$/i;
const DAY = /\b(\d{4})-\d\d-\d\d\b/g;
const MAX_GANTT_TASKS = 60;
const MAX_GANTT_YEARS = 5;

/** Why a gantt chart is not drawn; empty if it may be. */
function ganttProblem(statements: readonly string[]): string {
  const others = statements.map((one) => one.trim()).filter((one) => !GANTT_LINE.test(one));
  if (!others.every((one) => GANTT_TASK.test(one.replace(DAY, "DAY"))))
    return "a gantt chart needs days as its dates, such as “name :id, 2026-01-31, 3d”, and no ticks of its own";
  const years = others.flatMap((one) => [...one.matchAll(DAY)].map(([, year]) => Number(year)));
  return others.length > MAX_GANTT_TASKS || Math.max(...years) - Math.min(...years) > MAX_GANTT_YEARS
    ? `it has more than ${MAX_GANTT_TASKS} tasks, or more than ${MAX_GANTT_YEARS} years`
    : "";
}

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
  return /^gantt/.test(source.trimStart()) ? ganttProblem(statements) : "";
}
