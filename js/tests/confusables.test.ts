import { expect, test } from "vitest";
import { hasHidden, hiddenRanges, markHidden } from "../src/rich/approval/hiddenCharacters";
import { escapeConfusables, findConfusables } from "../src/text/confusables";

test.each([
  ["/home/p\u0430ul", "/home/p\\u{0430}ul"],
  ["\u0420AYPAL", "\\u{0420}AYPAL"],
  ["df_\u0441lean", "df_\\u{0441}lean"],
  ["\u041f\u0440\u0438vet", "\\u{041f}\\u{0440}\\u{0438}vet"],
  ["\u0391pple", "\\u{0391}pple"],
  ["rm \u0441\u043e\u0440 file", "rm \\u{0441}\\u{043e}\\u{0440} file"],
  ["\uff41bc", "\\u{ff41}bc"],
  ["\u{1d400}dmin", "\\u{1d400}dmin"],
])("%s is shown with its confusable letters escaped", (text, shown) => {
  expect(escapeConfusables(text)).toBe(shown);
  expect(hasHidden(text)).toBe(true);
  expect([...hiddenRanges(text)].filter(({ raw, shown }) => raw !== shown)).toHaveLength(
    [...findConfusables(text)].length,
  );
  expect(Array.from(hiddenRanges(text), ({ raw }) => raw).join("")).toBe(text);
  expect(JSON.stringify(markHidden(text))).toContain("nb-hidden-char");
});

test.each([
  "Привет, world",
  "\u0440\u043e\u0441 и рост, a word",
  "Δt = σ_x·λ2",
  "日本語テキストABC",
  "naïve café Ærøskøbing",
  "\u0441\u043e\u0440",
  "한국어 text",
  "",
])("%s is unchanged", (text) => {
  expect(escapeConfusables(text)).toBe(text);
  expect(hasHidden(text)).toBe(false);
});

test("unusual characters of all kinds are found in order", () => {
  const text = "\uff41 \u202e p\u0430ul \u{1d400} \u200b \u0430b";
  const places = [...hiddenRanges(text)].filter(({ raw, shown }) => raw !== shown).map(({ raw }) => raw);

  expect(places).toEqual(["\uff41", "\u202e", "\u0430", "\u{1d400}", "\u200b", "\u0430"]);
});
