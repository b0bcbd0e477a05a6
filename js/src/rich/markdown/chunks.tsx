/** Long lists of nodes in boxes that stay as they are once full, so that appending is cheap. */
import { Component, type ComponentChildren, createRef, type JSX, type VNode } from "preact";
import { skipWhenOffscreen } from "../../views/text/skipOffscreen";

/** Nodes that lie in one box. */
export const CHUNK_SIZE = 64;

/** Boxes in the box around them, and how many such boxes are around each other. */
const GROUP_SIZE = 8;
const GROUP_LEVELS = 3;

/**
 * How many boxes are laid out before the browser may pass over them: their heights are then known, and nothing moves when
 * they come into sight or are drawn again. Those of a longer text are estimated, because to lay out all of it takes long.
 */
const MEASURED_CHUNKS = 32;

/** Draws one box of nodes; one that is full never changes again. */
export type RenderChunk = (nodes: ComponentChildren[], index: number, isFull: boolean) => VNode;

/**
 * Nodes in boxes, and these in boxes again, so that a flush looks at a few of them however many there are: what is full
 * is the same object for ever, which Preact passes over, and the browser skips what is out of sight. Each box that it may
 * skip costs at every frame, so that only the last few have one of their own.
 */
export class ChunkList {
  #renderChunk: RenderChunk;
  /** The full boxes of each level that are in no full box; the chunks first. */
  #levels: VNode[][] = Array.from({ length: GROUP_LEVELS + 1 }, () => []);
  /** How many boxes of each level are in full ones. */
  #enclosed: number[] = this.#levels.map(() => 0);

  constructor(draw: RenderChunk = renderChunk) {
    this.#renderChunk = draw;
  }

  /** Add nodes that never change again, as many as fill boxes. */
  append(nodes: ComponentChildren[]): void {
    for (let at = 0; at < nodes.length; at += CHUNK_SIZE)
      this.#push(0, this.#renderChunk(nodes.slice(at, at + CHUNK_SIZE), this.#count(0), true));
  }

  #push(level: number, box: VNode): void {
    const boxes = this.#levels[level];
    boxes?.push(box);
    if (level === GROUP_LEVELS || boxes?.length !== GROUP_SIZE) return;
    this.#enclosed[level] = this.#count(level);
    this.#push(level + 1, renderGroup(boxes.splice(0), this.#count(level + 1), true));
  }

  /** How many boxes of a level there are. */
  #count(level: number): number {
    return (this.#enclosed[level] ?? 0) + (this.#levels[level]?.length ?? 0);
  }

  /** All of them, and below them what may yet change. */
  render(rest: ComponentChildren[]): VNode[] {
    let below = pack(rest, CHUNK_SIZE, this.#count(0), this.#renderChunk);
    for (let level = 0; level < GROUP_LEVELS; level++)
      below = pack(
        [...(this.#levels[level] ?? []), ...below],
        GROUP_SIZE,
        this.#count(level + 1),
        renderGroup,
      );
    return [...(this.#levels[GROUP_LEVELS] ?? []), ...below];
  }
}

/** Draw boxes of so many nodes each, from an index on; all but the last are full. */
function pack(nodes: ComponentChildren[], size: number, first: number, draw: RenderChunk): VNode[] {
  const boxes: VNode[] = [];
  for (let at = 0; at < nodes.length; at += size)
    boxes.push(draw(nodes.slice(at, at + size), first + at / size, at + size < nodes.length));
  return boxes;
}

function renderChunk(nodes: ComponentChildren[], index: number, isFull: boolean): VNode {
  return (
    <Box key={index} isFull={isFull} isEstimated={index >= MEASURED_CHUNKS}>
      {nodes}
    </Box>
  );
}

/** A box of boxes, which the browser passes over as one. */
function renderGroup(nodes: ComponentChildren[], index: number, isFull: boolean): VNode {
  return (
    <Box key={index} isFull={isFull}>
      {nodes}
    </Box>
  );
}

interface BoxProps {
  isFull: boolean;
  /** Whether the browser may pass over it before its height is known. */
  isEstimated?: boolean;
  children: ComponentChildren;
}

/** A component, so that Preact has one child to pass over where it is full. */
class Box extends Component<BoxProps> {
  #el = createRef<HTMLDivElement>();

  override componentDidMount(): void {
    this.componentDidUpdate({ isFull: false });
  }

  override componentDidUpdate({ isFull }: { isFull: boolean }): void {
    const isNowFull = this.props.isFull && !isFull;
    if (this.#el.current && isNowFull && !this.props.isEstimated) skipWhenOffscreen(this.#el.current);
  }

  render(): JSX.Element {
    const { isFull, isEstimated, children } = this.props;
    return (
      <div ref={this.#el} class={isFull && isEstimated ? "nb-chunk nb-offscreen" : "nb-chunk"}>
        {children}
      </div>
    );
  }
}
