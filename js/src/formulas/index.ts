/** Formulas as MathML, within limits. It is a module of its own, which a page loads with its first formula. */
import temml from "temml";

/** Maximum characters of a formula that is rendered; a longer one is shown as its source. */
export const FORMULA_LIMIT = 5_000;

/** Elements of a formula that is set: a macro that writes without end has more. */
const NODE_LIMIT = 5_000;

/**
 * Elements inside one another, up to which a formula is set. The layout of deeper ones takes seconds (`menclose`), and
 * with MathJax, which gets only what is set here, 150 nested fractions crash the page.
 */
export const NESTING_LIMIT = 50;

/** Macros that a formula may expand. */
const EXPANSION_LIMIT = 500;

const NAMESPACE = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(
  "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle merror mpadded mphantom msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd menclose".split(
    " ",
  ),
);
const ATTRIBUTES = new Set(
  "display mathvariant form fence separator stretchy symmetric largeop movablelimits accent accentunder columnalign columnlines rowlines scriptlevel displaystyle notation".split(
    " ",
  ),
);
const LENGTHS = new Set(
  "lspace rspace width minsize maxsize linethickness rowspacing columnspacing".split(" "),
);
const LENGTH = /^(?:\d{1,2}(?:\.\d+)?|0?\.\d+)(?:em|ex|pt|px|mu|%)?$/;

/** The parts of temml's tree that are used here: elements, texts, and groups of both. */
interface TemmlNode {
  type?: string;
  text?: string;
  attributes?: Record<string, unknown>;
  children?: TemmlNode[];
}

/** The formula as MathML; null where it cannot be read. Only plain notation and small lengths are built. */
export function math(tex: string, display: boolean): Node | null {
  if (tex.length > FORMULA_LIMIT) return null;
  const options = { displayMode: display, throwOnError: true, trust: false, maxExpand: EXPANSION_LIMIT };
  try {
    const node = buildNode(temml.__renderToMathMLTree(tex, options) as TemmlNode, { left: NODE_LIMIT });
    if (node instanceof Element) node.setAttribute("aria-label", tex);
    return node;
  } catch {
    return null;
  }
}

function buildNode(source: TemmlNode, budget: { left: number }, depth = 0): Node {
  if (budget.left-- <= 0 || depth > NESTING_LIMIT) throw new RangeError("too large a formula");
  if (typeof source.text === "string") return document.createTextNode(source.text);
  const { type = "", attributes = {}, children = [] } = source;
  const nodes = children.map((child) => buildNode(child, budget, depth + 1));
  if (!type) {
    const group = document.createDocumentFragment();
    group.append(...nodes);
    return group;
  }
  const el = document.createElementNS(NAMESPACE, ELEMENTS.has(type) ? type : "mrow");
  for (const [name, value] of Object.entries(attributes)) {
    if (isAllowedAttribute(name, String(value))) el.setAttribute(name, String(value));
  }
  el.append(...nodes);
  return el;
}

function isAllowedAttribute(name: string, value: string): boolean {
  return LENGTHS.has(name) ? LENGTH.test(value) : ATTRIBUTES.has(name) && /^[\w .-]{0,60}$/.test(value);
}

export default { math };
