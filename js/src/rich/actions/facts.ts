/** The texts of a turn's footer: model, end, cost, and the details of its tooltip. */
import type { Head } from "../../protocol";
import { END_REASON_LABELS, formatCost, plural, singleLine, turnSeconds } from "../../text/format";

/** The model, why there is no answer, and what the turn cost. */
export function footerFacts(head: Head): string {
  const { usage } = head;
  const tokens = usage.input_tokens + usage.output_tokens;
  return join([
    singleLine(head.model, 80),
    END_REASON_LABELS.get(head.end_reason ?? ""),
    head.replayed && `replayed from ${singleLine(head.replayed, 40)}`,
    tokens > 0 && plural(tokens, "token"),
    formatCost(usage),
    head.seconds !== null && turnSeconds(head),
  ]);
}

/** What few people ask for: it is in the tooltip. */
export function footerDetails({ round, calls, why }: Head): string {
  return join([plural(round, "round"), plural(calls, "call"), why && `model from ${singleLine(why, 80)}`]);
}

function join(parts: readonly unknown[]): string {
  return parts.filter(Boolean).join(" · ");
}
