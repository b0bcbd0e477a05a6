/**
 * A text that grows at its end. Its versions share their chunks, so that a reader of one version gets only what was appended
 * since, and the whole text is not joined each time, which would take quadratic time.
 */
export class Rope {
  readonly length: number;

  /** `count` of the pieces are this version's; later ones have more. */
  private constructor(
    readonly pieces: string[],
    readonly count: number,
    length: number,
  ) {
    this.length = length;
  }

  static from(text: string): Rope {
    return new Rope(text ? [text] : [], text ? 1 : 0, text.length);
  }

  /** A text that may be an earlier one with more at its end. */
  static extend(text: string, earlier: Rope | undefined): Rope {
    const earlierText = earlier?.toString() ?? "";
    // engines compare equal lengths by memory; startsWith goes character by character
    if (!earlier || text.slice(0, earlierText.length) !== earlierText) return Rope.from(text);
    return earlier.append(text.slice(earlierText.length));
  }

  append(piece: string): Rope {
    if (!piece) return this;
    const pieces = this.pieces.length === this.count ? this.pieces : this.pieces.slice(0, this.count);
    pieces.push(piece);
    return new Rope(pieces, pieces.length, this.length + piece.length);
  }

  /** The text after an earlier version; null if that is not a version of this text. */
  since(earlier: Rope | undefined): string | null {
    if (earlier?.pieces !== this.pieces || earlier.count > this.count) return null;
    return this.pieces.slice(earlier.count, this.count).join("");
  }

  toString(): string {
    return this.pieces.slice(0, this.count).join("");
  }
}
