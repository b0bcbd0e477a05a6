import type { ComponentChildren, JSX } from "preact";
import type { CallBlock, Document } from "../protocol";
import { indentJson } from "../text/argumentLines";
import { callState, MAX_FACTS, parseObject, plural, singleLine } from "../text/format";
import { LongText } from "../views/text/AppendOnlyText";
import type { ExplorerClient } from "./client";
import { ancestors, findTurn, turnNumbers } from "./listRows";
import type { Detail, Index, Version } from "./protocol";
import { replayTo } from "./replay";
import { callPairs, diffWords, type Pair, replyText } from "./turnDiff";

/** Places after the fork that are shown of two branches. */
const MAX_BRANCH_ROWS = 12;

interface CompareProps {
  index: Index;
  left: string;
  right: string;
  client: ExplorerClient;
  choose: (left: string) => void;
  /** Show all turns in the list again; undefined where it shows all. */
  showAll: (() => void) | undefined;
}

/** Two turns, and the branches that lead to them, side by side; what differs is marked. */
export function Compare({ index, left, right, client, choose, showAll }: CompareProps): JSX.Element {
  if (!left) {
    return (
      <p class="nb-muted">
        Select a turn, then press <b>Compare with…</b> to compare it with another one.{" "}
        <OtherVersions index={index} turn={right} choose={choose} title="Or compare it with" />
      </p>
    );
  }
  const [one, other] = [client.state().details.get(left), client.state().details.get(right)];
  if (other === undefined) client.open(right);
  if (left === right) {
    return (
      <p class="nb-muted" role="status">
        Now select another turn in the list to compare it with this one.{" "}
        <OtherVersions index={index} turn={right} choose={choose} title="Or compare it with" />
        <FilteredList showAll={showAll} />
      </p>
    );
  }
  return (
    <article aria-label="Comparison">
      <p class="nb-muted">
        Select another turn in the list to show it on the right.{" "}
        <OtherVersions index={index} turn={right} choose={choose} title="Show on the left" />{" "}
        <button type="button" class="nb-text-button" onClick={() => choose(right)}>
          Compare the right turn with another one
        </button>
      </p>
      <Branches index={index} left={left} right={right} />
      {typeof one === "object" && typeof other === "object" && (
        <Sides
          left={completeDocument(one)}
          right={completeDocument(other)}
          names={[versionName(index, left), versionName(index, right)]}
        />
      )}
    </article>
  );
}

/** Says that the list lacks turns, and offers them. */
function FilteredList({ showAll }: Pick<CompareProps, "showAll">): JSX.Element | null {
  if (!showAll) return null;
  return (
    <>
      {" "}
      The list has only what matches the search.{" "}
      <button type="button" class="nb-text-button" onClick={showAll}>
        Show all turns
      </button>
    </>
  );
}

/** The other versions of a turn, to be chosen as the left side; nothing where there are none. */
function OtherVersions({
  index,
  turn,
  choose,
  title,
}: Pick<CompareProps, "index" | "choose"> & { turn: string; title: string }): JSX.Element | null {
  const place = findTurn(index, turn);
  const row = place && index.rows[place.at];
  const others = row
    ? row.versions.map((version, n) => ({ version, n })).filter(({ n }) => n !== place.version)
    : [];
  if (others.length === 0) return null;
  return (
    <span class="nb-row nb-x-inline">
      {title}
      {others.map(({ version, n }) => (
        <button key={n} type="button" class="nb-button nb-x-action" onClick={() => choose(version.turn_id)}>
          version {n + 1}
        </button>
      ))}
    </span>
  );
}

/** The heading of a column: a turn's version and prompt. */
function versionName(index: Index, turn: string): string {
  const place = findTurn(index, turn);
  const row = place && index.rows[place.at];
  const version = row?.versions[place?.version ?? 0];
  const number = place && turnNumbers(index).get(place.at);
  const many = row && row.versions.length > 1 ? `version ${(place?.version ?? 0) + 1}` : "";
  const label = [number ? `turn ${number}` : "", many].filter(Boolean).join(", ");
  return `${label && `${label}: `}${version?.said || "(no text)"}`;
}

function completeDocument(detail: Detail): Document {
  return replayTo(detail, detail.steps.length).document;
}

/** The paths to two turns: common turns are counted, those after the fork are shown side by side. */
function Branches({ index, left, right }: { index: Index; left: string; right: string }): JSX.Element | null {
  const [one, other] = [findTurn(index, left), findTurn(index, right)];
  if (!one || !other) return null;
  const paths = [ancestors(index, one.at), ancestors(index, other.at)] as const;
  let shared = 0;
  while (shared < paths[0].length && paths[0][shared] === paths[1][shared]) shared++;
  if (one.at === other.at) {
    const number = turnNumbers(index).get(one.at);
    return <p class="nb-muted">Two versions of {number ? `turn ${number}` : "the same turn"}.</p>;
  }
  const count = Math.max(paths[0].length, paths[1].length) - shared;
  const promptAt = (at: number | undefined, turn: string): string => {
    const row = at === undefined ? undefined : index.rows[at];
    const version: Version | undefined =
      row?.versions.find((each) => each.turn_id === turn) ?? row?.versions[row.current];
    return version ? version.said || "(no text)" : "";
  };
  return (
    <Table
      title={
        shared > 0
          ? `What follows the ${plural(shared, "turn")} that both have in common`
          : "Two branches without a turn in common"
      }
    >
      {Array.from({ length: Math.min(count, MAX_BRANCH_ROWS) }, (_, n) => (
        <tr key={n}>
          <td>{promptAt(paths[0][shared + n], left)}</td>
          <td>{promptAt(paths[1][shared + n], right)}</td>
        </tr>
      ))}
      {count > MAX_BRANCH_ROWS && (
        <tr>
          <td colSpan={2} class="nb-muted">
            … {plural(count - MAX_BRANCH_ROWS, "turn")} more
          </td>
        </tr>
      )}
    </Table>
  );
}

interface SidesProps {
  left: Document;
  right: Document;
  names: [left: string, right: string];
}

function Sides({ left, right, names }: SidesProps): JSX.Element {
  const calls = callPairs(left, right);
  return (
    <>
      <Table title="Turns" names={names}>
        <FactsRow left={left} right={right} />
        <DiffRow name="Prompt" left={left.head.prompt} right={right.head.prompt} />
      </Table>
      {calls.length > 0 && (
        <Table title="Calls">
          {calls.map((pair, n) => (
            <CallPair key={n} pair={pair} />
          ))}
        </Table>
      )}
      <Table title="Replies">
        <DiffRow name="Reply" left={replyText(left)} right={replyText(right)} />
      </Table>
    </>
  );
}

function FactsRow({ left, right }: { left: Document; right: Document }): JSX.Element {
  const text = ({ head: { status, model, footer = model, details = "" } }: Document): string =>
    [status, ...singleLine(footer, MAX_FACTS).split(" · "), ...singleLine(details, MAX_FACTS).split(" · ")]
      .filter(Boolean)
      .join("\n");
  return <DiffRow name="Summary" left={text(left)} right={text(right)} />;
}

function CallPair({ pair: { left, right } }: { pair: Pair<CallBlock> }): JSX.Element {
  return (
    <DiffRow
      name={(left ?? right)?.name ?? "call"}
      left={left && callText(left)}
      right={right && callText(right)}
    />
  );
}

/** A call as text that can be compared. */
function callText(call: CallBlock): string {
  const [sign, word] = callState(call);
  const decisions = call.decisions.map(({ line = "" }) => singleLine(line, MAX_FACTS)).join(", ");
  return [
    `${sign} ${singleLine(call.name, 64)}: ${word}${decisions && ` (${decisions})`}`,
    parseObject(call.arguments) ? indentJson(call.arguments) : call.arguments,
    call.result && `→ ${call.result}`,
  ]
    .filter(Boolean)
    .join("\n");
}

interface DiffRowProps {
  name: string;
  left: string | null;
  right: string | null;
}

/** A row of two texts: what is only in one of them is marked, and the row shows whether they differ. */
function DiffRow({ name, left, right }: DiffRowProps): JSX.Element {
  const diff = diffWords(left ?? "", right ?? "");
  const isSame = left !== null && left === right;
  const verdict =
    left === null
      ? "only on the right"
      : right === null
        ? "only on the left"
        : isSame
          ? "the same"
          : "different";
  const side = (which: "left" | "right"): ComponentChildren =>
    diff
      .filter((piece) => piece.side === "both" || piece.side === which)
      .map((piece, n) =>
        piece.side === "both" ? (
          <LongText key={n} text={piece.text} />
        ) : which === "left" ? (
          <del key={n}>
            <LongText text={piece.text} />
          </del>
        ) : (
          <ins key={n}>
            <LongText text={piece.text} />
          </ins>
        ),
      );
  return (
    <>
      <tr class="nb-x-verdict">
        <th scope="rowgroup" colSpan={2}>
          {singleLine(name, 64)}: <span class={isSame ? "nb-muted" : "nb-x-difference"}>{verdict}</span>
        </th>
      </tr>
      <tr>
        <td class="nb-prewrap">{side("left")}</td>
        <td class="nb-prewrap">{side("right")}</td>
      </tr>
    </>
  );
}

interface TableProps {
  title: string;
  names?: [left: string, right: string];
  children: ComponentChildren;
}

function Table({ title, names, children }: TableProps): JSX.Element {
  return (
    <table class="nb-x-comparison">
      <caption>{title}</caption>
      {names && (
        <thead>
          <tr>
            {names.map((name, n) => (
              <th key={n} scope="col">
                <span class="nb-muted">{n === 0 ? "Left" : "Right"}, </span>
                {name}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>{children}</tbody>
    </table>
  );
}
