import type { JSX } from "preact";
import { Island } from "../kernel/lazy";
import { bindKey, type Connection } from "../kernel/turn";
import type { Block, CallBlock } from "../protocol";
import { counted, oneLine, seconds } from "../text/format";
import { Call } from "./Call";
import { Pictures } from "./MediaList";
import { Notice } from "./Notice";
import { Reply } from "./Reply";
import { Thinking } from "./Thinking";

/** Finished calls in a row from which on they are folded into one line. */
const FOLD = 5;

/** A call that needs nobody's eyes any more. */
const QUIET: readonly string[] = [
  "ok",
  "error",
  "denied",
  "withheld",
  "not_found",
  "invalid",
  "timed_out",
  "cancelled",
  "not_run",
];

/** The blocks of a turn in order; many finished calls in a row are one fold. */
export function Blocks({ blocks, connection }: { blocks: Block[]; connection: Connection }): JSX.Element {
  return (
    <>
      {runs(blocks).map((run) => {
        const [first] = run;
        if (!first) return null;
        const views = run.map((block) => (
          <div class="nb-at" key={block.id}>
            {view(block, connection)}
          </div>
        ));
        return run.length > 1 ? (
          <Group key={`g${first.id}`} calls={run as CallBlock[]} views={views} />
        ) : (
          views[0]
        );
      })}
    </>
  );
}

/** The blocks one by one, and finished calls together where there are many. */
function runs(blocks: Block[]): Block[][] {
  const cut: Block[][] = [];
  for (let at = 0; at < blocks.length; ) {
    let end = at;
    while (isQuiet(blocks[end])) end++;
    if (end - at < FOLD) end = at + 1;
    cut.push(blocks.slice(at, end));
    at = end;
  }
  return cut;
}

function isQuiet(block: Block | undefined): boolean {
  return block?.kind === "call" && !block.question && QUIET.includes(block.state);
}

/** Many calls in one line: how many of which, how many did not do well, and how long they took. */
function Group({ calls, views }: { calls: CallBlock[]; views: JSX.Element[] }): JSX.Element {
  const names = new Map<string, number>();
  for (const { name } of calls) names.set(name, (names.get(name) ?? 0) + 1);
  const told = [...names].map(([name, count]) => oneLine(name, 40) + (count > 1 ? ` ×${count}` : ""));
  const failed = calls.filter(({ state }) => state !== "ok").length;
  const took = calls.reduce((sum, call) => sum + (call.seconds ?? 0), 0);
  return (
    <details class="nb-fold nb-group">
      <summary>
        {counted(calls.length, "call")} <code class="nb-line">{oneLine(told.join(", "), 120)}</code>{" "}
        <span class="nb-quiet nb-facts">
          {failed > 0 && `${failed} not done · `}
          {seconds(took)}
        </span>
      </summary>
      <div class="nb-inside">{views}</div>
    </details>
  );
}

function view(block: Block, connection: Connection): JSX.Element {
  const { bind, look, shown } = connection;
  switch (block.kind) {
    case "text":
      return <Reply block={block} />;
    case "thinking":
      return <Thinking block={block} />;
    case "notice":
      return <Notice block={block} />;
    case "call":
      return (
        <>
          <Call block={block} />
          {(block.media || block.media_left_out) && (
            <Pictures
              media={block.media ?? []}
              leftOut={block.media_left_out ?? 0}
              bytes={shown().media}
              look={look}
            />
          )}
          {block.reference && shown().link !== "still" && (
            <div class="nb-under">
              <Island
                view="toNotebook"
                props={{ call: block, sent: shown().sent[bindKey(block.call_id)], bind }}
              />
            </div>
          )}
        </>
      );
  }
}
