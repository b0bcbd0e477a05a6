/**
 * Formulas of a model, set by JupyterLab's typesetter (MathJax): only plain ones (see `plainFormula.ts` of the second
 * module) are given to it, and what it makes is checked as well.
 */
import type { Typesetter } from "../kernel/pageServices";
import type { LatexTypesetter } from "./types";

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
    if (!tex) return;
    requests.set(element, { tex, display });
    observer.observe(element);
  };
}

/** Whether a font could not be loaded: a server of JupyterLab and Notebook 7 gives each only to the one that asks first. */
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
