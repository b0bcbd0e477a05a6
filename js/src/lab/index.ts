/**
 * The extension of JupyterLab and Notebook 7 that draws saved turns, as a container of module federation.
 *
 * JupyterLab loads this file as a script, hands over its modules, and asks for `./extension`:
 * https://jupyterlab.readthedocs.io/en/stable/extension/extension_dev.html#prebuilt-extensions
 */
import { claimRequest, type LazyModule, lazyModule, onModule, setModule } from "../kernel/lazy";
import styles from "../styles.css";
import labStyles from "./lab.css";
import { createTurnRenderer } from "./renderer";
import { loadSharedModules, type SharedScope } from "./sharedModules";
import type { NotebookTracker, RenderMime } from "./types";

declare const LAZY_FILE: string;

const NAME = "nbtool-chat";
const scriptUrl = (document.currentScript as HTMLScriptElement | null)?.src ?? "";
let scope: SharedScope | undefined;

const container = {
  init(shared: SharedScope): void {
    scope ??= shared;
  },
  async get(name: string): Promise<() => object> {
    if (name !== "./extension" || !scope) throw new Error(`nbtool: there is no ${name}.`);
    const module = { __esModule: true, default: await plugin(scope) };
    return () => module;
  },
};

async function plugin(from: SharedScope): Promise<object> {
  const shared = await loadSharedModules(from);
  return {
    id: `${NAME}:turns`,
    description: "Draws the turns that nbtool leaves in a notebook.",
    autoStart: true,
    requires: [shared.IRenderMimeRegistry],
    optional: [shared.INotebookTracker],
    activate(_app: unknown, rendermime: RenderMime, tracker: NotebookTracker | null): void {
      addStyles();
      onModule(fetchLazyModule);
      rendermime.addFactory(createTurnRenderer(shared, rendermime, tracker));
    },
  };
}

/** Add the style sheets to the page, once. */
function addStyles(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles + labStyles);
  document.adoptedStyleSheets.push(sheet);
}

/** Load the second module from the folder of this file when a rendered turn needs it; until then the views are plain. */
async function fetchLazyModule(): Promise<void> {
  if (!claimRequest()) return;
  try {
    const module = (await import(/* @vite-ignore */ new URL(LAZY_FILE, scriptUrl).href)) as {
      default: LazyModule;
    };
    if (!lazyModule()) setModule(module.default);
  } catch (error) {
    console.warn("nbtool: the rich view could not be loaded; text stays plain.", error);
  }
}

const globals = globalThis as unknown as { _JUPYTERLAB?: Record<string, typeof container> };
globals._JUPYTERLAB ??= {};
globals._JUPYTERLAB[NAME] = container;
