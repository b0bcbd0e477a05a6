import type { JSX } from "preact";
import { limitStacks } from "../../text/combining";
import { LongText } from "./AppendOnlyText";

/** Spans of code in one text; a text with more is shown as it is. */
export const MAX_SPANS = 50;

/** A mention such as &`name`, whose backticks a person types; several backticks; or a span of code on one line. */
const TOKENS = /([$&]`[^`\n]*`|``+)|`([^`\n]{1,200})`/g;

/** A text with code in single backticks; nothing else in it is markup. */
export function InlineCode({ text }: { text: string }): JSX.Element {
  const parts: JSX.Element[] = [];
  let end = 0;
  for (const { index, 0: token, 2: code } of text.matchAll(TOKENS)) {
    if (code === undefined) continue;
    if (parts.length >= 2 * MAX_SPANS) return <LongText text={text} />;
    parts.push(
      <LongText text={text.slice(end, index)} />,
      <code class="nb-inline">{limitStacks(code)}</code>,
    );
    end = index + token.length;
  }
  if (!parts.length) return <LongText text={text} />;
  return (
    <>
      {parts}
      <LongText text={text.slice(end)} />
    </>
  );
}
