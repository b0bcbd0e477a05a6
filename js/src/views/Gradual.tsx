import { Component, createRef, type JSX, type VNode } from "preact";

interface GradualProps {
  nodes: VNode[];
  /** How many are drawn in one task. */
  each: number;
}

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
    return (
      <span ref={this.#el} class="nb-lines" aria-busy={!this.#isAll()}>
        {nodes.slice(0, this.#count)}
      </span>
    );
  }
}
