import { Component, type JSX, render } from "preact";
import type { Mount } from "../kernel/lazy";
import type { LazyViews } from "../views/LazyView";
import { LiveRegion } from "../views/LiveRegion";
import { followScroll } from "./followScroll";

type Props = LazyViews["liveTurn"] & {
  /** An element in the turn. */
  el: HTMLElement;
};

/** What a turn does while it grows: it is announced, and its end stays in sight. It draws nothing. */
export const mountLiveTurn: Mount<LazyViews["liveTurn"]> = (el, props) =>
  render(props && <LiveTurn {...props} el={el} />, el);

function LiveTurn(props: Props): JSX.Element {
  return (
    <>
      <LiveRegion {...props} />
      <EndInSight {...props} />
    </>
  );
}

/** Keeps the end of the turn around it in sight, until that has ended. */
class EndInSight extends Component<Props> {
  #follow: ReturnType<typeof followScroll> | undefined;

  override componentDidMount(): void {
    const turn = this.props.el.closest<HTMLElement>(".nb-turn");
    if (turn && this.#isLive()) this.#follow = followScroll(turn);
  }

  override componentDidUpdate(): void {
    this.#follow?.onChange();
    if (!this.#isLive()) this.#stop();
  }

  override componentWillUnmount(): void {
    this.#stop();
  }

  #isLive(): boolean {
    return this.props.status === "running" || this.props.status === "waiting";
  }

  #stop(): void {
    this.#follow?.stop();
    this.#follow = undefined;
  }

  render(): null {
    return null;
  }
}
