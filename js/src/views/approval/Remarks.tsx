import type { JSX } from "preact";
import type { Asked, Difference } from "../../protocol";
import { unmasked } from "../../text/confusables";
import { visible } from "../../text/format";

/** Why a call is asked about once more; the same words stand in `asking.py`. */
const AGAIN = {
  changed: "Asked again: it has changed since it was shown.",
  unwatched: "Asked again, right before it runs: it may have changed since it was shown.",
  invalid: "Asked again: the arguments that you put in do not fit.",
};

/** What a person should know before all else: why it is asked about again, with what changed, and what cannot be watched. */
export function Remarks({ question: { again, notes = [] } }: { question: Asked }): JSX.Element | null {
  if (!again && !notes.length) return null;
  return (
    <div class="nb-remarks" role="note">
      {again && <strong>{AGAIN[again.reason]}</strong>}
      {again?.problem && <p class="nb-problem">{safe(again.problem)}</p>}
      {again?.differences.map((one) => (
        <Changed one={one} />
      ))}
      {notes.map((note) => (
        <p>{safe(note)}</p>
      ))}
    </div>
  );
}

function Changed({ one: { what, before, after } }: { one: Difference }): JSX.Element {
  return (
    <div>
      <p>Changed: {safe(what)}</p>
      {(before || after) && (
        <div class="nb-code nb-changes">
          {linesOf("−", before)}
          {linesOf("+", after)}
        </div>
      )}
    </div>
  );
}

function linesOf(sign: "+" | "−", text: string): JSX.Element[] {
  if (!text) return [];
  return text.split("\n").map((line) => (
    <div class={sign === "+" ? "nb-comes" : "nb-goes"}>
      <span class="nb-change-sign" role="img" aria-label={sign === "+" ? "comes" : "goes"}>
        {sign}
      </span>
      <span class="nb-prewrap">{safe(line)}</span>
    </div>
  ));
}

function safe(text: string): string {
  return unmasked(visible(text));
}
