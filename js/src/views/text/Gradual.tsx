import { Component, createRef, type JSX, type VNode } from "preact";
import { skipWhenOffscreen } from "./skipOffscreen";

interface GradualProps {
  /** The source of the nodes, read while rendering. Another source restarts the rendering. */
  nodes: Iterable<VNode>;
  /** Nodes that are rendered in one task. */
  each: number;
}

/** Nodes that lie in one box: the browser passes over a full one where it is out of sight. */
const CHUNK = 8;

/** Renders nodes a few at a time, with a layout each, so that no task gets too long. */
export class Gradual extends Component<GradualProps> {
  #el = createRef<HTMLSpanElement>();
  #source: Iterable<VNode> | undefined;
  #rest: Iterator<VNode> = [][Symbol.iterator]();
  #chunks: VNode[][] = [];
  /** The node after the last rendered one; none if all are rendered. */
  #next: VNode | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override componentDidMount(): void {
    this.#schedule();
  }

  override componentDidUpdate(): void {
    this.#schedule();
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (!this.#next || this.#timer !== undefined) return;
    this.#el.current?.getBoundingClientRect();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#drawNext();
      this.forceUpdate();
    }, 0);
  }

  #restart(nodes: Iterable<VNode>): void {
    this.#source = nodes;
    this.#rest = nodes[Symbol.iterator]();
    this.#chunks = [];
    this.#next = this.#rest.next().value;
    this.#drawNext();
  }

  #drawNext(): void {
    for (let n = 0; n < this.props.each && this.#next; n++) {
      const last = this.#chunks.at(-1);
      if (last && last.length < CHUNK) this.#chunks[this.#chunks.length - 1] = [...last, this.#next];
      else this.#chunks.push([this.#next]);
      this.#next = this.#rest.next().value;
    }
  }

  render(): JSX.Element {
    const { nodes } = this.props;
    if (nodes !== this.#source) this.#restart(nodes);
    return (
      <span ref={this.#el} class="nb-lines" aria-busy={this.#next !== undefined}>
        {this.#chunks.map((chunk, n) => (
          <Chunk key={n} nodes={chunk} />
        ))}
      </span>
    );
  }
}

class Chunk extends Component<{ nodes: VNode[] }> {
  #el = createRef<HTMLSpanElement>();

  override componentDidMount(): void {
    this.#skipWhenFull();
  }

  override componentDidUpdate(): void {
    this.#skipWhenFull();
  }

  #skipWhenFull(): void {
    const el = this.#el.current;
    if (el && this.props.nodes.length === CHUNK) skipWhenOffscreen(el);
  }

  override shouldComponentUpdate({ nodes }: { nodes: VNode[] }): boolean {
    return nodes !== this.props.nodes;
  }

  render(): JSX.Element {
    return (
      <span ref={this.#el} class="nb-lines">
        {this.props.nodes}
      </span>
    );
  }
}
