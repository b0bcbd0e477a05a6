/** Syntax highlighting of code, within a limit. */
import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import diff from "highlight.js/lib/languages/diff";
import ini from "highlight.js/lib/languages/ini";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import julia from "highlight.js/lib/languages/julia";
import latex from "highlight.js/lib/languages/latex";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import pythonRepl from "highlight.js/lib/languages/python-repl";
import r from "highlight.js/lib/languages/r";
import sql from "highlight.js/lib/languages/sql";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  bash,
  c,
  diff,
  ini,
  javascript,
  json,
  julia,
  latex,
  markdown,
  python,
  "python-repl": pythonRepl,
  r,
  sql,
  xml,
  yaml,
};

for (const [name, language] of Object.entries(LANGUAGES)) core.registerLanguage(name, language);
core.registerAliases(["ipython", "python3"], { languageName: "python" });
// grammars that would take 9 KB, of languages that are rare in a notebook and near enough to these
core.registerAliases(["cpp", "c++", "cc", "java", "go", "rust", "rs"], { languageName: "c" });
core.registerAliases(["ts", "tsx", "typescript"], { languageName: "javascript" });

/** Maximum characters of code that is highlighted; longer code is plain. */
export const CODE_LIMIT = 5_000;

const HTML_TOKENS = /<span class="([^"]*)">|(<\/span>)|([^<]+)/g;
const HTML_ENTITIES: Record<string, string> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** Highlight code; null if the language is unknown or the code is too long. */
export function highlight(code: string, language: string): Node | null {
  if (code.length > CODE_LIMIT || !core.getLanguage(language)) return null;
  const nodes = buildNodes(core.highlight(code, { language, ignoreIllegals: true }).value);
  return nodes.textContent === code ? nodes : null;
}

/** Build nodes from highlight.js's HTML, which is spans with a class and escaped text. Nothing else becomes an element. */
function buildNodes(html: string): DocumentFragment {
  const root = document.createDocumentFragment();
  const open: ParentNode[] = [root];
  for (const [, classes, closes, text] of html.matchAll(HTML_TOKENS)) {
    const parent = open.at(-1) ?? root;
    if (classes !== undefined) {
      const span = document.createElement("span");
      span.className = `nb-hl-${/hljs-(\w+)/.exec(classes)?.[1] ?? "plain"}`;
      parent.append(span);
      open.push(span);
    } else if (closes && open.length > 1) open.pop();
    else if (text)
      parent.append(text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (found) => HTML_ENTITIES[found] ?? found));
  }
  return root;
}
