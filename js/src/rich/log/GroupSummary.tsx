import type { JSX } from "preact";
import type { CallBlock } from "../../protocol";
import { CALL_STATE_LABELS, EDITED_LABEL, formatSeconds, plural, singleLine } from "../../text/format";
import { firstLine } from "../../views/Call";
import type { LazyViews } from "../../views/LazyView";

/**
 * Many calls in one line: of which tools, what came of the last one, how those ended that are not done, what a person
 * approved or edited, and how long they took.
 */
export function GroupSummary({ calls }: LazyViews["groupSummary"]): JSX.Element {
  const names = countBy(calls, ({ name }) => name);
  const labels = [...names].map(([name, count]) => singleLine(name, 40) + (count > 1 ? ` ×${count}` : ""));
  const outcomes = countBy(
    calls.filter(({ state }) => state !== "ok"),
    ({ state }) => state,
  );
  const end = lastOutcome(calls);
  const facts = [
    ...[...outcomes].map(([state, count]) => (
      <span class={`nb-is-${state}`}>
        <span class="nb-state" aria-hidden="true">
          {CALL_STATE_LABELS[state][0]}
        </span>{" "}
        {count} {CALL_STATE_LABELS[state][1]}
      </span>
    )),
    countOf(calls, isApproved, "approved by you"),
    countOf(calls, isEdited, EDITED_LABEL),
    formatSeconds(busySeconds(calls)),
  ].filter(Boolean);
  return (
    <>
      <span class="nb-visually-hidden">{plural(calls.length, "call")}: </span>
      {outcomes.size === 0 && (
        <span class="nb-is-ok">
          <span class="nb-state" role="img" aria-label="all done">
            {CALL_STATE_LABELS.ok[0]}
          </span>
        </span>
      )}
      <code class="nb-line">{singleLine(labels.join(", "), 120)}</code>
      {end && <span class="nb-line nb-first-line">→ {end}</span>}
      <span class="nb-muted nb-facts">{facts.map((fact, at) => [at > 0 && " · ", fact])}</span>
    </>
  );
}

/** What came of the last call in a few words; of a table its size. */
function lastOutcome(calls: readonly CallBlock[]): string {
  const last = calls.at(-1);
  if (last?.state !== "ok") return "";
  if (!last.table) return firstLine(last);
  const { rows, more_rows: more = 0 } = last.table;
  return plural(rows.length + more, "row");
}

function countOf(calls: readonly CallBlock[], has: (call: CallBlock) => boolean, words: string): string {
  const number = calls.filter(has).length;
  return number ? `${number} ${words}` : "";
}

/** Whether a person approved a call by a click, a key or a line of input. */
function isApproved({ decisions }: CallBlock): boolean {
  return decisions.some(
    ({ gate, verdict, by, again }) =>
      gate === "run" && verdict === "approved" && (by === "button" || by === "input") && again === undefined,
  );
}

function countBy<K>(calls: readonly CallBlock[], key: (call: CallBlock) => K): Map<K, number> {
  const counts = new Map<K, number>();
  for (const call of calls) counts.set(key(call), (counts.get(key(call)) ?? 0) + 1);
  return counts;
}

/** Whether a person changed the arguments or the result. */
function isEdited({ asked_arguments, decisions }: CallBlock): boolean {
  return (
    asked_arguments !== undefined || decisions.some(({ edited, again }) => edited && again === undefined)
  );
}

/** The seconds in which at least one of the calls ran: calls that run side by side count once. */
function busySeconds(calls: readonly CallBlock[]): number {
  const spans = calls.map(({ started, seconds }) => ({ start: started ?? 0, seconds: seconds ?? 0 }));
  let [total, end] = [0, 0];
  for (const { start, seconds } of spans.sort((one, other) => one.start - other.start)) {
    total += Math.max(0, start + seconds - Math.max(start, end));
    end = Math.max(end, start + seconds);
  }
  return total;
}
