/** Combining marks on one letter that are drawn; a browser takes seconds to stack thousands. */
export const STACK_LIMIT = 16;

const MARKS = /\p{M}+/gu;

/** Cuts stacks of combining marks out of a text that comes in pieces, and says where how many are left out. */
export class Stacks {
  /** Marks at the end of what came so far. */
  #height = 0;

  take(piece: string): string {
    let height = 0;
    const drawn = piece.replace(MARKS, (run, at: number) => {
      const marks = [...run];
      const before = at === 0 ? this.#height : 0;
      if (at + run.length === piece.length) height = before + marks.length;
      const kept = marks.slice(0, Math.max(0, STACK_LIMIT - before)).join("");
      const more = run.length - kept.length;
      return more ? `${kept}[… ${more.toLocaleString("en")} combining marks more]` : run;
    });
    this.#height = height;
    return drawn;
  }
}

/** A whole text without such stacks. */
export function withoutStacks(text: string): string {
  return new Stacks().take(text);
}
