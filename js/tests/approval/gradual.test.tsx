import { render } from "preact";
import { expect, test } from "vitest";
import { Diff } from "../../src/rich/approval/Diff";
import { MarkedText } from "../../src/rich/approval/hiddenCharacters";

async function drawn(view: Parameters<typeof render>[0]): Promise<HTMLElement> {
  const el = document.createElement("div");
  document.body.append(el);
  render(view, el);
  while (el.querySelector("[aria-busy=true]")) await new Promise((done) => setTimeout(done, 0));
  return el;
}

test("a long text is drawn whole, piece by piece, with its odd characters marked", async () => {
  const text = "a\u202eb\n".repeat(3_000);
  const el = await drawn(<MarkedText text={text} />);

  expect(el.textContent).toBe("a\\u{202e}b\n".repeat(3_000));
  expect(el.querySelectorAll("mark")).toHaveLength(3_000);
});

test("adjacent unusual characters are one mark, and a line that continues in the next box has a marker", async () => {
  const el = await drawn(<MarkedText text={"\u202e".repeat(5_000)} />);

  expect(el.textContent).toBe("\\u{202e}".repeat(5_000));
  expect(el.querySelectorAll("mark").length).toBeLessThan(100);
  expect(el.querySelectorAll(".nb-continued").length).toBeGreaterThan(0);
});

test("every line of a long comparison is drawn", async () => {
  const el = await drawn(<Diff before="" after={"a\n".repeat(1_000)} whole />);

  expect(el.querySelectorAll(".nb-added")).toHaveLength(1_000);
});

test("gradual rendering restarts with another text", async () => {
  const el = await drawn(<MarkedText text={"a\n".repeat(2_000)} />);
  render(<MarkedText text={"b\n".repeat(3_000)} />, el);
  while (el.querySelector("[aria-busy=true]")) await new Promise((done) => setTimeout(done, 0));

  expect(el.textContent).toBe("b\n".repeat(3_000));
});
