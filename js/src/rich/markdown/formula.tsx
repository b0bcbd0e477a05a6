import { Component, createRef, type JSX } from "preact";
import { lazyModule, onModule } from "../../kernel/lazy";
import { typesetter } from "../../kernel/pageServices";
import { isPlainFormula } from "./plainFormula";

interface FormulaProps {
  tex: string;
  raw: string;
  display: boolean;
}

/** A rendered formula; its source if it cannot be parsed, and until the module that sets formulas is loaded. */
export class Formula extends Component<FormulaProps> {
  #el = createRef<HTMLSpanElement>();

  override shouldComponentUpdate({ raw }: FormulaProps): boolean {
    return raw !== this.props.raw;
  }

  #unsubscribe = (): void => {};

  override componentDidMount(): void {
    this.#insert();
    if (lazyModule("formulas")) return;
    this.#unsubscribe = onModule("formulas", () => lazyModule("formulas") && this.#insert());
  }

  override componentWillUnmount(): void {
    this.#unsubscribe();
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
    const rendered = lazyModule("formulas")?.math(tex, display) ?? null;
    element.replaceChildren(rendered ?? raw.trim());
    typesetter()?.(element, rendered && isPlainFormula(tex) ? tex : "", display);
  }
}
