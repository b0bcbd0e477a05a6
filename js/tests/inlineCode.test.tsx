import { render } from "preact";
import { describe, expect, it } from "vitest";
import { InlineCode, MAX_SPANS } from "../src/views/text/InlineCode";

function draw(text: string): HTMLElement {
  const el = document.createElement("p");
  render(<InlineCode text={text} />, el);
  return el;
}

describe("a text with code in backticks", () => {
  it.each([
    ["Pass `--approve auto`.", ["--approve auto"], "Pass --approve auto."],
    ["&`bare` or `x`", ["x"], "&`bare` or x"],
    ["$`df` and `` `x` ``", ["x"], "$`df` and `` x ``"],
    ["an open ` and\nanother `", [], "an open ` and\nanother `"],
    ["`".repeat(9), [], "`".repeat(9)],
  ])("shows %j", (text, codes, shown) => {
    const el = draw(text);
    expect([...el.querySelectorAll("code")].map((code) => code.textContent)).toEqual(codes);
    expect(el.textContent).toBe(shown);
  });

  it("takes nothing else in it for markup", () => {
    const el = draw("`<img src=x onerror=alert(1)>` <b>b</b> [c](javascript:d) **e**");
    expect([...el.querySelectorAll("*")].map(({ localName }) => localName)).toEqual(["code"]);
    expect(el.textContent).toBe("<img src=x onerror=alert(1)> <b>b</b> [c](javascript:d) **e**");
  });

  it("shows a text with too many spans as it is", () => {
    const text = "`a` ".repeat(MAX_SPANS + 1);
    expect(draw(text).textContent).toBe(text);
    expect(draw(text).querySelector("code")).toBeNull();
  });
});
