import { Component, type JSX } from "preact";
import { oneLine } from "../text/format";
import { WrittenCell } from "../views/InsertedCell";
import { ownKeys } from "../views/keyboard";
import { Compare } from "./Compare";
import type { Talk } from "./client";
import { currentOf, type Filter, lines, placeOf } from "./listRows";
import type { Index } from "./protocol";
import { Tabs, Toolbar, type View } from "./Toolbar";
import { Sums } from "./Totals";
import { List } from "./TurnList";
import { TurnPane } from "./TurnPane";

interface State {
  view: View;
  /** The turn that is open. */
  turn: string;
  /** The turn that it is compared with. */
  against: string;
  filter: Filter;
  folded: ReadonlySet<string>;
  /** Versions that the person turned to, by their places. */
  chosen: ReadonlyMap<string, number>;
}

/** The history of a conversation: its tree on the left, and what is opened of it on the right. */
export class Explorer extends Component<{ talk: Talk }, State> {
  override state: State = {
    view: "turn",
    turn: "",
    against: "",
    filter: { text: "", status: "", tool: "" },
    folded: new Set(),
    chosen: new Map(),
  };
  #undo = (): void => {};

  override componentDidMount(): void {
    this.#undo = this.props.talk.subscribe(() => this.#heard());
  }

  override componentWillUnmount(): void {
    this.#undo();
  }

  #heard(): void {
    const { index } = this.props.talk.heard();
    if (index && !placeOf(index, this.state.turn)) this.#openFirst(index);
    else if (this.state.turn && this.state.view === "turn") this.props.talk.open(this.state.turn);
    this.forceUpdate();
  }

  /** Open the turn that was asked for, else the last one of the active line, where one begins to look. */
  #openFirst(index: Index): void {
    const { first } = this.props.talk;
    if (!this.state.turn && placeOf(index, first)) {
      this.#open(first);
      return;
    }
    const last = index.rows.findLast((row) => row.line) ?? index.rows.at(-1);
    const version = last && currentOf(last);
    if (version) this.#open(version.turn_id);
  }

  #open = (turn: string): void => {
    this.props.talk.open(turn);
    this.setState({ turn, view: this.state.view === "totals" ? "turn" : this.state.view });
  };

  #turnTo = (node: string, version: number, turn: string): void => {
    this.setState({ chosen: new Map(this.state.chosen).set(node, version) });
    this.#open(turn);
  };

  #fold = (node: string): void => {
    const folded = new Set(this.state.folded);
    if (!folded.delete(node)) folded.add(node);
    this.setState({ folded });
  };

  #filter = (change: Partial<Filter>): void => {
    const filter = { ...this.state.filter, ...change };
    this.setState({ filter });
    if (change.text !== undefined) this.props.talk.search(change.text);
  };

  #view = (view: View): void => {
    if (view === "totals") this.props.talk.askTotals();
    this.setState({ view });
  };

  #compare = (against: string): void => {
    this.props.talk.open(against);
    this.setState({ against, view: "compare" });
  };

  render(): JSX.Element {
    const { talk } = this.props;
    const { view, turn, filter, folded, chosen } = this.state;
    const { index, found, written, isSilent } = talk.heard();
    return (
      <section
        class="nb-explorer nb-turn"
        aria-label={talk.title}
        data-lm-suppress-shortcuts="true"
        onFocusCapture={ownKeys}
      >
        <Toolbar
          title={oneLine(talk.title, 80)}
          index={index}
          filter={filter}
          change={this.#filter}
          refresh={talk.refresh}
        />
        {isSilent && (
          <p class="nb-x-silent" role="status">
            The kernel has not answered yet: it is busy with a cell, or gone.
          </p>
        )}
        {index && (
          <div class="nb-x-body">
            <List
              index={index}
              lines={lines(index, folded, filter, found)}
              filter={filter}
              found={found}
              open={turn}
              folded={folded}
              chosen={chosen}
              onOpen={this.#open}
              onTurnTo={this.#turnTo}
              onFold={this.#fold}
            />
            <div class="nb-x-side">
              <Tabs view={view} choose={this.#view} />
              {written && <WrittenCell written={written} close={talk.closeWritten} />}
              <div class="nb-x-pane" role="tabpanel" id="nb-x-panel" aria-label={view}>
                {this.#pane(index)}
              </div>
            </div>
          </div>
        )}
      </section>
    );
  }

  #pane(index: Index): JSX.Element {
    const { talk } = this.props;
    const { view, turn, against } = this.state;
    switch (view) {
      case "turn":
        return (
          <TurnPane
            key={turn}
            index={index}
            turn={turn}
            talk={talk}
            turnTo={this.#turnTo}
            compare={this.#compare}
          />
        );
      case "compare":
        return <Compare index={index} left={against} right={turn} talk={talk} choose={this.#compare} />;
      case "totals":
        return <Sums totals={talk.heard().totals} />;
    }
  }
}
