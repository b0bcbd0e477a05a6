import { Fragment, type JSX } from "preact";
import { type Connection, isLive } from "../kernel/turn";
import type { Block, CallBlock, NoticeBlock } from "../protocol";
import { plural } from "../text/format";
import { Call } from "./Call";
import { MediaNames } from "./LazyMedia";
import { LazyView } from "./LazyView";
import { Notice } from "./Notice";
import { Reply } from "./Reply";
import { Thinking } from "./Thinking";

/** Finished calls in a row from which on they are folded into one line. */
const MIN_FOLDED_CALLS = 3;

/** The states of a call that may need attention. */
const UNSETTLED_STATES: readonly string[] = ["writing", "ready", "waiting", "running", "unknown"];

/** The states whose reason is worth more than the room of a row. */
const EXPLAINED_STATES: readonly string[] = ["error", "not_found", "invalid", "timed_out"];

/** Characters of a result that the line of a fold has room for. */
const MAX_SUMMARY = 60;

/** The blocks of a turn in order; many finished calls in a row are one fold. */
export function Blocks({ blocks, connection }: { blocks: Block[]; connection: Connection }): JSX.Element {
  const last = blocks.findLast((block) => block.kind === "call");
  return (
    <>
      {groupSettledCalls(blocks.filter((block) => !isAside(block))).map((run) => {
        const [first] = run;
        if (!first) return null;
        const isGroup = run.length > 1;
        const views = run.map((block) => (
          <div class="nb-block-item" key={block.id}>
            {renderBlock(block, connection, !isGroup && hasOutcome(block, last))}
          </div>
        ));
        if (!isGroup) return views[0];
        const end = run.at(-1);
        return (
          <Fragment key={`g${first.id}`}>
            <CallGroup calls={run as CallBlock[]} views={views} />
            {end && hasOutcome(end, last) && !isInSummary(end) && <Outcome block={end as CallBlock} />}
          </Fragment>
        );
      })}
    </>
  );
}

/** Whether a block is about the cell and not about the answer: it stands quietly below the footer. */
export function isAside(block: Block): block is NoticeBlock {
  return block.kind === "notice" && block.aside === true;
}

/** Whether what came of a call stands below its row: of the last one, of each chart, and of each that failed. */
function hasOutcome(block: Block, last: Block | undefined): boolean {
  if (block.kind !== "call" || block.question || UNSETTLED_STATES.includes(block.state)) return false;
  if (block.state !== "ok") return EXPLAINED_STATES.includes(block.state);
  return (block.seen ?? block).display !== undefined || (block === last && !block.media);
}

/** Whether the line of a fold has all that came of its last call. */
function isInSummary(block: Block): boolean {
  return (
    block.kind === "call" &&
    !block.table &&
    !block.seen &&
    block.result.length <= MAX_SUMMARY &&
    !block.result.includes("\n")
  );
}

/** What came of a call, below its row. */
function Outcome({ block }: { block: CallBlock }): JSX.Element {
  return <LazyView view="outcome" props={{ block }} />;
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

/** Whether a call may be in a fold: its images and charts are to be seen. */
function isSettledCall(block: Block | undefined): boolean {
  if (block?.kind !== "call" || block.question || block.media || block.display) return false;
  return !UNSETTLED_STATES.includes(block.state);
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

function renderBlock(block: Block, connection: Connection, hasResult: boolean): JSX.Element | null {
  switch (block.kind) {
    case "text":
      return <Reply block={block} connection={connection} />;
    case "thinking":
      return <Thinking block={block} />;
    case "notice":
      return <Notice block={block} />;
    case "call":
      if (block.question?.gate === "run" && isLive(connection.state().document)) return null; // it is on the card
      return (
        <>
          <Call block={block} hasResult={hasResult} />
          {hasControls(block) && <Controls block={block} connection={connection} />}
          {hasResult && <Outcome block={block} />}
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
