import { Component, type ComponentChildren, createRef, type JSX } from "preact";

/** Draws into an element, or draws again with other values; null takes everything away. */
export type Mount = (el: HTMLElement, props: object | null) => void;

/** What the second module offers. It is loaded once a page and never waited for: all of it has a plain stand-in. */
export interface LazyModule {
  views: Record<string, Mount>;
}

/** The page's one copy, shared by the modules of all widgets that were built together. */
interface ModuleCache {
  module: LazyModule | null;
  isRequested: boolean;
  requestedAt: number;
  listeners: Set<() => void>;
}

declare const LAZY_VERSION: string;
const VERSION = typeof LAZY_VERSION === "string" ? LAZY_VERSION : "source";

/** Milliseconds after which another widget may ask. */
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

/** The second module where it is there; asking makes it wanted. */
export function lazyModule(): LazyModule | null {
  if (!cache.module && !cache.isRequested) {
    cache.isRequested = true;
    notify();
  }
  return cache.module;
}

/** Take a second module that came by some other way: an extension that has it bundled. */
export function setModule(module: LazyModule | null): void {
  cache.module = module;
  notify();
}

/** Be told when the module is wanted, and when it is there; gives the undo. */
export function onModule(listener: () => void): () => void {
  cache.listeners.add(listener);
  return () => cache.listeners.delete(listener);
}

/** Whether a kernel should be asked for it now: it is wanted, not there, and nobody else has just asked. */
export function claimRequest(): boolean {
  if (cache.module || !cache.isRequested || Date.now() - cache.requestedAt < REQUEST_AGAIN_MS) return false;
  cache.requestedAt = Date.now();
  return true;
}

/** Load the module from what the kernel sent, as anywidget loads the first; where that fails, all stays plain. */
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

interface LazyViewProps {
  view: string;
  props: object;
  children?: ComponentChildren;
}

/** A view of the second module; its children stand there until it has come. */
export class LazyView extends Component<LazyViewProps> {
  #el = createRef<HTMLDivElement>();
  #unsubscribe = onModule(() => this.forceUpdate());
  #mount: Mount | undefined;

  override componentDidMount(): void {
    this.#mountView();
  }

  override componentDidUpdate(): void {
    this.#mountView();
  }

  override componentWillUnmount(): void {
    this.#unsubscribe();
    if (this.#el.current) this.#mount?.(this.#el.current, null);
  }

  render(): JSX.Element {
    this.#mount = lazyModule()?.views[this.props.view];
    return this.#mount ? <div key="rich" ref={this.#el} /> : <div key="plain">{this.props.children}</div>;
  }

  override shouldComponentUpdate(next: LazyViewProps): boolean {
    const { props } = this.props;
    return next.view !== this.props.view || !areEqual(next.props, props) || !this.#mount;
  }

  #mountView(): void {
    if (this.#el.current) this.#mount?.(this.#el.current, this.props.props);
  }
}

function areEqual(one: object, other: object): boolean {
  const [ones, others] = [Object.entries(one), new Map(Object.entries(other))];
  return ones.length === others.size && ones.every(([name, value]) => others.get(name) === value);
}
