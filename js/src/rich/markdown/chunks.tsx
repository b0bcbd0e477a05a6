import { Component, type ComponentChildren, createRef, type JSX, type VNode } from "preact";
import { skipWhenOffscreen } from "../../views/text/skipOffscreen";

/** Nodes that lie in one box, and boxes in the box around them. */
export const CHUNK_SIZE = 64;

/** Draws one box of nodes; one that is full never changes again. */
export type RenderChunk = (nodes: ComponentChildren[], index: number, isFull: boolean) => VNode;

/**
 * Nodes in boxes, and these in boxes again, so that a flush looks at a few of them however many there are: what is full
 * is the same object for ever, which Preact passes over, and the browser skips what is out of sight.
 */
export class ChunkList {
  #renderChunk: RenderChunk;
  #groups: VNode[] = [];
  #chunks: VNode[] = [];
  #count = 0;

  constructor(draw: RenderChunk = renderChunk) {
    this.#renderChunk = draw;
  }

  /** Add nodes that never change again, as many as fill boxes. */
  append(nodes: ComponentChildren[]): void {
    for (let at = 0; at < nodes.length; at += CHUNK_SIZE) {
      this.#chunks.push(this.#renderChunk(nodes.slice(at, at + CHUNK_SIZE), this.#count++, true));
      if (this.#chunks.length === CHUNK_SIZE)
        this.#groups.push(renderGroup(this.#chunks.splice(0), this.#groups.length, true));
    }
  }

  /** All of them, and below them what may yet change. */
  render(rest: ComponentChildren[]): VNode[] {
    const chunks = [...this.#chunks];
    for (let at = 0; at < rest.length; at += CHUNK_SIZE) {
      const index = this.#count + at / CHUNK_SIZE;
      chunks.push(this.#renderChunk(rest.slice(at, at + CHUNK_SIZE), index, at + CHUNK_SIZE < rest.length));
    }
    const groups = [...this.#groups];
    for (let at = 0; at < chunks.length; at += CHUNK_SIZE)
      groups.push(
        renderGroup(chunks.slice(at, at + CHUNK_SIZE), groups.length, at + CHUNK_SIZE < chunks.length),
      );
    return groups;
  }
}

function renderChunk(nodes: ComponentChildren[], index: number, isFull: boolean): VNode {
  return (
    <Chunk key={index} isFull={isFull}>
      {nodes}
    </Chunk>
  );
}

function renderGroup(nodes: ComponentChildren[], index: number, isFull: boolean): VNode {
  return (
    <ChunkGroup key={index} isFull={isFull}>
      {nodes}
    </ChunkGroup>
  );
}

interface ChunkProps {
  isFull: boolean;
  children: ComponentChildren;
}

/** A component, so that Preact has one child to pass over where it is full. */
function Chunk({ isFull, children }: ChunkProps): JSX.Element {
  return <div class={isFull ? "nb-offscreen" : undefined}>{children}</div>;
}

/** A box of boxes, which the browser passes over as one. */
class ChunkGroup extends Component<ChunkProps> {
  #el = createRef<HTMLDivElement>();

  override componentDidMount(): void {
    this.componentDidUpdate({ isFull: false });
  }

  override componentDidUpdate({ isFull }: { isFull: boolean }): void {
    if (this.#el.current && this.props.isFull && !isFull) skipWhenOffscreen(this.#el.current);
  }

  render(): JSX.Element {
    return <div ref={this.#el}>{this.props.children}</div>;
  }
}
