import { Component, type JSX } from "preact";
import type { Document } from "../protocol";
import { counted, END_REASONS, ENDS, oneLine, seconds } from "../text/format";
import { LongText } from "../views/AppendOnlyText";
import { Pictures } from "../views/MediaList";
import { Notice } from "../views/Notice";
import type { Talk } from "./client";
import { placeOf } from "./listRows";
import type { Detail, Index } from "./protocol";
import { Slider } from "./ReplaySlider";
import { byRound, folded } from "./replay";
import { StepBlock } from "./StepBlock";
import { TimeLine } from "./TimeLine";
import { TurnDeeds } from "./TurnActions";

interface PaneProps {
  index: Index;
  turn: string;
  talk: Talk;
  turnTo: (node: string, version: number, turn: string) => void;
  compare: (turn: string) => void;
}

interface State {
  /** How many steps are shown; null for all there are. */
  upto: number | null;
  /** The call that was pointed at on the time line. */
  call: string;
}

/** One turn: what was said, what can be done with it, its time line, and its replay. */
export class TurnPane extends Component<PaneProps, State> {
  override state: State = { upto: null, call: "" };

  render(): JSX.Element {
    const detail = this.props.talk.heard().details.get(this.props.turn);
    if (detail === undefined) return <p class="nb-quiet">Asking the kernel…</p>;
    if (typeof detail === "string") return <Notice block={{ level: "error", text: detail }} />;
    return this.#turn(detail);
  }

  #turn(detail: Detail): JSX.Element {
    const { talk, turn, compare } = this.props;
    const steps = detail.steps.length;
    const upto = this.state.upto ?? steps;
    const told = folded(detail, upto);
    const whole = upto === steps ? told.document : folded(detail, steps).document;
    const at = upto > 0 && upto < steps ? detail.steps[upto - 1]?.at : null;
    return (
      <article aria-label="Turn">
        <header class="nb-x-head">
          <p class="nb-x-prompt">
            <LongText text={whole.head.prompt || "(no text)"} />
          </p>
          <p class="nb-quiet nb-x-facts">
            {facts(whole)} {this.#versions()}
          </p>
          {whole.head.attached && (
            <Pictures
              media={whole.head.attached}
              bytes={talk.heard().media}
              look={(key) => talk.look(turn, key)}
            />
          )}
          {detail.made && <p class="nb-quiet nb-prewrap">{detail.made}</p>}
          <TurnDeeds talk={talk} turn={turn} status={whole.head.status} compare={() => compare(turn)} />
        </header>
        <TimeLine spans={detail.spans} at={at ?? null} pick={(call) => this.setState({ call })} />
        <Slider
          steps={detail.steps}
          upto={upto}
          move={(next) => this.setState({ upto: next === steps ? null : next })}
        />
        {byRound(told).map(({ round, blocks }) => (
          <section class="nb-x-round" key={round} aria-label={`Round ${round}`}>
            {round > 0 && <h4 class="nb-x-rounds">Round {round}</h4>}
            {blocks.map((block) => (
              <StepBlock
                key={block.id}
                block={block}
                talk={talk}
                turn={turn}
                isPicked={this.state.call === block.id}
              />
            ))}
          </section>
        ))}
        {ended(told.document)}
      </article>
    );
  }

  #versions(): JSX.Element | null {
    const { index, turn, turnTo } = this.props;
    const place = placeOf(index, turn);
    const row = place && index.rows[place.at];
    if (!row || row.versions.length < 2) return null;
    const to = (sign: string, name: string, next: number): JSX.Element => (
      <button
        type="button"
        class="nb-plain nb-x-flip"
        aria-label={name}
        disabled={!row.versions[next]}
        onClick={() => {
          const version = row.versions[next];
          if (version) turnTo(row.node_id, next, version.turn_id);
        }}
      >
        {sign}
      </button>
    );
    const at = place.version;
    return (
      <span class="nb-x-versions">
        {to("‹", "The version before", at - 1)}version {at + 1}/{row.versions.length}
        {at === row.current && ", counts"}
        {to("›", "The next version", at + 1)}
      </span>
    );
  }
}

function ended({ head }: Document): JSX.Element | null {
  const end = head.seconds !== null && ENDS[head.status] && (head.error || ENDS[head.status]);
  const level = head.status === "error" || head.status === "timeout" ? "error" : "info";
  return end ? <Notice block={{ text: end, level }} /> : null;
}

function facts({ head }: Document): string {
  const { usage } = head;
  const tokens = usage.input_tokens + usage.output_tokens;
  return [
    head.status,
    END_REASONS.get(head.end_reason ?? ""),
    oneLine(head.model, 60),
    head.started !== null && new Date(head.started * 1000).toLocaleString(),
    head.seconds !== null && seconds(head.seconds),
    head.round > 0 && counted(head.round, "round"),
    tokens > 0 && `${counted(tokens, "token")} (${usage.input_tokens} in, ${usage.output_tokens} out)`,
    usage.cost !== null && `$${usage.cost.toFixed(4)}`,
    head.replayed && `replayed from ${oneLine(head.replayed, 40)}`,
  ]
    .filter(Boolean)
    .join(" · ");
}
