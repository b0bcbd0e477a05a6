/** Renders a view into an element, again when its props change; null removes it. */
export type Mount<P extends object = never> = (el: HTMLElement, props: P | null) => void;

/** The second module. It is loaded once a page, and nothing waits for it: each of its views has a plain fallback. */
export interface LazyModule {
  views: Record<string, Mount>;
}

/** Sets formulas; it is loaded with the first one. */
export interface FormulaModule {
  math(tex: string, display: boolean): Node | null;
}

interface LazyModules {
  rich: LazyModule;
  formulas: FormulaModule;
}

type LazyName = keyof LazyModules;

/** One copy for the page, shared by the modules of all widgets of the same build. */
interface ModuleCache<M> {
  module: M | null;
  isRequested: boolean;
  requestedAt: number;
  listeners: Set<() => void>;
}

declare const LAZY_VERSION: string;
declare const FORMULAS_VERSION: string;
const VERSIONS: Record<LazyName, string> = {
  rich: typeof LAZY_VERSION === "string" ? LAZY_VERSION : "source",
  formulas: typeof FORMULAS_VERSION === "string" ? FORMULAS_VERSION : "source",
};
export const LAZY_NAMES = Object.keys(VERSIONS) as LazyName[];

/** Milliseconds after which another widget may request a module. */
const REQUEST_AGAIN_MS = 15_000;

function cacheOf<N extends LazyName>(name: N): ModuleCache<LazyModules[N]> {
  const globals = globalThis as unknown as Record<symbol, ModuleCache<LazyModules[N]>>;
  const key = Symbol.for(`nbtool.${name}.${VERSIONS[name]}`);
  globals[key] ??= {
    module: null,
    isRequested: false,
    requestedAt: Number.NEGATIVE_INFINITY,
    listeners: new Set(),
  };
  return globals[key];
}

/** Return a module, or null while it is not loaded; the call requests it. */
export function lazyModule<N extends LazyName>(name: N): LazyModules[N] | null {
  const cache = cacheOf(name);
  if (!cache.module && !cache.isRequested) {
    cache.isRequested = true;
    notify(name);
  }
  return cache.module;
}

/** Set a module from another source: an extension bundles it. */
export function setModule<N extends LazyName>(name: N, module: LazyModules[N] | null): void {
  cacheOf(name).module = module;
  notify(name);
}

/** Add a listener for a request of a module and for its arrival; return a function that removes it. */
export function onModule(name: LazyName, listener: () => void): () => void {
  const { listeners } = cacheOf(name);
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether to request a module from a kernel now: it is needed, absent, and no other widget has just requested it. */
export function claimRequest(name: LazyName): boolean {
  const cache = cacheOf(name);
  if (cache.module || !cache.isRequested || Date.now() - cache.requestedAt < REQUEST_AGAIN_MS) return false;
  cache.requestedAt = Date.now();
  return true;
}

/** Load a module from the kernel's message, as anywidget loads the first one; if that fails, the fallbacks remain. */
export async function loadModule(version: unknown, compressed: unknown): Promise<void> {
  const name = LAZY_NAMES.find((known) => VERSIONS[known] === version);
  if (!name || cacheOf(name).module || !(compressed instanceof DataView)) return;
  try {
    const bytes = compressed as DataView<ArrayBuffer>;
    const decompressed = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = new Blob([await new Response(decompressed).arrayBuffer()], { type: "text/javascript" });
    const address = URL.createObjectURL(script);
    const module = (await import(/* @vite-ignore */ address)) as { default: LazyModules[typeof name] };
    URL.revokeObjectURL(address);
    setModule(name, module.default);
  } catch (error) {
    console.warn("nbtool: the rich view could not be loaded; text stays plain.", error);
  }
}

function notify(name: LazyName): void {
  for (const listener of [...cacheOf(name).listeners]) listener();
}
