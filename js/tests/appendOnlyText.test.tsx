import { render } from "preact";
import { expect, test } from "vitest";
import { AppendOnlyText, BOX_LIMIT, LongText, NODE_LIMIT } from "../src/views/text/AppendOnlyText";

/** Draw a text; gives the element when all of it is written. */
async function written(view: ReturnType<typeof AppendOnlyText.prototype.render>): Promise<HTMLElement> {
  const el = document.createElement("div");
  document.body.append(el);
  render(view, el);
  while (el.querySelector("[aria-busy]")) await new Promise((done) => setTimeout(done, 0));
  return el;
}

function nodesOf(el: HTMLElement): Text[] {
  const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode()) found.push(walker.currentNode as Text);
  return found;
}

test.each([
  ["one line", "а```🦉".repeat(20_000)],
  ["many lines", "a line 🦉\n".repeat(10_000)],
  ["lines of all lengths", Array.from({ length: 400 }, (_, n) => "🦉".repeat(n)).join("\n")],
])("a long text is written whole, in short nodes that break no character: %s", async (_, text) => {
  const el = await written(<AppendOnlyText text={text} />);

  expect(el.textContent).toBe(text);
  expect(nodesOf(el).every(({ data }) => data.length <= NODE_LIMIT + 1 && !/\p{Cs}/u.test(data))).toBe(true);
});

test("a line that continues in the next box has a marker", async () => {
  const el = await written(<AppendOnlyText text={`${"a".repeat(BOX_LIMIT + 1)}\n${"b\n".repeat(100)}`} />);

  expect(el.querySelectorAll(".nb-continued")).toHaveLength(1);
});

test("a long text that grows while it is rendered is complete in the end", async () => {
  const el = document.createElement("div");
  render(<AppendOnlyText text={"a".repeat(100_000)} />, el);
  const longer = `${"a".repeat(100_000)}${"b".repeat(50_000)}`;
  await written(<AppendOnlyText text="" />);
  render(<AppendOnlyText text={longer} />, el);
  while (el.querySelector("[aria-busy]")) await new Promise((done) => setTimeout(done, 0));

  expect(el.textContent).toBe(longer);
});

test("a short text is a single text node", async () => {
  const el = await written(<LongText text="short" />);

  expect(el.innerHTML).toBe("short");
});
