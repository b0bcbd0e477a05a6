import { Component, type ComponentChildren, createRef, type JSX } from "preact";

/** Draws into an element, or draws again with other values; null takes everything away. */
export type Mount = (el: HTMLElement, props: object | null) => void;

/** What the second module offers. It is loaded once a page and never waited for: all of it has a plain stand-in. */
export interface Rich {
  views: Record<string, Mount>;
}

/** The page's one copy, shared by the modules of all widgets that were built together. */
interface Shelf {
  rich: Rich | null;
  isWanted: boolean;
  askedAt: number;
  listeners: Set<() => void>;
}

declare const RICH_VERSION: string;
const VERSION = typeof RICH_VERSION === "string" ? RICH_VERSION : "source";

/** Milliseconds after which another widget may ask. */
const ASK_AGAIN_MS = 15_000;

const place = globalThis as unknown as Record<symbol, Shelf>;
const key = Symbol.for(`nbtool.rich.${VERSION}`);
place[key] ??= { rich: null, isWanted: false, askedAt: Number.NEGATIVE_INFINITY, listeners: new Set() };
const shelf: Shelf = place[key];

/** The second module where it is there; asking makes it wanted. */
export function rich(): Rich | null {
  if (!shelf.rich && !shelf.isWanted) {
    shelf.isWanted = true;
    announce();
  }
  return shelf.rich;
}

/** Take a second module that came by some other way: an extension that has it bundled. */
export function adopt(module: Rich | null): void {
  shelf.rich = module;
  announce();
}

/** Be told when the module is wanted, and when it is there; gives the undo. */
export function onRich(listener: () => void): () => void {
  shelf.listeners.add(listener);
  return () => shelf.listeners.delete(listener);
}

/** Whether a kernel should be asked for it now: it is wanted, not there, and nobody else has just asked. */
export function claimAsking(): boolean {
  if (shelf.rich || !shelf.isWanted || Date.now() - shelf.askedAt < ASK_AGAIN_MS) return false;
  shelf.askedAt = Date.now();
  return true;
}

/** Load the module from what the kernel sent, as anywidget loads the first; where that fails, all stays plain. */
export async function load(version: unknown, packed: unknown): Promise<void> {
  if (shelf.rich || version !== VERSION || !(packed instanceof DataView)) return;
  try {
    const bytes = packed as DataView<ArrayBuffer>;
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = new Blob([await new Response(unpacked).arrayBuffer()], { type: "text/javascript" });
    const address = URL.createObjectURL(script);
    const module = (await import(/* @vite-ignore */ address)) as { default: Rich };
    URL.revokeObjectURL(address);
    adopt(module.default);
  } catch (error) {
    console.warn("nbtool: what is shown stays plain.", error);
  }
}

function announce(): void {
  for (const listener of [...shelf.listeners]) listener();
}

interface IslandProps {
  view: string;
  props: object;
  children?: ComponentChildren;
}

/** A view of the second module; its children stand there until it has come. */
export class Island extends Component<IslandProps> {
  #el = createRef<HTMLDivElement>();
  #undo = onRich(() => this.forceUpdate());
  #mount: Mount | undefined;

  override componentDidMount(): void {
    this.#draw();
  }

  override componentDidUpdate(): void {
    this.#draw();
  }

  override componentWillUnmount(): void {
    this.#undo();
    if (this.#el.current) this.#mount?.(this.#el.current, null);
  }

  render(): JSX.Element {
    this.#mount = rich()?.views[this.props.view];
    return this.#mount ? <div key="rich" ref={this.#el} /> : <div key="plain">{this.props.children}</div>;
  }

  override shouldComponentUpdate(next: IslandProps): boolean {
    const { props } = this.props;
    return next.view !== this.props.view || !isSame(next.props, props) || !this.#mount;
  }

  #draw(): void {
    if (this.#el.current) this.#mount?.(this.#el.current, this.props.props);
  }
}

function isSame(one: object, other: object): boolean {
  const [ones, others] = [Object.entries(one), new Map(Object.entries(other))];
  return ones.length === others.size && ones.every(([name, value]) => others.get(name) === value);
}
