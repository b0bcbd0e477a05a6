/**
 * A text that grows at its end. Its versions share the pieces in which it came, so that who has read one of them is given
 * what came after it, and nobody puts the whole together, which takes the longer the more there is.
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

  /** What came after an earlier version; null where that is none of this text. */
  since(earlier: Rope | undefined): string | null {
    if (earlier?.pieces !== this.pieces || earlier.count > this.count) return null;
    return this.pieces.slice(earlier.count, this.count).join("");
  }

  toString(): string {
    return this.pieces.slice(0, this.count).join("");
  }
}
