import type { JSX } from "preact";
import { bindRequestKey, type Connection, isLive, stopRequestKey } from "../kernel/turn";
import type { Block, CallBlock } from "../protocol";
import { CALL_STATE_LABELS, formatSeconds, plural, singleLine } from "../text/format";
import { Call } from "./Call";
import { LazyMedia } from "./LazyMedia";
import { LazyView } from "./LazyView";
import { Notice } from "./Notice";
import { Reply } from "./Reply";
import { Thinking } from "./Thinking";

/** Finished calls in a row from which on they are folded into one line. */
const MIN_FOLDED_CALLS = 3;

/** Whether a call needs no attention any more. */
const SETTLED_STATES: readonly string[] = [
  "ok",
  "error",
  "denied",
  "withheld",
  "not_found",
  "invalid",
  "timed_out",
  "cancelled",
  "stopped",
  "not_run",
];

/** The blocks of a turn in order; many finished calls in a row are one fold. */
export function Blocks({ blocks, connection }: { blocks: Block[]; connection: Connection }): JSX.Element {
  return (
    <>
      {groupSettledCalls(blocks).map((run) => {
        const [first] = run;
        if (!first) return null;
        const views = run.map((block) => (
          <div class="nb-block-item" key={block.id}>
            {renderBlock(block, connection)}
          </div>
        ));
        return run.length > 1 ? (
          <CallGroup key={`g${first.id}`} calls={run as CallBlock[]} views={views} />
        ) : (
          views[0]
        );
      })}
    </>
  );
}

/** The blocks, with many finished calls grouped. */
function groupSettledCalls(blocks: Block[]): Block[][] {
  const groups: Block[][] = [];
  for (let at = 0; at < blocks.length; ) {
    let end = at;
    while (isSettledCall(blocks[end])) end++;
    if (end - at < MIN_FOLDED_CALLS) end = at + 1;
    groups.push(blocks.slice(at, end));
    at = end;
  }
  return groups;
}

/** Whether a call may be in a fold: its images are to be seen. */
function isSettledCall(block: Block | undefined): boolean {
  return block?.kind === "call" && !block.question && !block.media && SETTLED_STATES.includes(block.state);
}

/** Many calls in one line: how many of which, how those ended that are not done, and how long they took. */
function CallGroup({ calls, views }: { calls: CallBlock[]; views: JSX.Element[] }): JSX.Element {
  const names = new Map<string, number>();
  for (const { name } of calls) names.set(name, (names.get(name) ?? 0) + 1);
  const labels = [...names].map(([name, count]) => singleLine(name, 40) + (count > 1 ? ` ×${count}` : ""));
  const outcomes = new Map<CallBlock["state"], number>();
  for (const { state } of calls) if (state !== "ok") outcomes.set(state, (outcomes.get(state) ?? 0) + 1);
  return (
    <details class="nb-fold nb-group">
      <summary>
        {plural(calls.length, "call")} <code class="nb-line">{singleLine(labels.join(", "), 120)}</code>{" "}
        <span class="nb-muted nb-facts">
          {[...outcomes].map(([state, count]) => (
            <span class={`nb-is-${state}`}>
              <span class="nb-state" aria-hidden="true">
                {CALL_STATE_LABELS[state][0]}
              </span>{" "}
              {count} {CALL_STATE_LABELS[state][1]} ·{" "}
            </span>
          ))}
          {formatSeconds(busySeconds(calls))}
        </span>
      </summary>
      <div class="nb-fold-body">{views}</div>
    </details>
  );
}

/** The seconds in which at least one of the calls ran: calls that run side by side count once. */
function busySeconds(calls: CallBlock[]): number {
  const spans = calls.map(({ started, seconds }) => ({ start: started ?? 0, seconds: seconds ?? 0 }));
  let [total, end] = [0, 0];
  for (const { start, seconds } of spans.sort((one, other) => one.start - other.start)) {
    total += Math.max(0, start + seconds - Math.max(start, end));
    end = Math.max(end, start + seconds);
  }
  return total;
}

function renderBlock(block: Block, connection: Connection): JSX.Element | null {
  const { bind, requestMedia, runAction, state, stopCall } = connection;
  switch (block.kind) {
    case "text":
      return <Reply block={block} insertCell={connection.insertCell} />;
    case "thinking":
      return <Thinking block={block} />;
    case "notice":
      return <Notice block={block} />;
    case "call":
      if (block.question?.gate === "run" && isLive(state().document)) return null; // it is on the card
      return (
        <>
          <Call block={block} />
          {block.state === "running" && isLive(state().document) && (
            <LazyView
              view="stopCall"
              props={{
                callId: block.call_id,
                name: block.name,
                request: state().requests[stopRequestKey(block.call_id)],
                stopCall,
              }}
            />
          )}
          {(block.media || block.media_left_out) && (
            <LazyMedia
              media={block.media ?? []}
              omitted={block.media_left_out ?? 0}
              bytes={state().media}
              requestMedia={requestMedia}
            />
          )}
          {block.reference && state().link !== "offline" && (
            <div class="nb-bind-row">
              <LazyView
                view="toNotebook"
                props={{ call: block, request: state().requests[bindRequestKey(block.call_id)], bind }}
              />
            </div>
          )}
          {block.reference && state().document.head.acts?.includes("bind") && (
            <p class="nb-bind-row nb-row">
              <button
                type="button"
                class="nb-text-button"
                onClick={() => runAction("bind", undefined, block.reference)}
              >
                Add to notebook
              </button>
            </p>
          )}
        </>
      );
  }
}
