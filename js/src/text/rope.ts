/**
 * A text that grows at its end. Its versions share the pieces in which it came, so that who has read one of them is given
 * what came after it, and nobody puts the whole together, which takes the longer the more there is.
 */
export class Growing {
  readonly length: number;

  /** `count` of the pieces are this version's; later ones have more. */
  private constructor(
    readonly pieces: string[],
    readonly count: number,
    length: number,
  ) {
    this.length = length;
  }

  static of(text: string): Growing {
    return new Growing(text ? [text] : [], text ? 1 : 0, text.length);
  }

  /** A text that may be an earlier one with more at its end. */
  static from(text: string, earlier: Growing | undefined): Growing {
    const known = earlier?.toString() ?? "";
    // engines compare equal lengths by memory; startsWith goes character by character
    if (!earlier || text.slice(0, known.length) !== known) return Growing.of(text);
    return earlier.plus(text.slice(known.length));
  }

  plus(piece: string): Growing {
    if (!piece) return this;
    const pieces = this.pieces.length === this.count ? this.pieces : this.pieces.slice(0, this.count);
    pieces.push(piece);
    return new Growing(pieces, pieces.length, this.length + piece.length);
  }

  /** What came after an earlier version; null where that is none of this text. */
  since(earlier: Growing | undefined): string | null {
    if (earlier?.pieces !== this.pieces || earlier.count > this.count) return null;
    return this.pieces.slice(earlier.count, this.count).join("");
  }

  toString(): string {
    return this.pieces.slice(0, this.count).join("");
  }
}
