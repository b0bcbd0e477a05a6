/** Maximum combining marks on one letter that are rendered; a browser takes seconds for thousands. */
export const STACK_LIMIT = 16;

const MARKS = /\p{M}+/gu;

/** Truncates stacks of combining marks in a streamed text, and marks how many are omitted. */
export class StackLimiter {
  /** Combining marks at the end of the text so far. */
  #height = 0;

  push(piece: string): string {
    let endHeight = 0;
    const output = piece.replace(MARKS, (run, at: number) => {
      const marks = [...run];
      const before = at === 0 ? this.#height : 0;
      if (at + run.length === piece.length) endHeight = before + marks.length;
      const visible = marks.slice(0, Math.max(0, STACK_LIMIT - before)).join("");
      const omitted = run.length - visible.length;
      return omitted ? `${visible}[… ${omitted.toLocaleString("en")} combining marks more]` : run;
    });
    this.#height = endHeight;
    return output;
  }
}

/** Truncate the stacks of combining marks in a whole text. */
export function limitStacks(text: string): string {
  return new StackLimiter().push(text);
}
