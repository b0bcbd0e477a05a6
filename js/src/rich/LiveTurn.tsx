import { Component, type JSX, render } from "preact";
import type { Mount } from "../kernel/lazy";
import type { LazyViews } from "../views/LazyView";
import { LiveRegion } from "../views/LiveRegion";
import { keepScroll } from "./scroll/scrollAnchor";

type Props = LazyViews["liveTurn"] & {
  /** An element in the turn. */
  el: HTMLElement;
};

/** What a turn does while it grows: it is announced, and what is read stays where it is. It draws nothing. */
export const mountLiveTurn: Mount<LazyViews["liveTurn"]> = (el, props) =>
  render(props && <LiveTurn {...props} el={el} />, el);

function LiveTurn(props: Props): JSX.Element {
  return (
    <>
      <LiveRegion {...props} />
      <KeptPlace {...props} />
    </>
  );
}

/** Keeps what is read where it is while the turn around it lives. */
class KeptPlace extends Component<Props> {
  #release: (() => void) | undefined;

  override componentDidMount(): void {
    const turn = this.props.el.closest<HTMLElement>(".nb-turn");
    if (turn && this.#isLive()) this.#release = keepScroll(turn);
  }

  override componentDidUpdate(): void {
    if (!this.#isLive()) this.#release?.();
  }

  override componentWillUnmount(): void {
    this.#release?.();
  }

  #isLive(): boolean {
    return this.props.status === "running" || this.props.status === "waiting";
  }

  render(): null {
    return null;
  }
}
