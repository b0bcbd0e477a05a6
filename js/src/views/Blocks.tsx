import type { JSX } from "preact";
import { type Connection, isLive } from "../kernel/turn";
import type { Block, CallBlock } from "../protocol";
import { plural } from "../text/format";
import { Call } from "./Call";
import { MediaNames } from "./LazyMedia";
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

/** Many calls in one line. */
function CallGroup({ calls, views }: { calls: CallBlock[]; views: JSX.Element[] }): JSX.Element {
  return (
    <details class="nb-fold nb-group">
      <summary>
        <LazyView view="groupSummary" props={{ calls }}>
          {plural(calls.length, "call")}
        </LazyView>
      </summary>
      <div class="nb-fold-body">{views}</div>
    </details>
  );
}

function renderBlock(block: Block, connection: Connection): JSX.Element | null {
  switch (block.kind) {
    case "text":
      return <Reply block={block} insertCell={connection.insertCell} />;
    case "thinking":
      return <Thinking block={block} />;
    case "notice":
      return <Notice block={block} />;
    case "call":
      if (block.question?.gate === "run" && isLive(connection.state().document)) return null; // it is on the card
      return (
        <>
          <Call block={block} />
          {hasControls(block) && <Controls block={block} connection={connection} />}
        </>
      );
  }
}

/** Whether something may stand beside or below the row of a call. */
function hasControls({ state, media, media_left_out, reference }: CallBlock): boolean {
  return Boolean(state === "running" || media || media_left_out || reference);
}

/** The images of a call by their names, until the second module draws them and the buttons of the call. */
function Controls({ block, connection }: { block: CallBlock; connection: Connection }): JSX.Element {
  const { document, link, media, requests } = connection.state();
  const { acts, status } = document.head;
  return (
    <LazyView view="callControls" props={{ block, connection, link, media, requests, acts, status }}>
      {block.media && <MediaNames media={block.media} />}
    </LazyView>
  );
}
