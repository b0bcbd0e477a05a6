import { Component, createRef, type JSX } from "preact";
import { typesetter } from "../../kernel/typesetter";
import { math } from "../math";
import { isPlainFormula } from "./plainFormula";

interface FormulaProps {
  tex: string;
  raw: string;
  display: boolean;
}

/** A rendered formula; its source if it cannot be parsed. */
export class Formula extends Component<FormulaProps> {
  #el = createRef<HTMLSpanElement>();

  override shouldComponentUpdate({ raw }: FormulaProps): boolean {
    return raw !== this.props.raw;
  }

  override componentDidMount(): void {
    this.#insert();
  }

  override componentDidUpdate(): void {
    this.#insert();
  }

  render(): JSX.Element {
    return <span class={this.props.display ? "nb-math nb-display" : "nb-math"} dir="ltr" ref={this.#el} />;
  }

  #insert(): void {
    const { tex, raw, display } = this.props;
    const element = this.#el.current;
    if (!element) return;
    const rendered = math(tex, display);
    element.replaceChildren(rendered ?? raw.trim());
    typesetter()?.(element, rendered && isPlainFormula(tex) ? tex : "", display);
  }
}
