import { expect, test } from "vitest";
import { isPlainFormula } from "../src/rich/markdown/plainFormula";

test.each([
  "e^{i\\pi} + 1 = 0",
  "\\frac{a}{b} \\le \\sqrt[3]{x}",
  "\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}",
  "\\begin{array}{c|c} a & b \\end{array}",
  "\\left\\{ x \\mid \\text{x is even, 5\\%} \\right.",
  "f(x) = \\begin{cases} 1 & x > 0 \\\\ 0 & \\text{otherwise} \\end{cases}",
])("the page's typesetter gets notation: %s", (tex) => {
  expect(isPlainFormula(tex)).toBe(true);
});

const FORBIDDEN = (
  "def gdef edef let futurelet newcommand renewcommand providecommand newenvironment renewenvironment DeclareMathOperator " +
  "require href url class cssId style data html unicode bbox toggle mathtip texttip action color textcolor colorbox " +
  "fcolorbox definecolor label ref eqref tag notag includegraphics input mmlToken rule kern hskip hspace vspace mkern " +
  "mskip raise lower moveleft moveright hphantom phantom smash llap rlap mathllap Huge huge scriptsize verb catcode " +
  "char csname loop mathchoice hbox mbox fbox vcenter shoveleft buildrel root above atop over newline cr"
).split(" ");

test.each(FORBIDDEN)("but nothing that defines, links, styles, loads or moves: \\%s", (name) => {
  for (const tex of [
    `\\${name}{x}{y}`,
    `\\frac{\\${name} x}{y}`,
    `\\\\\\${name}{x}`,
    `\\text{\\${name}{x}}`,
  ]) {
    expect(isPlainFormula(tex)).toBe(false);
  }
});

test.each([
  "a \\) \\href{x}{y} \\(",
  "a \\] b",
  "a $ b",
  "\\text{$\\def\\a{b}$}",
  "a % b",
  "a # b",
  "a \\\\% the rest is a comment",
  "a \\\\$ b",
  "a \\\\# b",
  "a \\\\[99em] b",
  "\\begin{array}{*{9999999}{c}} a \\end{array}",
  "\\begin{array}{@{\\href{x}{y}}} a \\end{array}",
  "\\begin{html} a \\end{html}",
  "\\begin {matrix} a \\end{matrix}",
  "\\end {x}",
  "\\frac ab\\",
  `${"x".repeat(2_001)}`,
  "\\@ifnextchar",
  "\\Alpha",
])("nor one that ends the formula, repeats or is too long: %s", (tex) => {
  expect(isPlainFormula(tex)).toBe(false);
});
