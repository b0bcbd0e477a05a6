import type { JSX } from "preact";
import type { CallBlock } from "../../protocol";
import { CALL_STATE_LABELS, EDITED_LABEL, formatSeconds, plural, singleLine } from "../../text/format";
import type { LazyViews } from "../../views/LazyView";

/** Many calls in one line: how many of which, how those ended that are not done, what was edited, and how long they took. */
export function GroupSummary({ calls }: LazyViews["groupSummary"]): JSX.Element {
  const names = countBy(calls, ({ name }) => name);
  const labels = [...names].map(([name, count]) => singleLine(name, 40) + (count > 1 ? ` ×${count}` : ""));
  const outcomes = countBy(
    calls.filter(({ state }) => state !== "ok"),
    ({ state }) => state,
  );
  const edited = calls.filter(isEdited).length;
  return (
    <>
      {plural(calls.length, "call")} <code class="nb-line">{singleLine(labels.join(", "), 120)}</code>{" "}
      <span class="nb-muted nb-facts">
        {[...outcomes].map(([state, count]) => (
          <span class={`nb-is-${state}`}>
            <span class="nb-state" aria-hidden="true">
              {CALL_STATE_LABELS[state][0]}
            </span>{" "}
            {count} {CALL_STATE_LABELS[state][1]} ·{" "}
          </span>
        ))}
        {edited > 0 && `${edited} ${EDITED_LABEL} · `}
        {formatSeconds(busySeconds(calls))}
      </span>
    </>
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
