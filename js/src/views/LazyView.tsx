import { Component, type ComponentChildren, createRef, type JSX } from "preact";
import { lazyModule, type Mount, onModule } from "../kernel/lazy";
import type { Connection, TurnState } from "../kernel/turn";
import type { InsertedCell } from "../notebook/insertCell";
import type { Block, CallBlock, Head, ProseBlock } from "../protocol";
import type { Rope } from "../text/rope";
import type { MediaListProps } from "./MediaList";

/** The views of the second module, by name, with their props. */
export interface LazyViews {
  prose: { block: ProseBlock; text: Rope; connection?: Pick<Connection, "insertCell" | "state"> | undefined };
  call: { block: CallBlock };
  /** The connection is enough: the other values only cause a new rendering when they change. */
  approval: {
    connection: Pick<Connection, "state" | "decide" | "drafts" | "requestMedia" | "stopCall">;
    document: TurnState["document"];
    sent: TurnState["requests"];
    link: TurnState["link"];
    media: TurnState["media"];
  };
  /** As above. */
  callControls: {
    block: CallBlock;
    connection: Pick<Connection, "state" | "bind" | "requestMedia" | "runAction" | "stopCall">;
    link: TurnState["link"];
    media: TurnState["media"];
    requests: TurnState["requests"];
    acts: Head["acts"];
    status: Head["status"];
  };
  outcome: { block: CallBlock };
  media: MediaListProps;
  elapsed: { since: number; isPaused: boolean };
  groupSummary: { calls: readonly CallBlock[] };
  liveTurn: { blocks: Block[]; status: TurnState["document"]["head"]["status"] };
  addition: {
    connection: Pick<Connection, "add" | "insertCell" | "dismissCell" | "state">;
    document: TurnState["document"];
    requests: TurnState["requests"];
  };
  omission: { head: Pick<Head, "turn_id" | "chat"> };
  actions: {
    document: TurnState["document"];
    runAction: Connection["runAction"];
    resend?: Connection["resend"];
  };
  fix: { document: TurnState["document"]; insertCell: Connection["insertCell"] };
  insertedCell: { cell: InsertedCell; close: () => void };
}

/** A function for each view, which renders it into an element. */
export type LazyMounts<K extends keyof LazyViews = keyof LazyViews> = { [N in K]: Mount<LazyViews[N]> };

interface LazyViewProps<K extends keyof LazyViews> {
  view: K;
  props: LazyViews[K];
  children?: ComponentChildren;
}

/** A view of the second module; its children are shown until that is loaded. */
export class LazyView<K extends keyof LazyViews> extends Component<LazyViewProps<K>> {
  #el = createRef<HTMLDivElement>();
  #unsubscribe = onModule("rich", () => this.forceUpdate());
  #mount: Mount<LazyViews[K]> | undefined;

  override componentDidMount(): void {
    this.#mountView();
  }

  override componentDidUpdate(): void {
    this.#mountView();
  }

  override componentWillUnmount(): void {
    this.#unsubscribe();
    if (this.#el.current) this.#mount?.(this.#el.current, null);
  }

  render(): JSX.Element {
    this.#mount = lazyModule("rich")?.views[this.props.view] as Mount<LazyViews[K]> | undefined;
    return this.#mount ? <div key="rich" ref={this.#el} /> : <div key="plain">{this.props.children}</div>;
  }

  override shouldComponentUpdate(next: LazyViewProps<K>): boolean {
    const { props } = this.props;
    return next.view !== this.props.view || !areEqual(next.props, props) || !this.#mount;
  }

  #mountView(): void {
    if (this.#el.current) this.#mount?.(this.#el.current, this.props.props);
  }
}

function areEqual(one: object, other: object): boolean {
  const [ones, others] = [Object.entries(one), new Map(Object.entries(other))];
  return ones.length === others.size && ones.every(([name, value]) => others.get(name) === value);
}
