/** Combining marks on one letter that are drawn; a browser takes seconds to stack thousands. */
export const STACK_LIMIT = 16;

const MARKS = /\p{M}+/gu;

/** Cuts stacks of combining marks out of a text that comes in pieces, and says where how many are left out. */
export class StackLimiter {
  /** Marks at the end of what came so far. */
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

/** A whole text without such stacks. */
export function limitStacks(text: string): string {
  return new StackLimiter().push(text);
}
