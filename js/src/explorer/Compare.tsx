import type { ComponentChildren, JSX } from "preact";
import type { CallBlock, Document } from "../protocol";
import {
  counted,
  decisionFacts,
  END_REASONS,
  indented,
  oneLine,
  readObject,
  STATES,
  seconds,
} from "../text/format";
import { LongText } from "../views/AppendOnlyText";
import type { Talk } from "./client";
import { callPairs, type Pair, pieces, proseOf } from "./diff";
import { pathTo, placeOf } from "./listRows";
import type { Detail, Index, Version } from "./protocol";
import { folded } from "./replay";

/** Places after the fork that are shown of two branches. */
const MAX_SHOWN = 12;

interface CompareProps {
  index: Index;
  left: string;
  right: string;
  talk: Talk;
  choose: (left: string) => void;
}

/** Two turns, and the branches that lead to them, side by side; what differs is marked. */
export function Compare({ index, left, right, talk, choose }: CompareProps): JSX.Element {
  if (!left) {
    return (
      <p class="nb-quiet">
        Choose the first turn: <Others index={index} turn={right} choose={choose} />
      </p>
    );
  }
  const [one, other] = [talk.heard().details.get(left), talk.heard().details.get(right)];
  if (other === undefined) talk.open(right);
  const isSame = left === right;
  return (
    <article aria-label="Comparison">
      <p class="nb-quiet">
        {isSame ? "This is the first turn. Choose the second one in the tree, or " : "Compare with: "}
        <Others index={index} turn={right} choose={choose} />
        {!isSame && (
          <button type="button" class="nb-plain" onClick={() => choose(right)}>
            Start again with the right one
          </button>
        )}
      </p>
      {!isSame && <Branches index={index} left={left} right={right} />}
      {!isSame && typeof one === "object" && typeof other === "object" && (
        <Sides left={whole(one)} right={whole(other)} names={[nameOf(index, left), nameOf(index, right)]} />
      )}
    </article>
  );
}

/** The other versions of a turn's place, to be chosen as the left side. */
function Others({
  index,
  turn,
  choose,
}: Pick<CompareProps, "index" | "choose"> & { turn: string }): JSX.Element {
  const place = placeOf(index, turn);
  const row = place && index.rows[place.at];
  const others = row
    ? row.versions.map((version, n) => ({ version, n })).filter(({ n }) => n !== place.version)
    : [];
  return (
    <span class="nb-row nb-x-inline">
      {others.map(({ version, n }) => (
        <button key={n} type="button" class="nb-button nb-x-deed" onClick={() => choose(version.turn_id)}>
          version {n + 1}
        </button>
      ))}
      {others.length === 0 && "its place has no other version."}
    </span>
  );
}

/** A turn as the head of a column: which version it is, and what was said. */
function nameOf(index: Index, turn: string): string {
  const place = placeOf(index, turn);
  const row = place && index.rows[place.at];
  const version = row?.versions[place?.version ?? 0];
  const many = row && row.versions.length > 1 ? `version ${(place?.version ?? 0) + 1}: ` : "";
  return `${many}${version?.said || "(no text)"}`;
}

function whole(detail: Detail): Document {
  return folded(detail, detail.steps.length).document;
}

/** What led to two turns: what they have in common is counted, what came after the fork stands side by side. */
function Branches({ index, left, right }: { index: Index; left: string; right: string }): JSX.Element | null {
  const [one, other] = [placeOf(index, left), placeOf(index, right)];
  if (!one || !other) return null;
  const paths = [pathTo(index, one.at), pathTo(index, other.at)] as const;
  let common = 0;
  while (common < paths[0].length && paths[0][common] === paths[1][common]) common++;
  if (one.at === other.at) {
    const after = common > 1 ? `one place, after ${counted(common - 1, "turn")} in common` : "the first turn";
    return <p class="nb-quiet">Two versions of {after}.</p>;
  }
  const count = Math.max(paths[0].length, paths[1].length) - common;
  const said = (at: number | undefined, turn: string): string => {
    const row = at === undefined ? undefined : index.rows[at];
    const version: Version | undefined =
      row?.versions.find((each) => each.turn_id === turn) ?? row?.versions[row.current];
    return version ? version.said || "(no text)" : "";
  };
  return (
    <Table title={`Branches, after ${counted(common, "turn")} in common`}>
      {Array.from({ length: Math.min(count, MAX_SHOWN) }, (_, n) => (
        <tr key={n}>
          <td>{said(paths[0][common + n], left)}</td>
          <td>{said(paths[1][common + n], right)}</td>
        </tr>
      ))}
      {count > MAX_SHOWN && (
        <tr>
          <td colSpan={2} class="nb-quiet">
            … {counted(count - MAX_SHOWN, "place")} more
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
        <Facts left={left} right={right} />
        <Differ name="Prompt" left={left.head.prompt} right={right.head.prompt} />
      </Table>
      {calls.length > 0 && (
        <Table title="Calls">
          {calls.map((pair, n) => (
            <CallPair key={n} pair={pair} />
          ))}
        </Table>
      )}
      <Table title="Replies">
        <Differ name="Reply" left={proseOf(left)} right={proseOf(right)} />
      </Table>
    </>
  );
}

function Facts({ left, right }: { left: Document; right: Document }): JSX.Element {
  const facts: [string, (document: Document) => string][] = [
    ["status", ({ head }) => head.status],
    ["ended", ({ head }) => END_REASONS.get(head.end_reason ?? "") ?? ""],
    ["model", ({ head }) => oneLine(head.model, 60)],
    ["rounds", ({ head }) => String(head.round)],
    ["time", ({ head }) => (head.seconds === null ? "" : seconds(head.seconds))],
    ["tokens", ({ head: { usage } }) => String(usage.input_tokens + usage.output_tokens)],
    ["cost", ({ head: { usage } }) => (usage.cost === null ? "" : `$${usage.cost.toFixed(4)}`)],
  ];
  const told = (document: Document): string =>
    facts
      .map(([name, of]) => [name, of(document)])
      .filter(([, text]) => text)
      .map(([name, text]) => `${name} ${text}`)
      .join("\n");
  return <Differ name="Facts" left={told(left)} right={told(right)} />;
}

function CallPair({ pair: { left, right } }: { pair: Pair<CallBlock> }): JSX.Element {
  return (
    <Differ name={(left ?? right)?.name ?? "call"} left={left && told(left)} right={right && told(right)} />
  );
}

/** A call as text that can be compared. */
function told(call: CallBlock): string {
  const [sign, word] = STATES[call.state] ?? STATES.unknown;
  const decisions = decisionFacts(call.decisions).join(", ");
  return [
    `${sign} ${oneLine(call.name, 64)}: ${word}${decisions && ` (${decisions})`}`,
    readObject(call.arguments) ? indented(call.arguments) : call.arguments,
    call.result && `→ ${call.result}`,
  ]
    .filter(Boolean)
    .join("\n");
}

interface DifferProps {
  name: string;
  left: string | null;
  right: string | null;
}

/** A row of two texts: what stands in one of them alone is marked, and the row says whether they differ. */
function Differ({ name, left, right }: DifferProps): JSX.Element {
  const cut = pieces(left ?? "", right ?? "");
  const verdict =
    left === null ? "right only" : right === null ? "left only" : left === right ? "same" : "differs";
  const side = (which: "left" | "right"): ComponentChildren =>
    cut
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
          {oneLine(name, 64)}: <span class={verdict === "same" ? "nb-quiet" : "nb-x-differs"}>{verdict}</span>
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
    <table class="nb-x-two">
      <caption>{title}</caption>
      {names && (
        <thead>
          <tr>
            {names.map((name, n) => (
              <th key={n} scope="col">
                <span class="nb-quiet">{n === 0 ? "Left" : "Right"}, </span>
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
