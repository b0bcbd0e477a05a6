import { Component, createRef, type JSX } from "preact";
import type { CallState, Document } from "../protocol";
import { MAX_FACTS, singleLine } from "../text/format";
import { MediaList } from "../views/MediaList";
import { Notice } from "../views/Notice";
import { LongText } from "../views/text/AppendOnlyText";
import type { ExplorerClient } from "./client";
import { failedCalls } from "./icons";
import { findTurn, turnNumbers } from "./listRows";
import { hasHiddenWord, markWords, openTexts } from "./marks";
import type { Detail, Index } from "./protocol";
import { ReplaySlider } from "./ReplaySlider";
import { byRound, replayTo } from "./replay";
import { StepBlock } from "./StepBlock";
import { TimeLine } from "./TimeLine";
import { TurnActions } from "./TurnCommands";

/** The outcomes of a call that failed, as in nbtool/blocks/history/tree_rows.py. */
const FAILED: ReadonlySet<CallState> = new Set(["error", "invalid", "not_found", "timed_out", "unknown"]);

/** The outcomes of a call that was decided against, as there. */
const DENIED: ReadonlySet<CallState> = new Set(["denied", "withheld"]);

interface PaneProps {
  index: Index;
  turn: string;
  /** The words of the search, which are marked. */
  words: readonly string[];
  client: ExplorerClient;
  onSelectVersion: (node: string, version: number, turn: string) => void;
  compare: (turn: string) => void;
}

interface State {
  /** How many steps are shown; null for all. */
  position: number | null;
  /** The call that was pointed at on the time line. */
  call: string;
}

/** One turn: its prompt, its actions, its timeline, and its replay. */
export class TurnPane extends Component<PaneProps, State> {
  override state: State = { position: null, call: "" };
  #article = createRef<HTMLElement>();
  /** The words that were last scrolled to. */
  #revealed = "";
  /** Folds fill themselves later, and a turn loads later. */
  #fillObserver = new MutationObserver(() => this.#mark());

  override componentDidMount(): void {
    this.componentDidUpdate();
  }

  override componentDidUpdate(): void {
    this.#fillObserver.disconnect();
    const article = this.#article.current;
    if (article && this.props.words.length > 0)
      this.#fillObserver.observe(article, { childList: true, subtree: true });
    this.#mark();
  }

  override componentWillUnmount(): void {
    this.#fillObserver.disconnect();
    if (this.#article.current) markWords(this.#article.current, []);
  }

  /** Mark the words, and scroll once to the first of them. */
  #mark(): void {
    const [article, words] = [this.#article.current, this.props.words];
    if (!article) return;
    const place = markWords(article, words)?.startContainer.parentElement;
    if (!place || this.#revealed === words.join(" ")) return;
    this.#revealed = words.join(" ");
    scrollPaneTo(place);
  }

  render(): JSX.Element {
    const detail = this.props.client.state().details.get(this.props.turn);
    if (detail === undefined) return <p class="nb-muted">Loading…</p>;
    if (typeof detail === "string") return <Notice block={{ level: "error", text: detail }} />;
    return this.#renderTurn(detail);
  }

  #renderTurn(detail: Detail): JSX.Element {
    const { client, turn, compare, words } = this.props;
    const steps = detail.steps.length;
    const position = this.state.position ?? steps;
    const replay = replayTo(detail, position);
    const document = position === steps ? replay.document : replayTo(detail, steps).document;
    const shownTexts = openTexts(document.head.prompt, document.blocks);
    const at = position > 0 && position < steps ? detail.steps[position - 1]?.at : null;
    return (
      <article aria-label="Turn" ref={this.#article}>
        <header class="nb-x-header">
          <p class="nb-x-prompt">
            <LongText text={document.head.prompt || "(no text)"} />
          </p>
          <p class="nb-muted nb-x-facts">
            {this.#number()}
            {facts(document)} {this.#renderVersions()}
          </p>
          {document.head.attached && (
            <MediaList
              media={document.head.attached}
              bytes={client.state().media}
              requestMedia={(key) => client.requestMedia(turn, key)}
            />
          )}
          {detail.made && <p class="nb-muted nb-prewrap">{detail.made}</p>}
          <TurnActions client={client} document={document} compare={() => compare(turn)} />
        </header>
        {!client.isSaved && (
          <>
            <TimeLine spans={detail.spans} at={at ?? null} pick={(call) => this.setState({ call })} />
            <ReplaySlider
              steps={detail.steps}
              position={position}
              move={(next) => this.setState({ position: next === steps ? null : next })}
            />
          </>
        )}
        {byRound(replay).map(({ round, blocks }) => (
          <section class="nb-x-round" key={round} aria-label={`Round ${round}`}>
            {round > 0 && <h4 class="nb-x-rounds">Round {round}</h4>}
            {blocks.map((block) => (
              <StepBlock
                key={block.id}
                block={block}
                client={client}
                turn={turn}
                isSelected={this.state.call === block.id}
                hasMatch={hasHiddenWord(block, words, shownTexts)}
              />
            ))}
          </section>
        ))}
        {endNotice(replay.document)}
      </article>
    );
  }

  /** The number of a turn of the active line in `%chat history`. */
  #number(): string {
    const { index, turn } = this.props;
    const place = findTurn(index, turn);
    const number = place && turnNumbers(index).get(place.at);
    return number ? `turn ${number} · ` : "";
  }

  #renderVersions(): JSX.Element | null {
    const { index, turn, onSelectVersion } = this.props;
    const place = findTurn(index, turn);
    const row = place && index.rows[place.at];
    if (!row || row.versions.length < 2) return null;
    const button = (sign: string, name: string, next: number): JSX.Element => (
      <button
        type="button"
        class="nb-text-button nb-x-version-button"
        aria-label={name}
        disabled={!row.versions[next]}
        onClick={() => {
          const version = row.versions[next];
          if (version) onSelectVersion(row.node_id, next, version.turn_id);
        }}
      >
        {sign}
      </button>
    );
    const at = place.version;
    return (
      <span class="nb-x-versions">
        {button("‹", "Previous version", at - 1)}version {at + 1} of {row.versions.length}
        {at === row.current && ", the active one"}
        {button("›", "Next version", at + 1)}
      </span>
    );
  }
}

/** Scroll the pane, and nothing else, so that an element is seen. */
function scrollPaneTo(el: Element): void {
  const pane = el.closest(".nb-x-pane");
  if (!pane) return;
  const [outer, inner] = [pane.getBoundingClientRect(), el.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    pane.scrollTop += inner.top - outer.top - outer.height / 3;
}

function endNotice({ head }: Document): JSX.Element | null {
  const end = head.seconds !== null && head.end;
  const level = head.status === "error" || head.status === "timeout" ? "error" : "info";
  return end ? <Notice block={{ text: end, level }} /> : null;
}

function facts({ head, blocks }: Document): string {
  return [
    head.status,
    failedCalls(countCalls(blocks)),
    head.started !== null && new Date(head.started * 1000).toLocaleString(),
    singleLine(head.footer ?? head.model, MAX_FACTS),
    singleLine(head.details ?? "", MAX_FACTS),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The calls of a turn, and those that failed or were denied, as a row counts them. */
function countCalls(blocks: Document["blocks"]): { calls: number; failed: number; denied: number } {
  const calls = blocks.flatMap((block) => (block.kind === "call" ? [block.state] : []));
  const count = (states: ReadonlySet<CallState>): number => calls.filter((state) => states.has(state)).length;
  return { calls: calls.length, failed: count(FAILED), denied: count(DENIED) };
}
