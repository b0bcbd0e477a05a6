/** A running map: how far it is, what it costs, what failed, and the button that stops it. */
import { Component, type JSX } from "preact";
import type { MapData } from "../generated";
import { NO_REPLY, singleLine } from "../text/format";
import { announce } from "../views/LiveRegion";
import { KEY_PROPS } from "../views/notebookKeys";
import { InlineCode } from "../views/text/InlineCode";
import { isRunning, type MapClient, type MapState } from "./client";

/** Characters of a line that are shown. */
const MAX_LINE = 400;

/** Of a map with a known total, each of so many parts is announced to screen readers, and no other progress. */
const ANNOUNCED_PARTS = 4;

export class MapView extends Component<{ client: MapClient }> {
  #unsubscribe = (): void => {};
  #announced = 0;
  #wasRunning = false;

  override componentDidMount(): void {
    announce(""); // a screen reader reads what changes in a region that it already knows
    this.#unsubscribe = this.props.client.subscribe(() => this.forceUpdate());
  }

  override componentDidUpdate(): void {
    this.#announceProgress(this.props.client.state().map);
  }

  override componentWillUnmount(): void {
    this.#unsubscribe();
  }

  render(): JSX.Element {
    const state = this.props.client.state();
    const { map } = state;
    this.#wasRunning ||= isRunning(map);
    const label = singleLine(map.label, MAX_LINE);
    return (
      <section class="nb-turn nb-map" aria-label="Map of prompts" {...KEY_PROPS}>
        <header class="nb-header">
          {isRunning(map) && <span class="nb-sign" aria-hidden="true" />}
          <span class="nb-map-label">{label}</span>
          {isRunning(map) && <StopButton state={state} stop={this.props.client.stop} />}
        </header>
        <Bar map={map} label={label} />
        <Facts map={map} />
        <Failures map={map} />
      </section>
    );
  }

  /** Announce each quarter, and the end. */
  #announceProgress(map: MapData): void {
    if (!this.#wasRunning) return;
    const isEnded = !isRunning(map);
    const part = map.total ? Math.floor((ANNOUNCED_PARTS * map.done) / map.total) : 0;
    const step = isEnded ? Number.POSITIVE_INFINITY : part;
    if (step <= this.#announced) return;
    this.#announced = step;
    const end = map.status === "stopped" ? ", stopped" : ", complete";
    announce(`${singleLine(map.label, MAX_LINE)}${isEnded ? end : ""}`);
  }
}

/** How much is done as a bar; where nobody knows the total, only for those who cannot see the number. */
function Bar({ map, label }: { map: MapData; label: string }): JSX.Element {
  const left = map.facts.find(({ kind }) => kind === "left")?.text;
  const text = left ? `${label}, ${singleLine(left, MAX_LINE)}` : label;
  if (map.total === null)
    return (
      <div role="progressbar" aria-label="Prompts done" aria-valuetext={text} class="nb-visually-hidden" />
    );
  const percent = map.total ? Math.min(100, Math.floor((100 * map.done) / map.total)) : 100;
  return (
    <div
      role="progressbar"
      aria-label="Prompts done"
      aria-valuemin={0}
      aria-valuemax={map.total}
      aria-valuenow={map.done}
      aria-valuetext={text}
      class="nb-map-bar"
    >
      <div style={{ width: `${percent}%` }} />
    </div>
  );
}

function Facts({ map }: { map: MapData }): JSX.Element {
  return (
    <div class="nb-footer nb-muted">
      {map.facts.map(({ kind, text }) => (
        <span key={kind} class={kind === "failed" ? "nb-map-failed" : undefined}>
          <InlineCode text={singleLine(text, MAX_LINE)} />
        </span>
      ))}
    </div>
  );
}

/** The first distinct messages of failures; the numbers of the others. */
function Failures({ map: { failures, other_failures } }: { map: MapData }): JSX.Element | null {
  if (failures.length === 0) return null;
  return (
    <ul class="nb-map-failures nb-small">
      {failures.map(({ text, count }) => (
        <li key={text}>
          {count.toLocaleString("en")} failed: <InlineCode text={singleLine(text, MAX_LINE)} />
        </li>
      ))}
      {other_failures > 0 && <li>{other_failures.toLocaleString("en")} failed with other messages</li>}
    </ul>
  );
}

function StopButton({ state, stop }: { state: MapState; stop: () => void }): JSX.Element {
  const request = state.requests.stop?.state;
  const isStopping = request === "sent" || request === "accepted";
  const problem =
    state.link === "lost"
      ? "The kernel does not respond: it has stopped, or is busy."
      : request === "noReply" && NO_REPLY;
  return (
    <>
      <button
        type="button"
        class="nb-button"
        aria-disabled={isStopping}
        title="Stop the prompts; the finished answers are kept"
        onClick={() => isStopping || stop()}
      >
        {isStopping ? "Stopping" : "Stop"}
      </button>
      {problem && (
        <p class="nb-alert" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}
