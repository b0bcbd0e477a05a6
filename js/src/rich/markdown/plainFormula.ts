/**
 * Which formulas of a model JupyterLab's typesetter (MathJax) gets.
 *
 * It is shared with the person's own cells, reads definitions, styles and links, and may load packages. So it gets only
 * formulas made of the commands and environments listed here.
 */

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
