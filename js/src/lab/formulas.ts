/**
 * Formulas of a model, set by JupyterLab's typesetter (MathJax).
 *
 * That typesetter is shared with the person's own cells, reads definitions, styles and links, and may load packages. So
 * it gets only formulas made of the commands and environments listed here, and what it makes is checked as well.
 */
import type { Typesetter } from "../kernel/typesetter";
import type { LatexTypesetter } from "./types";

/** Characters of a formula that is set; a longer one stays as it is. */
const MAX_FORMULA = 2_000;

const COMMANDS = new Set(
  (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho " +
    "sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega " +
    "frac dfrac tfrac cfrac binom dbinom tbinom sqrt sum prod coprod int iint iiint oint bigcup bigcap bigoplus bigotimes " +
    "bigvee bigwedge limits nolimits lim limsup liminf sup inf max min arg det dim exp gcd hom ker log ln lg deg Pr sin " +
    "cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan bmod pmod mod operatorname left right middle big Big " +
    "bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr langle rangle lfloor rfloor lceil rceil lvert rvert lVert rVert " +
    "vert Vert lbrace rbrace lbrack rbrack cdot cdots ldots dots dotsb dotsc vdots ddots times div pm mp ast star circ bullet " +
    "cap cup setminus wedge vee land lor lnot neg oplus ominus otimes oslash odot dagger le leq ge geq ne neq ll gg approx " +
    "sim simeq cong equiv propto prec succ preceq succeq subset supset subseteq supseteq in ni notin not mid nmid parallel " +
    "perp vdash models forall exists nexists emptyset varnothing infty partial nabla angle triangle square top bot hbar " +
    "ell Re Im wp aleph prime to gets mapsto rightarrow leftarrow leftrightarrow Rightarrow Leftarrow Leftrightarrow " +
    "longrightarrow longleftarrow longmapsto Longrightarrow Longleftrightarrow implies iff uparrow downarrow nearrow " +
    "searrow hat widehat bar overline underline tilde widetilde vec dot ddot overbrace underbrace overset underset stackrel " +
    "substack boxed cancel text textbf textit textrm mathrm mathbf mathit mathbb mathcal mathfrak mathsf mathtt mathscr " +
    "boldsymbol bm quad qquad displaystyle textstyle scriptstyle begin end therefore because lt gt colon"
  ).split(" "),
);
const ENVIRONMENTS =
  /^\{(?:(?:p|b|B|v|V|small)?matrix|cases|aligned|alignedat|align\*?|gathered|gather\*?|split|equation\*?)\}/;
const ARRAY = /^\{array\}\{[clr| ]{1,40}\}/;
const COMMAND = /\\([A-Za-z]+|[\s\S])/g;
const SYMBOLS = new Set([..." ,;:!{}|\\&%_#"]);

/** Whether a formula has only notation: nothing that is defined, linked, styled, loaded or repeated. */
export function isPlainFormula(tex: string): boolean {
  if (
    tex.length > MAX_FORMULA ||
    /[$%#]/.test(tex.replace(COMMAND, "")) ||
    /\\\\\s*[[*]/.test(tex) ||
    tex.endsWith("\\")
  )
    return false;
  for (const { 1: name = "", 0: whole, index } of tex.matchAll(COMMAND)) {
    if (!(name.length > 1 || /[A-Za-z]/.test(name) ? COMMANDS : SYMBOLS).has(name)) return false;
    const rest = tex.slice(index + whole.length, index + whole.length + 80);
    if (name === "end" ? !/^\{[A-Za-z]+\*?\}/.test(rest) : name === "begin" && !isAllowedBeginning(rest))
      return false;
  }
  return true;
}

function isAllowedBeginning(rest: string): boolean {
  return ENVIRONMENTS.test(rest) || ARRAY.test(rest);
}

const MATHML = new Set(
  "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle mpadded mphantom msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd menclose semantics annotation".split(
    " ",
  ),
);

/** Whether what the typesetter made is a formula and nothing else. */
function isFormula(node: Element): boolean {
  const isPlain = [...node.attributes].every(
    ({ name, value }) =>
      !/^(?:on|href|src|xlink:|data-mjx-error)/.test(name) && !/url\s*\(|[\\@]/i.test(value),
  );
  const name = node.localName;
  const isKnown = (name.startsWith("mjx-") && name !== "mjx-merror") || MATHML.has(name);
  return isKnown && isPlain && [...node.children].every(isFormula);
}

interface Request {
  tex: string;
  display: boolean;
}

/** Return what sets the formulas of the page: each when it is seen first, one after the other. */
export function makeTypesetter(latex: LatexTypesetter): Typesetter {
  const requests = new WeakMap<Element, Request>();
  let last = Promise.resolve();
  const setOne = async (element: HTMLElement): Promise<void> => {
    const request = requests.get(element);
    if (!request || !element.isConnected || areFontsBroken()) return;
    const formula = await typeset(latex, element, request);
    if (formula && requests.get(element) === request) element.replaceChildren(formula);
  };
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      last = last.then(() => setOne(target as HTMLElement)).catch(console.warn);
    }
  });
  return (element, tex, display) => {
    requests.delete(element);
    observer.unobserve(element);
    if (!isPlainFormula(tex)) return;
    requests.set(element, { tex, display });
    observer.observe(element);
  };
}

/** Whether a font of the typesetter could not be loaded, as in versions of Notebook 7 that look for them elsewhere. */
function areFontsBroken(): boolean {
  return [...document.fonts].some(({ family, status }) => /^["']?MJX/.test(family) && status === "error");
}

/** Set a formula in a hidden copy of its place, where its font is known; null if it cannot be set. */
async function typeset(
  latex: LatexTypesetter,
  element: HTMLElement,
  { tex, display }: Request,
): Promise<Element | null> {
  const place = document.createElement("span");
  place.className = "nb-typesetting";
  place.textContent = display ? `\\[${tex}\\]` : `\\(${tex}\\)`;
  element.append(place);
  try {
    await latex.typeset(place);
    const [formula] = place.children;
    const isWhole = formula?.localName === "mjx-container" && place.childNodes.length === 1;
    if (!formula || !isWhole || !isFormula(formula)) return null;
    place.getBoundingClientRect(); // laid out now, so that its fonts are requested
    await document.fonts.ready;
    if (areFontsBroken()) return null;
    formula.setAttribute("aria-label", tex);
    return formula;
  } finally {
    place.remove();
    await new Promise((resolve) => setTimeout(resolve));
  }
}
