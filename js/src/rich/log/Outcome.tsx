/** What came of a call, below its row, as the notebook would show it. */
import { Component, createRef, type JSX } from "preact";
import { outputDrawer } from "../../kernel/pageServices";
import type { CallBlock, DisplayData, TablePreview } from "../../protocol";
import { escapeInvisible, plural, singleLine } from "../../text/format";
import { wholeResult } from "../../text/labels.json";
import type { LazyViews } from "../../views/LazyView";
import { TableRows } from "./ReferenceCard";

/** Rows of a table, and lines of a text, that are shown; the call has all of them. */
const MAX_ROWS = 5;
const MAX_LINES = 6;
const MAX_LINE = 400;

/** How far outside of what is in sight a chart is got ready. */
const PRELOAD_MARGIN = "600px";

/** The result of a call: a table's first rows, a chart, HTML, a text; or the reason why there is none. */
export function Outcome({ block: { seen, ...call } }: LazyViews["outcome"]): JSX.Element {
  const block = seen ? { ...call, ...seen, result: seen.text ?? "", more: {} } : call;
  const isInDetails = !block.display; // of a chart the opened call has the text for the model
  return (
    <div class={isInDetails ? "nb-result nb-in-details" : "nb-result"}>
      {contentOf(block)}
      {seen && <p class="nb-muted nb-small">Shown to you only: the model has a reference.</p>}
    </div>
  );
}

function contentOf(block: CallBlock): JSX.Element | null {
  if (block.state !== "ok") return <Reason block={block} />;
  if (block.display) return <Display display={block.display} block={block} />;
  return block.table ? <Rows table={block.table} /> : <Text block={block} />;
}

/** Why a call has no result: all of the first lines, for a row has room for a part of one. */
function Reason({ block: { result, reason } }: { block: CallBlock }): JSX.Element {
  const lines = linesOf(result.trim() || reason);
  return <p class="nb-result-problem">{singleLine(lines.slice(0, 3).join(" "), MAX_LINE)}</p>;
}

function Rows({ table }: { table: TablePreview }): JSX.Element {
  const { rows, columns, more_rows: more = 0, more_columns: wider = 0 } = table;
  const count = plural(rows.length + more, "row");
  return (
    <>
      <TableRows glance={{ columns, rows: rows.slice(0, MAX_ROWS) }} label="The result" />
      <p class="nb-muted nb-small">{wider ? `${count}, ${plural(wider, "more column")}` : count}</p>
    </>
  );
}

function Text({ block: { result, reference, more } }: { block: CallBlock }): JSX.Element | null {
  const note = wholeResult.replace("{name}", reference); // it names the variable of a whole result
  const lines = linesOf(result.endsWith(note) ? result.slice(0, -note.length) : result);
  if (lines.length < 2)
    return lines[0] ? <p class="nb-result-value">{singleLine(lines[0], MAX_LINE)}</p> : null;
  const left = lines.length - MAX_LINES;
  return (
    <>
      <pre class="nb-code nb-prewrap">
        {lines
          .slice(0, MAX_LINES)
          .map((line) => `${escapeInvisible(line.slice(0, MAX_LINE))}\n`)
          .join("")}
      </pre>
      {(left > 0 || Boolean(more.result)) && (
        <p class="nb-muted nb-small">
          {left > 0 ? `… ${plural(left, "line")} more in the call` : "… more in the call"}
        </p>
      )}
    </>
  );
}

/** The lines of a text. */
function linesOf(text: string): string[] {
  const shown = text.trimEnd();
  return shown ? shown.split("\n") : [];
}

interface DisplayProps {
  display: DisplayData;
  block: CallBlock;
}

/** A chart, a formula or HTML, drawn by the page when it is in sight; what runs or fetches something only after a click. */
class Display extends Component<DisplayProps, { isDrawn: boolean; status: string }> {
  override state = { isDrawn: false, status: "" };
  #el = createRef<HTMLDivElement>();
  #remove: (() => void) | undefined;
  #observer: IntersectionObserver | undefined;

  override componentDidMount(): void {
    this.#watch();
  }

  override componentDidUpdate({ display }: DisplayProps): void {
    const { mime, text } = this.props.display;
    if (display.mime === mime && display.text === text) return;
    this.#clear();
    this.#watch();
  }

  override componentWillUnmount(): void {
    this.#clear();
  }

  #watch(): void {
    const el = this.#el.current;
    if (!el || !outputDrawer()) return;
    if (typeof IntersectionObserver !== "function") {
      void this.#draw();
      return;
    }
    this.#observer = new IntersectionObserver(
      (entries) => entries.some((one) => one.isIntersecting) && void this.#draw(),
      { rootMargin: PRELOAD_MARGIN },
    );
    this.#observer.observe(el.parentElement ?? el); // it is hidden while it is empty
  }

  async #draw(): Promise<void> {
    this.#observer?.disconnect();
    const { display } = this.props;
    const el = this.#el.current;
    const remove = el && (await outputDrawer()?.draw(el, display));
    if (!remove) return;
    if (display !== this.props.display || !this.#el.current)
      remove(); // it changed, or went, meanwhile
    else {
      this.#remove = remove;
      this.setState({ isDrawn: true });
    }
  }

  #clear(): void {
    this.#observer?.disconnect();
    this.#remove?.();
    this.#remove = undefined;
    this.setState({ isDrawn: false });
  }

  #show = (): void => {
    const isAdded = this.#el.current && outputDrawer()?.addOutput(this.#el.current, this.props.display);
    this.setState({
      status: isAdded ? "It is an output of this cell now, below." : "The page cannot show it here.",
    });
  };

  render(): JSX.Element {
    const { display, block } = this.props;
    const { isDrawn, status } = this.state;
    return (
      <div>
        <div ref={this.#el} class="nb-result-output" />
        {!isDrawn && !display.mime.endsWith("+json") && <Text block={block} />}
        {!isDrawn && (
          <p class="nb-muted nb-small">
            {nameOf(display.mime)}{" "}
            {outputDrawer() ? (
              <button type="button" class="nb-text-button" onClick={this.#show}>
                Show as output
              </button>
            ) : (
              "is drawn in JupyterLab."
            )}{" "}
            <span role="status">{status}</span>
          </p>
        )}
      </div>
    );
  }
}

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^text\/html$/, "HTML that may run or load something"],
  [/^text\/latex$/, "A formula"],
  [/^text\/markdown$/, "Markdown"],
  [/^image\/svg/, "A drawing (SVG)"],
];

function nameOf(mime: string): string {
  return (
    NAMES.find(([form]) => form.test(mime))?.[1] ??
    `A chart (${singleLine(mime.replace(/^.*?vnd\.|\+json$/g, ""), 60)})`
  );
}
