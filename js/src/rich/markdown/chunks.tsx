import { Component, type ComponentChildren, createRef, type JSX, type VNode } from "preact";
import { passOver } from "../../views/skipOffscreen";

/** Nodes that lie in one box, and boxes in the box around them. */
export const GROUP = 64;

/** Draws one box of nodes; one that is full never changes again. */
export type Leaf = (nodes: ComponentChildren[], index: number, isFull: boolean) => VNode;

/**
 * Nodes in boxes, and these in boxes again, so that a flush looks at a few of them however many there are: what is full
 * is the same object for ever, which Preact passes over, and the browser skips what is out of sight.
 */
export class Pile {
  #leaf: Leaf;
  #boxes: VNode[] = [];
  #leaves: VNode[] = [];
  #count = 0;

  constructor(draw: Leaf = leaf) {
    this.#leaf = draw;
  }

  /** Take nodes that never change again, as many as fill boxes. */
  add(nodes: ComponentChildren[]): void {
    for (let at = 0; at < nodes.length; at += GROUP) {
      this.#leaves.push(this.#leaf(nodes.slice(at, at + GROUP), this.#count++, true));
      if (this.#leaves.length === GROUP)
        this.#boxes.push(box(this.#leaves.splice(0), this.#boxes.length, true));
    }
  }

  /** All of them, and below them what may yet change. */
  view(rest: ComponentChildren[]): VNode[] {
    const leaves = [...this.#leaves];
    for (let at = 0; at < rest.length; at += GROUP) {
      const index = this.#count + at / GROUP;
      leaves.push(this.#leaf(rest.slice(at, at + GROUP), index, at + GROUP < rest.length));
    }
    const boxes = [...this.#boxes];
    for (let at = 0; at < leaves.length; at += GROUP)
      boxes.push(box(leaves.slice(at, at + GROUP), boxes.length, at + GROUP < leaves.length));
    return boxes;
  }
}

function leaf(nodes: ComponentChildren[], index: number, isFull: boolean): VNode {
  return (
    <Leaves key={index} isFull={isFull}>
      {nodes}
    </Leaves>
  );
}

function box(nodes: ComponentChildren[], index: number, isFull: boolean): VNode {
  return (
    <Box key={index} isFull={isFull}>
      {nodes}
    </Box>
  );
}

interface BoxProps {
  isFull: boolean;
  children: ComponentChildren;
}

/** A component, so that Preact has one child to pass over where it is full. */
function Leaves({ isFull, children }: BoxProps): JSX.Element {
  return <div class={isFull ? "nb-passed" : undefined}>{children}</div>;
}

/** A box of boxes, which the browser passes over as one. */
class Box extends Component<BoxProps> {
  #el = createRef<HTMLDivElement>();

  override componentDidMount(): void {
    this.componentDidUpdate({ isFull: false });
  }

  override componentDidUpdate({ isFull }: { isFull: boolean }): void {
    if (this.#el.current && this.props.isFull && !isFull) passOver(this.#el.current);
  }

  render(): JSX.Element {
    return <div ref={this.#el}>{this.props.children}</div>;
  }
}
