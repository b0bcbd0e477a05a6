/** Renders a view into an element, again when its props change; null removes it. */
export type Mount<P extends object = never> = (el: HTMLElement, props: P | null) => void;

/** The second module. It is loaded once a page, and nothing waits for it: each of its views has a plain fallback. */
export interface LazyModule {
  views: Record<string, Mount>;
}

/** One copy for the page, shared by the modules of all widgets of the same build. */
interface ModuleCache {
  module: LazyModule | null;
  isRequested: boolean;
  requestedAt: number;
  listeners: Set<() => void>;
}

declare const LAZY_VERSION: string;
const VERSION = typeof LAZY_VERSION === "string" ? LAZY_VERSION : "source";

/** Milliseconds after which another widget may request the module. */
const REQUEST_AGAIN_MS = 15_000;

const globals = globalThis as unknown as Record<symbol, ModuleCache>;
const cacheKey = Symbol.for(`nbtool.rich.${VERSION}`);
globals[cacheKey] ??= {
  module: null,
  isRequested: false,
  requestedAt: Number.NEGATIVE_INFINITY,
  listeners: new Set(),
};
const cache: ModuleCache = globals[cacheKey];

/** Return the second module, or null while it is not loaded; the call requests it. */
export function lazyModule(): LazyModule | null {
  if (!cache.module && !cache.isRequested) {
    cache.isRequested = true;
    notify();
  }
  return cache.module;
}

/** Set the module from another source: an extension bundles it. */
export function setModule(module: LazyModule | null): void {
  cache.module = module;
  notify();
}

/** Add a listener for a request of the module and for its arrival; return a function that removes it. */
export function onModule(listener: () => void): () => void {
  cache.listeners.add(listener);
  return () => cache.listeners.delete(listener);
}

/** Whether to request the module from a kernel now: it is needed, absent, and no other widget has just requested it. */
export function claimRequest(): boolean {
  if (cache.module || !cache.isRequested || Date.now() - cache.requestedAt < REQUEST_AGAIN_MS) return false;
  cache.requestedAt = Date.now();
  return true;
}

/** Load the module from the kernel's message, as anywidget loads the first one; if that fails, the fallbacks remain. */
export async function loadModule(version: unknown, compressed: unknown): Promise<void> {
  if (cache.module || version !== VERSION || !(compressed instanceof DataView)) return;
  try {
    const bytes = compressed as DataView<ArrayBuffer>;
    const decompressed = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = new Blob([await new Response(decompressed).arrayBuffer()], { type: "text/javascript" });
    const address = URL.createObjectURL(script);
    const module = (await import(/* @vite-ignore */ address)) as { default: LazyModule };
    URL.revokeObjectURL(address);
    setModule(module.default);
  } catch (error) {
    console.warn("nbtool: the rich view could not be loaded; text stays plain.", error);
  }
}

function notify(): void {
  for (const listener of [...cache.listeners]) listener();
}
