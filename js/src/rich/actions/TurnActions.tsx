import type { JSX } from "preact";
import { type Connection, isLive } from "../../kernel/turn";
import type { Document, Head, TurnAction } from "../../protocol";
import { pendingCalls } from "../../views/approval/pending";
import { Copy } from "../../views/Copy";
import { footerDetails, footerFacts } from "./facts";

const ACTION_LABELS: Record<TurnAction, readonly [name: string, help: string]> = {
  rerun: ["Rerun", "Rerun: a cell below asks the same again"],
  edit: ["Edit prompt", "Edit prompt: a cell below with the prompt, to be changed and run"],
  code: ["To code", "To code: a cell below with the calls as Python code"],
  explore: ["Explore", "Explore: a cell below opens this turn in the history"],
  undo: [
    "Restore",
    "Restore: put back what this turn changed in the notebook, where you have not changed it since",
  ],
};

interface Props {
  document: Document;
  runAction: Connection["runAction"];
}

/** As wide as a digit. */
const FIGURE_SPACE = "\u2007";

/** What a turn cost, and what can be done with it: its versions, and its buttons as icons. */
export function TurnActions({ document, runAction }: Props): JSX.Element {
  const reply = document.blocks.findLast((block) => block.kind === "text");
  return (
    <>
      <Versions head={document.head} runAction={runAction} />
      <span title={footerDetails(document.head)}>{footerFacts(document.head)}</span>
      <span class="nb-actions">
        {!isLive(document) && reply?.kind === "text" && (
          <Copy text={() => reply.text} label="Copy reply">
            <span class="nb-icon nb-icon-copy" />
          </Copy>
        )}
        {offeredActions(document).map((action) => {
          const [name, help] = ACTION_LABELS[action];
          return (
            <button
              key={action}
              type="button"
              class="nb-text-button"
              aria-label={name}
              title={help}
              onClick={() => runAction(action)}
            >
              <span class={`nb-icon nb-icon-${action}`} />
            </button>
          );
        })}
      </span>
    </>
  );
}

/** The possible actions on the turn: none while it runs or waits; one without calls has no code, and one without changes nothing to restore. */
function offeredActions(document: Document): (keyof typeof ACTION_LABELS)[] {
  const { head, blocks } = document;
  if (isLive(document) || pendingCalls(document).length) return [];
  const hasCalls = blocks.some(({ kind }) => kind === "call");
  const actions = Object.keys(ACTION_LABELS) as (keyof typeof ACTION_LABELS)[];
  return actions.filter(
    (action) =>
      head.acts?.includes(action) && (action !== "code" || hasCalls) && (action !== "undo" || head.undo),
  );
}

/**
 * Which of how many versions of its place this turn is, and the way to the others. The arrow at an end does nothing, but
 * keeps the focus that it has, so that pressing it once more changes nothing. It is the first thing of its line, and as wide
 * for each version, so that the arrows stay under the pointer.
 */
function Versions({
  head: { version = 1, versions = 1, acts },
  runAction,
}: {
  head: Head;
  runAction: Props["runAction"];
}): JSX.Element | null {
  if (versions < 2) return null;
  const button = (sign: string, name: string, other: number): JSX.Element | false => {
    const isEnd = other < 1 || other > versions;
    return (
      acts?.includes("version") === true && (
        <button
          type="button"
          class="nb-text-button"
          aria-label={name}
          aria-disabled={isEnd}
          title={
            isEnd
              ? "There is no other version here"
              : `${name}: it is shown here, and the chat goes on from it`
          }
          onClick={() => !isEnd && runAction("version", other)}
        >
          {sign}
        </button>
      )
    );
  };
  return (
    <span class="nb-versions">
      {button("‹", "Previous version", version - 1)}
      <span role="img" aria-label={`Version ${version} of ${versions}`}>
        {String(version).padStart(String(versions).length, FIGURE_SPACE)}/{versions}
      </span>
      {button("›", "Next version", version + 1)}
    </span>
  );
}
