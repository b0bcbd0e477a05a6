import { Component, type JSX } from "preact";
import { singleLine } from "../text/format";
import { InsertedCellNotice } from "../views/InsertedCell";
import { KEY_PROPS } from "../views/notebookKeys";
import { Compare } from "./Compare";
import type { ExplorerClient } from "./client";
import {
  currentVersion,
  type Filter,
  findTurn,
  isFiltered,
  openRow,
  type RowState,
  searchWords,
  shownVersion,
  turnNumbers,
  type VisibleRow,
  visibleRows,
} from "./listRows";
import type { Index } from "./protocol";
import { LineTotalsView, Tabs, Toolbar, type View } from "./Toolbar";
import { TotalsView } from "./Totals";
import { TurnList } from "./TurnList";
import { TurnPane } from "./TurnPane";

interface State {
  view: View;
  /** The turn that is open. */
  turn: string;
  /** The turn that it is compared with. */
  comparedTurn: string;
  filter: Filter;
  folded: ReadonlySet<string>;
  /** Versions that the person turned to, by their places. */
  selectedVersions: ReadonlyMap<string, number>;
}

const NO_FILTER: Filter = { text: "", status: "", tool: "" };

/** The history of a conversation: its tree on the left, and what is opened of it on the right. */
export class Explorer extends Component<{ client: ExplorerClient }, State> {
  override state: State = {
    view: "turn",
    turn: "",
    comparedTurn: "",
    filter: NO_FILTER,
    folded: new Set(),
    selectedVersions: new Map(),
  };
  #unsubscribe = (): void => {};
  /** A step among the matches that waits for the answer of the kernel. */
  #waitingStep = 0;

  override componentDidMount(): void {
    this.#unsubscribe = this.props.client.subscribe(() => this.#onChange());
    if (this.props.client.isSaved) this.#onChange(); // nothing arrives later
  }

  override componentWillUnmount(): void {
    this.#unsubscribe();
  }

  #onChange(): void {
    const { index } = this.props.client.state();
    if (index && !findTurn(index, this.state.turn)) this.#openFirst(index);
    else if (this.state.turn && this.state.view === "turn") this.props.client.open(this.state.turn);
    if (this.#waitingStep && !this.#isSearching()) this.#step(this.#waitingStep);
    this.forceUpdate();
  }

  /** Open the requested turn, else the last one of the active line. */
  #openFirst(index: Index): void {
    const { initialTurn } = this.props.client;
    if (!this.state.turn && findTurn(index, initialTurn)) {
      this.#open(initialTurn);
      return;
    }
    const last = index.rows.findLast((row) => row.line) ?? index.rows.at(-1);
    const version = last && currentVersion(last);
    if (version) this.#open(version.turn_id);
  }

  #open = (turn: string): void => {
    this.props.client.open(turn);
    this.setState({ turn, view: this.state.view === "totals" ? "turn" : this.state.view });
  };

  #selectVersion = (node: string, version: number, turn: string): void => {
    this.setState({ selectedVersions: new Map(this.state.selectedVersions).set(node, version) });
    this.#open(turn);
  };

  #toggleFold = (node: string): void => {
    const folded = new Set(this.state.folded);
    if (!folded.delete(node)) folded.add(node);
    this.setState({ folded });
  };

  #changeFilter = (change: Partial<Filter>): void => {
    const filter = { ...this.state.filter, ...change };
    this.#waitingStep = 0;
    this.setState({ filter });
    if (change.text !== undefined) this.props.client.search(change.text);
  };

  /** Whether the rows may change, because the kernel has not answered the search yet. */
  #isSearching(): boolean {
    const { text } = this.state.filter;
    return text.trim() !== "" && this.props.client.state().found?.text !== text;
  }

  #rowState(): RowState {
    const { turn, filter, selectedVersions } = this.state;
    return { open: turn, filter, found: this.props.client.state().found, selectedVersions };
  }

  #rows(): VisibleRow[] {
    const { index, found } = this.props.client.state();
    return index ? visibleRows(index, this.state.folded, this.state.filter, found) : [];
  }

  /** Open the next or the previous row; from a turn that is not listed, the first or the last one. */
  #step = (by: number): void => {
    if (this.#isSearching()) {
      this.#waitingStep = by;
      this.props.client.search(this.state.filter.text, true);
      return;
    }
    this.#waitingStep = 0;
    const [rows, state] = [this.#rows(), this.#rowState()];
    const at = openRow(rows, state);
    const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : (at + by + rows.length) % rows.length;
    const row = rows[next]?.row;
    const version = row?.versions[shownVersion(row, state)];
    if (version) this.#open(version.turn_id);
  };

  #selectView = (view: View): void => {
    if (view === "totals") this.props.client.requestTotals();
    this.setState({ view });
  };

  #compare = (comparedTurn: string): void => {
    this.props.client.open(comparedTurn);
    this.setState({ comparedTurn, view: "compare" });
  };

  render(): JSX.Element {
    const { client } = this.props;
    const { view, filter, folded } = this.state;
    const { index, insertedCell, hasNoReply } = client.state();
    const rows = this.#rows();
    return (
      <section class="nb-explorer nb-turn" aria-label={client.title} {...KEY_PROPS}>
        <Toolbar
          title={singleLine(client.title, 80)}
          index={index}
          filter={filter}
          onFilter={this.#changeFilter}
          matches={this.#isSearching() ? undefined : rows.length}
          step={this.#step}
          refresh={client.isSaved ? undefined : client.refresh}
          exportChat={
            client.actions.includes("export") ? () => client.requestCell({ action: "export" }) : undefined
          }
        />
        {index && <LineTotalsView index={index} />}
        {client.note && <p class="nb-muted nb-small">{client.note}</p>}
        {hasNoReply && (
          <p class="nb-x-no-reply" role="status">
            No reply from the kernel yet: it is busy, or has stopped.
          </p>
        )}
        {index && (
          <div class="nb-x-body">
            <TurnList
              index={index}
              rows={rows}
              numbers={turnNumbers(index)}
              {...this.#rowState()}
              folded={folded}
              onOpen={this.#open}
              onSelectVersion={this.#selectVersion}
              onFold={this.#toggleFold}
            />
            <div class="nb-x-side">
              <Tabs view={view} choose={this.#selectView} />
              <div class="nb-x-pane" role="tabpanel" id="nb-x-panel" aria-label={view}>
                {this.#renderPane(index, rows)}
              </div>
            </div>
          </div>
        )}
        {insertedCell && <InsertedCellNotice cell={insertedCell} close={client.dismissCell} />}
      </section>
    );
  }

  #renderPane(index: Index, rows: VisibleRow[]): JSX.Element {
    const { client } = this.props;
    const { view, turn, comparedTurn, filter } = this.state;
    const isExcluded = isFiltered(filter) && !this.#isSearching() && openRow(rows, this.#rowState()) < 0;
    switch (view) {
      case "turn":
        return isExcluded ? (
          <NoMatch matches={rows.length} openFirst={() => this.#step(1)} />
        ) : (
          <TurnPane
            key={turn}
            index={index}
            turn={turn}
            words={searchWords(filter)}
            client={client}
            onSelectVersion={this.#selectVersion}
            compare={this.#compare}
          />
        );
      case "compare":
        return (
          <Compare
            index={index}
            left={comparedTurn}
            right={turn}
            client={client}
            choose={this.#compare}
            showAll={isFiltered(filter) ? () => this.#changeFilter(NO_FILTER) : undefined}
          />
        );
      case "totals":
        return <TotalsView totals={client.state().totals} />;
    }
  }
}

/** Shown instead of a turn that the filter excludes. */
function NoMatch({ matches, openFirst }: { matches: number; openFirst: () => void }): JSX.Element {
  if (matches === 0)
    return <p class="nb-muted">No turn matches. Clear the search or the filter to see all turns.</p>;
  return (
    <p class="nb-muted">
      {matches === 1 ? "One turn matches" : `${matches.toLocaleString("en")} turns match`}, and the turn that
      was open does not.{" "}
      <button type="button" class="nb-text-button" onClick={openFirst}>
        {matches === 1 ? "Open it" : "Open the first"}
      </button>{" "}
      (Enter)
    </p>
  );
}
