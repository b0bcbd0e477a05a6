/**
 * The extension of JupyterLab and Notebook 7 that draws saved turns, colours `%%chat` cells and answers requests about cells, as a container of module federation.
 *
 * JupyterLab loads this file as a script, hands over its modules, and asks for `./extension`:
 * https://jupyterlab.readthedocs.io/en/stable/extension/extension_dev.html#prebuilt-extensions
 */

import { claimRequest, LAZY_NAMES, lazyModule, onModule, setModule } from "../kernel/lazy";
import {
  setCellLink,
  setCellReveal,
  setCellRunner,
  setDiagramDrawer,
  setOutputDrawer,
  setTypesetter,
} from "../kernel/pageServices";
import styles from "../styles.css";
import { findCell, findPanel, findPanelOfCell, revealCell, showCell } from "./actions";
import { addChatCells } from "./chatCells";
import type { CodeMirror, ExtensionRegistry, LanguageRegistry, RegistryTokens } from "./codemirror";
import { createContinueRenderer } from "./continueBar";
import { recordFocus } from "./focus";
import { makeTypesetter } from "./formulas";
import { createHistoryRenderers } from "./historyRenderer";
import type { HistoryViews } from "./historyViews";
import labStyles from "./lab.css";
import { answerNotebookRequests, type CellRequests } from "./notebookRequests";
import { makeOutputDrawer } from "./outputs";
import { createTurnRenderer } from "./renderer";
import { makeCellRunner } from "./repeat";
import { loadSharedModules, type SharedScope } from "./sharedModules";
import type { MermaidManager, NotebookTracker, RenderMime, SharedModules } from "./types";

declare const LAZY_FILE: string;
declare const FORMULAS_FILE: string;
declare const HISTORY_FILE: string;
declare const CELLS_FILE: string;
declare const RESULTS_FILE: string;

const NAME = "nbtool-chat";
const scriptUrl = (document.currentScript as HTMLScriptElement | null)?.src ?? "";
let scope: SharedScope | undefined;

const container = {
  init(shared: SharedScope): void {
    scope ??= shared;
  },
  async get(name: string): Promise<() => object> {
    if (name !== "./extension" || !scope) throw new Error(`nbtool: there is no ${name}.`);
    const module = { __esModule: true, default: [await turns(scope), ...(await cells(scope))] };
    return () => module;
  },
};

/** The plugin that draws turns. */
async function turns(from: SharedScope): Promise<object> {
  const shared = await loadSharedModules<SharedModules>(from, {
    "@lumino/widgets": ["Widget", "PanelLayout"],
    "@jupyterlab/rendermime": ["IRenderMimeRegistry"],
    "@jupyterlab/notebook": ["INotebookTracker", "NotebookActions"],
  });
  const mermaidToken = await findMermaidToken(from);
  return {
    id: `${NAME}:turns`,
    description: "Draws the turns that nbtool leaves in a notebook.",
    autoStart: true,
    requires: [shared.IRenderMimeRegistry],
    optional: [shared.INotebookTracker, ...(mermaidToken ? [mermaidToken] : [])],
    activate(
      _app: unknown,
      rendermime: RenderMime,
      tracker: NotebookTracker | null,
      mermaid?: MermaidManager | null,
    ): void {
      addStyles();
      recordFocus();
      for (const name of LAZY_NAMES) onModule(name, () => void fetchLazyModule(name));
      if (tracker) {
        answerNotebookRequests(tracker, loadCellRequests);
        setCellReveal({
          panelOf: (node) => findPanelOfCell(node, tracker)?.node,
          cellOf: (node) => findCell(node, findPanelOfCell(node, tracker))?.node,
          reveal: (node) => revealCell(node, findPanelOfCell(node, tracker)),
        });
        setCellRunner(makeCellRunner(shared, tracker));
        setCellLink((node, cell) => showCell(findPanel(node, tracker), cell));
      }
      if (rendermime.latexTypesetter) setTypesetter(makeTypesetter(rendermime.latexTypesetter));
      if (mermaid?.renderSvg) setDiagramDrawer((text) => mermaid.renderSvg(text));
      const context = { shared, rendermime, tracker };
      setOutputDrawer(makeOutputDrawer(context, loadResults));
      rendermime.addFactory(createTurnRenderer(context));
      rendermime.addFactory(createContinueRenderer(context));
      for (const factory of createHistoryRenderers(context, loadHistoryViews)) rendermime.addFactory(factory);
    },
  };
}

/** The token of JupyterLab's manager of Mermaid diagrams; undefined where the page shares none. */
async function findMermaidToken(from: SharedScope): Promise<object | undefined> {
  try {
    const modules = { "@jupyterlab/mermaid": ["IMermaidManager"] } as const;
    return (await loadSharedModules<{ IMermaidManager?: object }>(from, modules)).IMermaidManager;
  } catch {
    return undefined; // JupyterLab before 4.1, or Mermaid is switched off
  }
}

/** The plugin that colours `%%chat` cells; none where the page shares no editor of the expected kind. */
async function cells(from: SharedScope): Promise<object[]> {
  try {
    const shared = await loadSharedModules<CodeMirror & RegistryTokens>(from, {
      "@codemirror/state": ["Compartment", "EditorState", "Prec"],
      "@codemirror/view": ["EditorView", "ViewPlugin"],
      "@codemirror/language": ["Language", "language"],
      "@lezer/common": ["NodeType", "Parser", "Tree", "parseMixed"],
      "@lezer/highlight": ["tags"],
      "@jupyterlab/codemirror": ["IEditorExtensionRegistry", "IEditorLanguageRegistry"],
    });
    return [
      {
        id: `${NAME}:cells`,
        description: "Colours %%chat cells as Markdown with mentions, and wraps their lines.",
        autoStart: true,
        requires: [shared.IEditorExtensionRegistry, shared.IEditorLanguageRegistry],
        activate(_app: unknown, extensions: ExtensionRegistry, languages: LanguageRegistry): void {
          addChatCells(shared, extensions, languages);
        },
      },
    ];
  } catch (error) {
    console.warn("nbtool: %%chat cells keep the look of Python.", error);
    return [];
  }
}

/** Add the style sheets to the page, once. */
function addStyles(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles + labStyles);
  document.adoptedStyleSheets.push(sheet);
}

/** Load what draws saved conversations from the folder of this file; the page has one copy of it. */
async function loadHistoryViews(): Promise<HistoryViews> {
  const module = (await import(/* @vite-ignore */ new URL(HISTORY_FILE, scriptUrl).href)) as {
    default: HistoryViews;
  };
  return module.default;
}

/** Load what answers requests about cells from the folder of this file, with the first request. */
async function loadCellRequests(): Promise<CellRequests> {
  return (await import(/* @vite-ignore */ new URL(CELLS_FILE, scriptUrl).href)) as CellRequests;
}

/** Load what draws results of calls from the folder of this file, with the first such result. */
async function loadResults(): Promise<typeof import("./results")> {
  return (await import(
    /* @vite-ignore */ new URL(RESULTS_FILE, scriptUrl).href
  )) as typeof import("./results");
}

/** Load a module from the folder of this file when a rendered turn needs it; until then the views are plain. */
async function fetchLazyModule(name: (typeof LAZY_NAMES)[number]): Promise<void> {
  if (!claimRequest(name)) return;
  const file = name === "rich" ? LAZY_FILE : FORMULAS_FILE;
  try {
    const module = await import(/* @vite-ignore */ new URL(file, scriptUrl).href);
    if (!lazyModule(name)) setModule(name, module.default);
  } catch (error) {
    console.warn("nbtool: the rich view could not be loaded; text stays plain.", error);
  }
}

const globals = globalThis as unknown as { _JUPYTERLAB?: Record<string, typeof container> };
globals._JUPYTERLAB ??= {};
globals._JUPYTERLAB[NAME] = container;
