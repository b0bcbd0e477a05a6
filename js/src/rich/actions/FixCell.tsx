import { Component, createRef, type JSX } from "preact";
import { cellRunner, type FailedCell } from "../../kernel/pageServices";
import type { Document } from "../../protocol";
import { escapeInvisible } from "../../text/format";
import { ARM_MS, TOO_EARLY } from "../../views/approval/pending";
import type { LazyViews } from "../../views/LazyView";
import { Diff } from "../approval/Diff";

/** Blocks of code in a reply that may be a whole cell. */
const CODE = /^```(?:py|python3?|ipython3?)?[ \t]*\n([\s\S]*?)\n```[ \t]*$/gm;

interface State {
  cell: FailedCell | undefined;
  isArmed: boolean;
  status: string;
}

/** The corrected cell of `%chat fix` as a difference to the one that failed: one click replaces and runs it. */
export class FixCell extends Component<LazyViews["fix"], State> {
  override state: State = { cell: undefined, isArmed: false, status: "" };
  #el = createRef<HTMLElement>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  override componentDidMount(): void {
    this.#timer = setTimeout(() => this.setState({ isArmed: true }), ARM_MS); // no click meant for something else counts
    // the notebook of an element is known once it is on the page
    requestAnimationFrame(() => this.#find());
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  #find(): void {
    const { fixes } = this.props.document.head;
    if (this.#el.current && fixes) this.setState({ cell: cellRunner()?.findFailed(this.#el.current, fixes) });
  }

  #replace(cell: FailedCell, code: string): void {
    if (!this.state.isArmed) {
      this.setState({ status: TOO_EARLY });
      return;
    }
    const isDone = this.#el.current && cellRunner()?.replaceAndRun(this.#el.current, cell, code);
    this.setState(
      isDone
        ? { cell: undefined, status: "Replaced, and run. Undo in that cell brings the former text back." }
        : { status: "That cell has changed since: nothing was replaced." },
    );
  }

  render(): JSX.Element {
    const { document, insertCell } = this.props;
    const { cell, isArmed, status } = this.state;
    const code = lastCode(document);
    return (
      <section
        ref={this.#el}
        class="nb-fix"
        aria-label="Correction"
        onKeyDown={({ key }) => key === "Escape" && this.setState({ cell: undefined })}
      >
        {cell && code && code !== cell.source && (
          <>
            <div class="nb-title nb-muted">What changes in cell [{document.head.fixes}]</div>
            <Diff before={cell.source} after={code} whole />
            <div class="nb-row">
              <button
                type="button"
                class="nb-button nb-primary"
                aria-disabled={!isArmed || undefined}
                title="Write this into the cell that failed, and run it"
                onClick={() => this.#replace(cell, code)}
              >
                Replace and run
              </button>
              {insertCell && (
                <button
                  type="button"
                  class="nb-button"
                  title="Insert it as a new cell below, which has not run"
                  onClick={() => {
                    insertCell(code);
                    this.setState({ cell: undefined });
                  }}
                >
                  Keep both
                </button>
              )}
            </div>
          </>
        )}
        {status && (
          <p class="nb-muted nb-small" role="status">
            {status}
          </p>
        )}
      </section>
    );
  }
}

/** The last block of code of a reply, with its invisible characters as escapes: nothing of it may hide in the comparison. */
function lastCode({ blocks }: Document): string {
  const reply = blocks.findLast((block) => block.kind === "text");
  const code = reply?.kind === "text" ? [...reply.text.matchAll(CODE)].at(-1)?.[1] : "";
  return escapeInvisible(code ?? "").trimEnd();
}
