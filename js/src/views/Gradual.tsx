import { Component, createRef, type JSX, type VNode } from "preact";

interface GradualProps {
  nodes: VNode[];
  /** How many are drawn in one task. */
  each: number;
}

/** Nodes that lie in one box: a full one is passed over while the next is drawn. */
const CHUNK = 32;

/** Nodes that are drawn a few at a time, each time laid out, so that no task has them all to do. */
export class Gradual extends Component<GradualProps> {
  #el = createRef<HTMLSpanElement>();
  #count = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override componentDidMount(): void {
    this.#goOn();
  }

  override componentDidUpdate(): void {
    this.#goOn();
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  #isAll(): boolean {
    return this.#count >= this.props.nodes.length;
  }

  #goOn(): void {
    if (this.#isAll() || this.#timer !== undefined) return;
    this.#el.current?.getBoundingClientRect();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.forceUpdate();
    }, 0);
  }

  render(): JSX.Element {
    const { nodes, each } = this.props;
    if (this.#timer === undefined) this.#count = Math.max(each, this.#count + (this.#isAll() ? 0 : each));
    const shown = nodes.slice(0, this.#count);
    return (
      <span ref={this.#el} class="nb-lines" aria-busy={!this.#isAll()}>
        {Array.from({ length: Math.ceil(shown.length / CHUNK) }, (_, n) => (
          <Chunk key={n} nodes={shown.slice(n * CHUNK, (n + 1) * CHUNK)} />
        ))}
      </span>
    );
  }
}

class Chunk extends Component<{ nodes: VNode[] }> {
  override shouldComponentUpdate({ nodes }: { nodes: VNode[] }): boolean {
    return nodes.length !== this.props.nodes.length || nodes[0] !== this.props.nodes[0];
  }

  render(): JSX.Element {
    return <span class="nb-lines">{this.props.nodes}</span>;
  }
}
