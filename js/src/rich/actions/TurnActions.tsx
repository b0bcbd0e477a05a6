import { Component, type JSX } from "preact";
import { isLive } from "../../kernel/turn";
import type { ActionId, Document, Head } from "../../protocol";
import { MAX_FACTS, plural, singleLine } from "../../text/format";
import { ACTIONS, actionsAt, actionText, isPossible } from "../../views/actions";
import { Copy } from "../../views/Copy";
import type { LazyViews } from "../../views/LazyView";
import { EditPrompt } from "./EditPrompt";

/** Where turns have buttons in their footer. */
const FOOTER_PLACES = ["live", "saved", "conversation"] as const;

type Props = LazyViews["actions"];

interface State {
  /** The prompt in the box; null while there is none. */
  edited: string | null;
  isSending: boolean;
}

/** As wide as a digit. */
const FIGURE_SPACE = "\u2007";

/** What a turn cost, and what can be done with it: its versions, and its buttons as icons. */
export class TurnActions extends Component<Props, State> {
  override state: State = { edited: null, isSending: false };

  /** Send the turn again in its own cell; by a cell below where that is not possible, or is asked for by Alt. */
  async #resend(action: "rerun" | "edit", prompt?: string): Promise<void> {
    if (this.state.isSending) return;
    this.setState({ isSending: true });
    const sent = await this.props.resend?.send(prompt);
    this.setState({ isSending: false, edited: null });
    if (!sent?.isSent) this.props.runAction(action);
  }

  #press(action: ActionId, { altKey }: MouseEvent): void {
    const { resend, runAction } = this.props;
    const prompt = altKey ? undefined : resend?.prompt();
    if (prompt === undefined) runAction(action);
    else if (action === "rerun") void this.#resend(action);
    else if (action === "edit") this.setState(({ edited }) => ({ edited: edited === null ? prompt : null }));
    else runAction(action);
  }

  render(): JSX.Element {
    const { document, runAction, resend } = this.props;
    const { edited } = this.state;
    const reply = document.blocks.findLast((block) => block.kind === "text");
    return (
      <>
        <Versions head={document.head} runAction={runAction} />
        <span title={singleLine(document.head.details ?? "", MAX_FACTS)}>
          {singleLine(document.head.footer ?? document.head.model, MAX_FACTS)}
        </span>
        <span class="nb-actions">
          {!isLive(document) && reply?.kind === "text" && (
            <Copy text={() => reply.text} label="Copy reply">
              <span class="nb-icon nb-icon-copy" />
            </Copy>
          )}
          {offeredActions(document).map((action) => {
            const { name, title } = actionText(action);
            const inPlace = ACTIONS[action].in_place;
            return (
              <button
                key={action}
                type="button"
                class="nb-text-button"
                aria-label={name}
                aria-expanded={action === "edit" && resend ? edited !== null : undefined}
                title={
                  resend && inPlace
                    ? `${name}: ${inPlace.replace("{cost}", repeatCost(document.head))}`
                    : title
                }
                onClick={(event) => this.#press(action, event)}
              >
                <span class={`nb-icon nb-icon-${action}`} />
              </button>
            );
          })}
        </span>
        {edited !== null && (
          <EditPrompt
            prompt={edited}
            onSend={(prompt) => void this.#resend("edit", prompt)}
            onClose={() => this.setState({ edited: null })}
          />
        )}
      </>
    );
  }
}

/** What sending a turn again takes, from what it took: its tokens, their cost, and its calls, which run again. */
function repeatCost({ spent = "", calls }: Head): string {
  const last = singleLine(spent, MAX_FACTS);
  const again = calls > 0 ? ` ${plural(calls, "call")} may run again, with your approvals.` : "";
  return `${last && `The last time took ${last}.`}${again}`.trim();
}

/** The actions that the kernel offers for the turn and that are possible now. */
function offeredActions(document: Document): ActionId[] {
  const { acts = [] } = document.head;
  return actionsAt(...FOOTER_PLACES).filter(
    (action) => acts.includes(action) && isPossible(action, document),
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
          title={isEnd ? "There is no other version here" : `${name}: ${ACTIONS.version.help}`}
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
