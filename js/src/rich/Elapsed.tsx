import { Component, type JSX } from "preact";
import { formatSeconds } from "../text/format";
import type { LazyViews } from "../views/LazyView";

/** Seconds in which this page saw the turn run, without those in which it waited for the person. */
export class Elapsed extends Component<LazyViews["elapsed"], { seconds: number }> {
  override state = { seconds: 0 };
  #since = this.props.since;
  #timer = setInterval(() => {
    const seconds = Math.floor((Date.now() - this.#since) / 1000);
    if (this.props.isPaused) this.#since += (seconds - this.state.seconds) * 1000;
    else this.setState({ seconds });
  }, 1000);

  override componentWillUnmount(): void {
    clearInterval(this.#timer);
  }

  render(): JSX.Element {
    return (
      <span class="nb-muted">
        {this.state.seconds > 1 && formatSeconds(this.state.seconds).replace(".0", "")}
      </span>
    );
  }
}
