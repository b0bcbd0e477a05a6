/** Mermaid diagrams of a reply, drawn by the page. */
import { Component, type ComponentChildren, createRef, type JSX } from "preact";
import { type Drawing, diagramDrawer } from "../../kernel/pageServices";
import { singleLine } from "../../text/format";
import { diagramProblem } from "./plainDiagram";

/** Diagrams that a page draws; further ones stay as their sources. */
export const MAX_DIAGRAMS = 50;

/** Characters of a drawing; a larger one is not shown. */
export const MAX_SVG_CHARS = 1_000_000;

let count = 0;

/** The drawing of the diagram before: one is drawn at a time. */
let last: Promise<unknown> = Promise.resolve();

interface DiagramProps {
  text: string;
  /** The source as a code block. */
  children: ComponentChildren;
}

interface DiagramState {
  drawing: Drawing | null;
  /** The background that the drawing was made for. */
  background: string;
  problem: string;
}

const UNDRAWN: DiagramState = { drawing: null, background: "", problem: "" };

/** A Mermaid diagram as an image, over its source; the source alone until it is drawn, and where it cannot be. */
export class Diagram extends Component<DiagramProps, DiagramState> {
  override state = UNDRAWN;
  #el = createRef<HTMLDivElement>();
  #observer: IntersectionObserver | undefined;

  override componentDidMount(): void {
    this.#begin();
  }

  override componentDidUpdate({ text }: DiagramProps): void {
    if (text === this.props.text) return;
    this.setState(UNDRAWN);
    this.#begin();
  }

  override componentWillUnmount(): void {
    this.#observer?.disconnect();
  }

  /** Draw when the diagram is seen, unless it is one that stays a source. */
  #begin(): void {
    this.#observer?.disconnect();
    const problem = diagramProblem(this.props.text);
    this.setState({ problem });
    if (problem || !this.#el.current) return;
    this.#observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      this.#observer?.disconnect();
      last = last.then(() => this.#draw(this.props.text));
    });
    this.#observer.observe(this.#el.current);
  }

  async #draw(text: string): Promise<void> {
    if (!this.#el.current) return;
    if (count >= MAX_DIAGRAMS) {
      this.setState({ problem: `this page has drawn ${MAX_DIAGRAMS} diagrams; reload it to draw others` });
      return;
    }
    count++;
    const background = getComputedStyle(document.body).getPropertyValue("--jp-layout-color0");
    try {
      const drawing = await diagramDrawer()?.(text);
      if (text !== this.props.text || !drawing) return;
      if (drawing.svg.length > MAX_SVG_CHARS) this.setState({ problem: "its image is too large" });
      else this.setState({ drawing, background });
    } catch {
      if (text === this.props.text) this.setState({ problem: "Mermaid cannot read it" });
    }
  }

  render(): JSX.Element {
    const { drawing, background, problem } = this.state;
    const { children } = this.props;
    return (
      <div class="nb-diagram" ref={this.#el}>
        {drawing ? (
          <>
            <img
              alt={singleLine(drawing.accessibleTitle || "Diagram; its source is below", 200)}
              src={`data:image/svg+xml,${encodeURIComponent(drawing.svg)}`}
              style={{ background, width: drawing.width ? `${drawing.width}px` : undefined }}
            />
            <details class="nb-fold">
              <summary class="nb-muted nb-small">Source of the diagram</summary>
              {children}
            </details>
          </>
        ) : (
          children
        )}
        {problem && <p class="nb-muted nb-small">Not drawn as a diagram: {problem}.</p>}
      </div>
    );
  }
}
