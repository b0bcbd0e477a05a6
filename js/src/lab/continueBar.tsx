/** The bar below `%load_ext nbtool` in a notebook that has a chat of an earlier kernel: one click continues it. */
import { Component, type JSX, render } from "preact";
import { type SavedTurnAnswer, VERSION } from "../protocol";
import { plural } from "../text/format";
import { actionText } from "../views/actions";
import { InlineCode } from "../views/text/InlineCode";
import { findPanel, isAlive } from "./actions";
import { describeOutcome, findDefiningCells, type RunOutcome, runDefiningCells } from "./definingCells";
import { requestFromKernel } from "./kernelRequest";
import type { MimeModel, NotebookPanel, Renderer, RendererContext, RendererFactory } from "./types";

const CONTINUE_MIME = "application/vnd.nbtool.continue+json";
const CHAT_ID = /^[A-Za-z]+_[0-9a-f]{8,40}$/;

/** The earlier chat of a notebook, as its kernel found it in the journal. */
interface EarlierChat {
  v: typeof VERSION;
  chat_id: string;
  ended: number;
  turns: number;
}

/** Make what draws the bar; it may draw in notebooks that are not trusted: what it draws is checked, and is text. */
export function createContinueRenderer({ shared, tracker }: RendererContext): RendererFactory {
  class ContinueBar extends shared.Widget {
    renderModel({ data }: MimeModel): Promise<void> {
      const chat = data[CONTINUE_MIME];
      const panel = (): NotebookPanel | undefined => findPanel(this.node, tracker);
      const run: BarProps["run"] = async (names, onCell) => {
        const own = panel();
        return own ? runDefiningCells(shared, own, names, onCell) : { failed: [], missing: names };
      };
      render(isEarlierChat(chat) ? <Bar chat={chat} panel={panel} run={run} /> : null, this.node);
      return Promise.resolve();
    }

    override dispose(): void {
      if (!this.isDisposed) render(null, this.node);
      super.dispose();
    }
  }
  return {
    safe: true,
    mimeTypes: [CONTINUE_MIME],
    defaultRank: 0,
    createRenderer: () => new ContinueBar() as unknown as Renderer,
  };
}

function isEarlierChat(value: unknown): value is EarlierChat {
  const { v, chat_id, ended, turns } = (value ?? {}) as Partial<EarlierChat>;
  return (
    v === VERSION &&
    typeof chat_id === "string" &&
    CHAT_ID.test(chat_id) &&
    [ended, turns].every(Number.isFinite)
  );
}

interface BarProps {
  chat: EarlierChat;
  panel: () => NotebookPanel | undefined;
  run: (names: string[], onCell: (number: number, count: number) => void) => Promise<RunOutcome>;
}

interface BarState {
  choice: "open" | "sent" | "continued" | "new";
  answer: SavedTurnAnswer | null;
  running: string;
  outcome: RunOutcome | null;
}

class Bar extends Component<BarProps, BarState> {
  override state: BarState = { choice: "open", answer: null, running: "", outcome: null };

  #continue = async (): Promise<void> => {
    const { chat, panel } = this.props;
    this.setState({ choice: "sent" });
    const request = { v: VERSION, kind: "continue", chat: "main", turn: chat.chat_id } as const;
    const answer = isAlive(panel())
      ? await requestFromKernel(panel()?.sessionContext.session?.kernel, request)
      : null;
    this.setState({ choice: answer?.ok ? "continued" : "open", answer: answer ?? NOT_LOADED });
  };

  /** Run the cells that define what is missing, and say what failed; the button stays for what is left. */
  #runCells = async (): Promise<void> => {
    const onCell = (number: number, count: number): void =>
      this.setState({ running: `Running cell ${number} of ${count}` });
    const outcome = await this.props.run(this.#missing(), onCell);
    this.setState({ running: "", outcome });
  };

  #missing(): string[] {
    return this.state.outcome?.missing ?? this.state.answer?.missing ?? [];
  }

  render(): JSX.Element {
    const { chat } = this.props;
    const { choice, answer, running, outcome } = this.state;
    const missing = this.#missing();
    const cells = missing.length ? findDefiningCells(this.props.panel(), missing).length : 0;
    return (
      <section class="nb-turn nb-continue" aria-label="Earlier chat">
        <div class="nb-row">
          <span>
            {dayOf(chat.ended)}: {plural(chat.turns, "turn")} in this notebook's earlier chat
          </span>
          {choice === "open" && (
            <>
              <button type="button" class="nb-button nb-primary" onClick={this.#continue}>
                {actionText("go_on").name}
              </button>
              <button
                type="button"
                class="nb-button"
                onClick={() => this.setState({ choice: "new", answer: null })}
              >
                New
              </button>
            </>
          )}
          {choice === "new" && <span class="nb-muted">The next chat cell begins a new one.</span>}
        </div>
        <div role="status">
          {[answer?.text ?? "", ...(outcome ? describeOutcome(outcome) : [])].filter(Boolean).map((text) => (
            <p class="nb-muted nb-small">
              <InlineCode text={text} />
            </p>
          ))}
        </div>
        {cells > 0 && (
          <button type="button" class="nb-button" disabled={!!running} onClick={this.#runCells}>
            {running ||
              `Run the ${cells === 1 ? "cell" : plural(cells, "cell")} that ${cells === 1 ? "defines" : "define"} ${missing.join(", ")}`}
          </button>
        )}
      </section>
    );
  }
}

const NOT_LOADED: SavedTurnAnswer = {
  v: VERSION,
  ok: false,
  text: "This kernel has not loaded nbtool: run the cell above first.",
};

/** The day of a time as a person says it. */
function dayOf(seconds: number): string {
  const day = (at: Date): number => new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
  const at = new Date(seconds * 1000);
  const days = Math.round((day(new Date()) - day(at)) / 86_400_000);
  if (days === 0) return `Today at ${at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`;
  return days === 1
    ? "Yesterday"
    : at.toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" });
}
