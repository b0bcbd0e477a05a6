import { Component, type JSX } from "preact";
import { escapeInvisible, singleLine } from "../../text/format";
import { LongText } from "../../views/text/AppendOnlyText";
import { isRawNumber, type Json } from "./json";

/** Entries of one object or list that are shown at first, and with each wish for more. */
const ENTRIES_PER_STEP = 100;

/** Levels that are open at first, as long as they are short. */
const OPEN_DEPTH = 2;
const OPEN_ENTRIES = 20;

interface BranchProps {
  value: Json;
  depth: number;
}

/** A value as a tree that opens. */
export function Tree({ value }: { value: Json }): JSX.Element {
  return (
    <div class="nb-tree nb-code" dir="ltr">
      <Branch value={value} depth={0} />
    </div>
  );
}

/** The entries of an object or a list; only as many as one can read. */
class Branch extends Component<BranchProps, { limit: number }> {
  override state = { limit: ENTRIES_PER_STEP };

  render(): JSX.Element {
    const entries = Object.entries(this.props.value ?? {}) as [string, Json][];
    const left = entries.length - this.state.limit;
    return (
      <ul>
        {entries.slice(0, this.state.limit).map(([name, value]) => (
          <li key={name}>
            <Entry name={name} value={value} depth={this.props.depth} />
          </li>
        ))}
        {left > 0 && (
          <li>
            <button
              type="button"
              class="nb-text-button"
              onClick={() => this.setState({ limit: this.state.limit + ENTRIES_PER_STEP })}
            >
              {left.toLocaleString("en")} more
            </button>
          </li>
        )}
      </ul>
    );
  }
}

interface EntryProps extends BranchProps {
  name: string;
}

/** One entry: its name and its value, or a fold if the value has entries. */
class Entry extends Component<EntryProps, { isOpen: boolean }> {
  constructor(props: EntryProps) {
    super(props);
    const size = Object.keys(props.value ?? {}).length;
    this.state = { isOpen: props.depth < OPEN_DEPTH && size <= OPEN_ENTRIES };
  }

  render(): JSX.Element {
    const { name, value, depth } = this.props;
    const key = <span class="nb-hl-attr">{singleLine(name, 80)}</span>;
    if (typeof value !== "object" || value === null || isRawNumber(value)) {
      return (
        <>
          {key}: <Leaf value={value} />
        </>
      );
    }
    const size = Object.keys(value).length;
    return (
      <details
        open={this.state.isOpen}
        onToggle={(event) => this.setState({ isOpen: event.currentTarget.open })}
      >
        <summary>
          {key}: <span class="nb-muted">{Array.isArray(value) ? `list of ${size}` : `${size} entries`}</span>
        </summary>
        {this.state.isOpen && <Branch value={value} depth={depth + 1} />}
      </details>
    );
  }
}

function Leaf({ value }: { value: Json }): JSX.Element {
  if (isRawNumber(value as Json))
    return <span class="nb-hl-number">{(value as { source: string }).source}</span>;
  if (typeof value !== "string") return <span class="nb-hl-literal">{String(value)}</span>;
  return (
    <span class={value.includes("\n") ? "nb-hl-string nb-prewrap" : "nb-hl-string"}>
      <LongText text={escapeInvisible(JSON.stringify(value)).replaceAll("\\n", "\n")} />
    </span>
  );
}
