/**
 * The extension of JupyterLab and Notebook 7 that draws saved turns, as a container of module federation.
 *
 * JupyterLab loads this file as a script, hands over its modules, and asks for `./extension`:
 * https://jupyterlab.readthedocs.io/en/stable/extension/extension_dev.html#prebuilt-extensions
 */
import { adopt, claimAsking, onRich, type Rich, rich } from "../kernel/lazy";
import styles from "../styles.css";
import own from "./lab.css";
import { turns } from "./renderer";
import { type Scope, take } from "./sharedModules";
import type { NotebookTracker, RenderMime } from "./types";

declare const RICH_FILE: string;

const NAME = "nbtool-chat";
const here = (document.currentScript as HTMLScriptElement | null)?.src ?? "";
let scope: Scope | undefined;

const container = {
  init(shared: Scope): void {
    scope ??= shared;
  },
  async get(name: string): Promise<() => object> {
    if (name !== "./extension" || !scope) throw new Error(`nbtool: there is no ${name}.`);
    const module = { __esModule: true, default: await plugin(scope) };
    return () => module;
  },
};

async function plugin(from: Scope): Promise<object> {
  const shared = await take(from);
  return {
    id: `${NAME}:turns`,
    description: "Draws the turns that nbtool leaves in a notebook.",
    autoStart: true,
    requires: [shared.IRenderMimeRegistry],
    optional: [shared.INotebookTracker],
    activate(_app: unknown, rendermime: RenderMime, tracker: NotebookTracker | null): void {
      dress();
      onRich(fetchRich);
      rendermime.addFactory(turns(shared, rendermime, tracker));
    },
  };
}

/** Put the style sheets into the page, once. */
function dress(): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles + own);
  document.adoptedStyleSheets.push(sheet);
}

/** Load the second module from beside this file, when a turn is drawn that wants it; until then all is plain. */
async function fetchRich(): Promise<void> {
  if (!claimAsking()) return;
  try {
    const module = (await import(/* @vite-ignore */ new URL(RICH_FILE, here).href)) as { default: Rich };
    if (!rich()) adopt(module.default);
  } catch (error) {
    console.warn("nbtool: what is shown stays plain.", error);
  }
}

const page = globalThis as unknown as { _JUPYTERLAB?: Record<string, typeof container> };
page._JUPYTERLAB ??= {};
page._JUPYTERLAB[NAME] = container;
