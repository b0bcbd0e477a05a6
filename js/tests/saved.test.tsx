import { readdirSync, readFileSync } from "node:fs";
import { Validator } from "@cfworker/json-schema";
import { render } from "preact";
import { expect, test, vi } from "vitest";
import { actionsFor, insertActionCell } from "../src/lab/actions";
import type { Comm, NotebookPanel } from "../src/lab/types";
import type { InsertedCell } from "../src/notebook/insertCell";
import type { CallBlock, Document } from "../src/protocol";
import { offlineConnection } from "../src/saved/offline";
import { parseSavedTurn } from "../src/saved/parse";
import { Saved } from "../src/saved/Saved";
import schema from "../src/saved/schema.json";
import { highlightMatches, matchingBlocks } from "../src/saved/search";
import { InsertedCellNotice } from "../src/views/InsertedCell";
import { dangers, drawn } from "./page";
import { reference } from "./resolved";

const folder = `${import.meta.dirname}/recorded`;
const OWN = readFileSync(`${import.meta.dirname}/payloads/own.json`, "utf8");
const ended = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .sort()
  .map((name) => [name, recorded(name)] as const)
  .filter(([, { head }]) => head.status !== "running" && head.status !== "waiting");

function recorded(name: string): Document {
  return (JSON.parse(readFileSync(`${folder}/${name}`, "utf8")) as { document: Document }).document;
}

/** A document as `nbtool.blocks.saved` keeps it. */
function kept(document: Document): Document {
  const blocks = document.blocks.map((block) =>
    block.kind === "call"
      ? { ...block, question: null, decisions: block.decisions.map((one) => ({ ...one, digest: "" })) }
      : block,
  );
  return { ...document, head: { ...document.head, prompt: "", activity: "" }, blocks };
}

const finished = (): Document => kept(recorded("finished.json"));

/** A turn long enough to be searched: it thought aloud for long. */
function long(document: Document): Document {
  const blocks = document.blocks.map((block) =>
    block.kind === "thinking" ? { ...block, text: `${block.text}\n${"Hm. ".repeat(3_000)}` } : block,
  );
  return { ...document, blocks };
}

function shown(document: Document, act = (_: string): void => {}) {
  const el = globalThis.document.createElement("div");
  globalThis.document.body.append(el);
  const connection = offlineConnection(document, act);
  render(<Saved connection={connection} />, el);
  const close = (): void => {
    render(null, el);
    el.remove();
  };
  return { el, connection, close };
}

test.each(ended)(
  "%s is let through as it is, and drawn as the live view draws it",
  async (_name, document) => {
    const data = kept(document);
    const page = shown(data);
    await drawn();

    expect(parseSavedTurn(data)).toBe(data);
    expect(page.el.querySelectorAll(".nb-block-item")).toHaveLength(data.blocks.length);
    expect(page.el.querySelectorAll(".nb-call")).toHaveLength(data.head.calls);
    expect(page.el.querySelector(".nb-footer")?.textContent).toContain(data.head.model);
    page.close();
  },
);

const call = finished().blocks.find((block) => block.kind === "call") as CallBlock;
const head = finished().head;
const node = { type: "script", props: {}, key: null, ref: null, constructor: undefined };
let deep: unknown = "x";
for (let depth = 0; depth < 50_000; depth++) deep = [deep];

test.each<[string, unknown]>([
  ["nothing", null],
  ["a text", "turn"],
  ["another version", { ...finished(), v: 2 }],
  ["a list for an object", { ...finished(), head: [] }],
  ["a node for a text", { ...finished(), blocks: [{ ...call, result: node }] }],
  ["a turn that runs", { ...finished(), head: { ...head, status: "running" } }],
  ["an id that ends its line", { ...finished(), head: { ...head, turn_id: "t\n!ls" } }],
  ["an id with a line end", { ...finished(), head: { ...head, turn_id: "t\n" } }],
  ["a chat that is more than a name", { ...finished(), head: { ...head, chat: "x\n!ls" } }],
  ["a question", { ...finished(), blocks: [{ ...call, question: { gate: "run", digest: "d" } }] }],
  ["a state that there is not", { ...finished(), blocks: [{ ...call, state: "toString" }] }],
  ["two blocks with one id", { ...finished(), blocks: [call, call] }],
  ["depth", { ...finished(), blocks: [{ ...call, resolved: { a: deep } }] }],
  ["depth alone", deep],
  ["a long text", { ...finished(), blocks: [{ ...call, result: "x".repeat(schema.dataLimit + 1) }] }],
  [
    "many texts",
    { ...finished(), blocks: ["a", "b"].map((id) => ({ ...call, id, result: "x".repeat(200_000) })) },
  ],
  ["many blocks", { ...finished(), blocks: Array(2_001).fill(call) }],
])("%s is refused", (_name, value) => {
  expect(parseSavedTurn(value)).toBeNull();
});

const { resolved: _, ...unresolved } = call;

test.each<[string, unknown, number]>([
  ["a field of the turn", { ...finished(), html: "<b>" }, 1],
  [
    "an own key of the language",
    JSON.parse(JSON.stringify(finished()).replace("{", '{"__proto__": {"x": 1}, ')),
    1,
  ],
  ["a key that every object has", { ...finished(), constructor: "x" }, 1],
  ["a field of the head", { ...finished(), head: { ...head, acts: ["rerun"] } }, 1],
  [
    "fields of a block",
    {
      ...finished(),
      blocks: finished().blocks.map((block) => ({
        ...block,
        ...(block.kind === "call" && { dangerouslySetInnerHTML: { __html: "<b>" } }),
      })),
    },
    finished().blocks.filter(({ kind }) => kind === "call").length,
  ],
  [
    "a field deep inside",
    { ...finished(), head: { ...head, usage: { ...head.usage, energy: { joules: [1] } } } },
    1,
  ],
])("%s that a newer version saved is not shown, and a line says so", (_name, value, count) => {
  const { blocks, ...rest } = parseSavedTurn(value) ?? finished();
  const { blocks: known, ...others } = finished();

  expect(rest).toEqual(others);
  expect(blocks.slice(0, -1)).toEqual(known);
  expect(blocks.at(-1)).toMatchObject({ kind: "notice", level: "info" });
  expect((blocks.at(-1) as { text: string }).text).toContain(`Not shown: ${count} field`);
});

test.each<[string, unknown]>([
  ["a field that is missing", { ...finished(), extra: 1, blocks: [unresolved] }],
  ["a field of another type", { ...finished(), extra: 1, head: { ...head, calls: "3" } }],
  ["a block of an unknown kind", { ...finished(), extra: 1, blocks: [{ ...call, kind: "html" }] }],
  ["an id that ends its line", { ...finished(), extra: 1, head: { ...head, turn_id: "t\n!ls" } }],
])("a turn with unknown fields and %s is refused", (_name, value) => {
  expect(parseSavedTurn(value)).toBeNull();
});

test.each(JSON.parse(OWN) as string[])(
  "nothing written into a saved turn is more than text: %s",
  async (payload) => {
    const texts = { name: payload, arguments: payload, result: payload, reason: payload.slice(0, 2000) };
    const data = {
      ...finished(),
      blocks: [
        {
          ...call,
          ...texts,
          name: payload.slice(0, 300),
          resolved: { [payload.slice(0, 99)]: reference(payload.slice(0, 99), payload.slice(0, 2000)) },
        },
      ],
    };
    const page = shown(parseSavedTurn(data) ?? finished());
    for (const fold of page.el.querySelectorAll("details")) fold.open = true;
    await drawn();

    expect(parseSavedTurn(data)).toBe(data);
    expect(dangers(page.el)).toEqual([]);
    page.close();
  },
);

test("a word is found in folds that were never opened", () => {
  const { blocks } = finished();

  expect(matchingBlocks(blocks, " GLOB ").map((at) => blocks[at]?.kind)).toEqual(["call", "text"]);
  expect(matchingBlocks(blocks, "one call").map((at) => blocks[at]?.kind)).toEqual(["thinking"]);
  expect(matchingBlocks(blocks, "dataframe, 250")).toHaveLength(1);
  expect(matchingBlocks(blocks, "")).toEqual([]);
  expect(matchingBlocks(blocks, "nowhere")).toEqual([]);
});

test("a search opens the block with the match, moves on with Enter, and wraps around at the end", async () => {
  const page = shown(long(finished()));
  const field = page.el.querySelector("input") as HTMLInputElement;
  field.value = "GLOB";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();
  const said = (): string | null | undefined => page.el.querySelector(".nb-find [role=status]")?.textContent;
  const told = [said()];
  for (const shiftKey of [false, false, true]) {
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey, bubbles: true }));
    await drawn();
    told.push(said());
  }

  expect([...page.el.querySelectorAll("details.nb-call")].map((fold) => fold.hasAttribute("open"))).toEqual([
    false,
    true,
  ]);
  expect(told).toEqual(["1 of 2", "2 of 2", "1 of 2", "2 of 2"]);
  page.close();
});

test("a match is marked where it is, also behind letters that are longer in lower case", () => {
  const el = globalThis.document.createElement("p");
  el.textContent = `${"İ".repeat(50)} Abc \u{1f989} abC`;

  expect(String(highlightMatches(el, "ABC", el))).toBe("Abc");
});

test("a saved turn that is too large is refused before it is compared with the schema", () => {
  const validate = vi.spyOn(Validator.prototype, "validate");
  const notice = { kind: "notice", text: "x".repeat(4_000), level: "info" };
  const blocks = Array.from({ length: 1_000 }, (_, at) => ({ ...notice, id: `n${at}` }));

  expect(parseSavedTurn({ ...finished(), blocks })).toBeNull();
  expect(validate).not.toHaveBeenCalled();
  validate.mockRestore();
});

test("a saved turn offers what its kernel can do, and nothing where there is none", async () => {
  const done: string[] = [];
  const page = shown(finished(), (action) => done.push(action));
  const buttons = (): (string | null)[] =>
    [...page.el.querySelectorAll("footer button")].map((one) => one.getAttribute("aria-label"));
  await drawn();
  const before = buttons();

  page.connection.setActions(["rerun", "code", "explore"]);
  await drawn();
  const offered = [...page.el.querySelectorAll<HTMLButtonElement>("footer button")];
  for (const one of offered.slice(1)) one.click();

  expect(before).toEqual(["Copy reply"]);
  expect(buttons()).toEqual(["Copy reply", "Rerun", "To code", "Explore"]);
  expect(done).toEqual(["rerun", "code", "explore"]);
  page.close();
});

test("an action is a cell below the turn's own, chosen and not run, and is said", async () => {
  const cells = [0, 1].map(() => ({ node: globalThis.document.createElement("div") }));
  const own = cells[0]?.node.appendChild(globalThis.document.createElement("p")) as HTMLElement;
  const put: unknown[] = [];
  const content = {
    widgets: cells,
    model: {
      sharedModel: {
        getCell: () => ({ getSource: () => "%%nbchat -o answer\nWhich is\nthe cheapest?" }),
        insertCell: (at: number, cell: object) => put.push([at, cell]),
      },
    },
    activeCellIndex: 0,
    mode: "edit" as const,
  };
  const panel = { node: own, content } as unknown as NotebookPanel;

  const said: string[] = [];
  const say = ({ state }: InsertedCell): number => said.push(state);
  const versions = { ...head, versions: 2, turns: ["t1", "t2"] };
  await insertActionCell(own, panel, "rerun", { ...head, chat: "side" }, {}, say);
  await insertActionCell(own, panel, "code", head, {}, say);
  await insertActionCell(own, panel, "edit", head, {}, say);
  await insertActionCell(own, panel, "version", versions, { version: 2 }, say);
  await insertActionCell(own, panel, "version", versions, { version: 3 }, say);
  await insertActionCell(globalThis.document.createElement("p"), panel, "code", head, {}, say);

  const made = (source: string) => [1, { cell_type: "code", source, metadata: { trusted: true } }];
  expect(put).toEqual(
    [
      "%%nbchat -c side --rerun t",
      "%nbchat export py --cell t",
      "%%nbchat --edit t\nWhich is\nthe cheapest?",
      "%nbchat branch t2 --switch",
    ].map(made),
  );
  expect([content.activeCellIndex, content.mode]).toEqual([1, "command"]);
  expect(said).toEqual(["below", "below", "below", "below", "refused", "here"]);
});

test("a cell that asks the prompt again has a list of models, and the chosen one is its first line", async () => {
  const node = globalThis.document.createElement("div");
  const cells = ["%%chat\nWhich is\nthe cheapest?"];
  const sharedModel = {
    getCell: (at: number) => ({
      getSource: () => cells[at] ?? "",
      setSource: (source: string) => cells.splice(at, 1, source),
    }),
    insertCell: (at: number, { source }: { source: string }) => cells.splice(at, 0, source),
  };
  const asked: unknown[] = [];
  const choice = (name: string, magic: string) => ({ name, note: magic ? "" : "no key", magic });
  const models = [
    choice("lab:a", "%%chat --edit t"),
    choice("lab:b", "%%chat --edit t -m lab:b$&"),
    choice("lab:c", ""),
  ];
  const comm: Comm = {
    onMsg: undefined,
    onClose: undefined,
    open: (data) => {
      asked.push(data);
      comm.onMsg?.({ content: { data: { v: 1, ok: true, text: "", models } } });
    },
    close: () => {},
  };
  const kernel = {
    requestInspect: async () => ({ content: { status: "ok", found: true } }),
    createComm: () => comm,
  };
  const content = { widgets: [{ node }], model: { sharedModel }, activeCellIndex: 0 };
  const panel = { node, content, sessionContext: { session: { kernel } } } as unknown as NotebookPanel;
  const el = globalThis.document.body.appendChild(globalThis.document.createElement("div"));
  const say = (cell: InsertedCell | null) =>
    cell && render(<InsertedCellNotice cell={cell} close={() => {}} />, el);
  const choose = (name: string) => {
    const list = el.querySelector("select") as HTMLSelectElement;
    list.value = name;
    list.dispatchEvent(new Event("change", { bubbles: true }));
  };

  await insertActionCell(node, panel, "edit", head, {}, say);
  await drawn();
  expect(asked).toEqual([{ v: 1, kind: "models", chat: "main", turn: "t", action: "edit" }]);
  expect([...el.querySelectorAll("option")].map((one) => [one.textContent, one.disabled])).toEqual([
    ["lab:a", false],
    ["lab:b", false],
    ["lab:c (no key)", true],
  ]);
  choose("lab:b");
  choose("lab:c");

  expect(cells[1]).toBe("%%chat --edit t -m lab:b$&\nWhich is\nthe cheapest?");
  await insertActionCell(node, panel, "code", head, {}, say);
  await drawn();
  expect(asked).toHaveLength(1);
  expect(el.querySelector("select")).toBeNull();
  render(null, el);
});

test("models that arrive late do not replace what a later action or Close has shown", () => {
  const { connection, close } = shown(finished());
  const rerun: InsertedCell = { state: "below", text: "%%chat --rerun t" };
  const withModels = { ...rerun, models: [] };
  const code: InsertedCell = { state: "below", text: "tickers()", note: "1 call." };
  const notice = () => connection.state().insertedCell;

  connection.showOutcome(rerun);
  connection.showOutcome(withModels, rerun);
  expect(notice()).toBe(withModels);
  connection.showOutcome(code);
  connection.showOutcome(rerun, withModels);
  expect(notice()).toBe(code);
  connection.dismissCell();
  connection.showOutcome(rerun, code);
  expect(notice()).toBeNull();
  close();
});

test.each([
  [
    "does not know its magic",
    { status: "ok", found: false },
    ["%chat export py --cell t", "%load_ext nbtool"],
  ],
  ["knows it", { status: "ok", found: true }, ["%chat export py --cell t"]],
  ["cannot say", { status: "error" }, ["%chat export py --cell t"]],
])(
  "where the kernel %s, the cell that loads nbtool stands above or not at all",
  async (_, content, cells) => {
    const node = globalThis.document.createElement("div");
    const put: [number, string][] = [];
    const sharedModel = {
      getCell: () => ({ getSource: () => "%%chat\nHello" }),
      insertCell: (at: number, cell: { source: string }) => put.push([at, cell.source]),
    };
    const asked: unknown[] = [];
    const kernel = {
      requestInspect: async (about: unknown) => {
        asked.push(about);
        return { content };
      },
    };
    const panel = {
      node,
      content: { widgets: [{ node }], model: { sharedModel } },
      sessionContext: { session: { kernel } },
    } as unknown as NotebookPanel;

    const said: string[] = [];
    await insertActionCell(node, panel, "code", head, {}, (outcome) => said.push(outcome?.state ?? ""));

    expect(asked).toEqual([{ code: "chat", cursor_pos: 4, detail_level: 0 }]);
    expect(put).toEqual(cells.map((source) => [1, source]));
    expect(said.at(-1)).toBe(cells.length > 1 ? "belowWithLoad" : "below");
  },
);

test("a notice that nbtool is not loaded, or that a cell waits, is withdrawn when that is no longer true", async () => {
  const node = globalThis.document.createElement("div");
  const listeners = new Map<string, () => void>();
  const signal = (name: string) => ({
    connect: (listener: () => void) => void listeners.set(name, listener),
    disconnect: () => void listeners.delete(name),
  });
  let isLoaded = false;
  const kernel = {
    requestInspect: async () => ({ content: { status: "ok", found: isLoaded } }),
    iopubMessage: {
      connect: (listener: (...about: unknown[]) => void) =>
        listeners.set("iopub", () =>
          listener(null, {
            header: { msg_type: "status" },
            parent_header: { msg_type: "execute_request" },
            content: { execution_state: "idle" },
          }),
        ),
      disconnect: () => listeners.delete("iopub"),
    },
  };
  const cell = { execution_count: null as number | null, changed: signal("cell"), getSource: () => "" };
  const cells = [{ getSource: () => "%%chat\nHello" }];
  const sharedModel = {
    cells,
    changed: signal("notebook"),
    getCell: (at: number) => cells[at],
    insertCell: (at: number, { source }: { source: string }) =>
      cells.splice(at, 0, source.startsWith("%load_ext") ? { getSource: () => source } : cell),
  };
  const content = { widgets: [{ node }], model: { sharedModel }, activeCellIndex: 0 };
  const panel = { node, content, sessionContext: { session: { kernel } } } as unknown as NotebookPanel;
  const el = globalThis.document.body.appendChild(globalThis.document.createElement("div"));
  const closed = vi.fn();
  const say = (one: InsertedCell) => render(<InsertedCellNotice cell={one} close={closed} />, el);

  await insertActionCell(node, panel, "code", head, {}, say);
  await drawn();
  expect(el.textContent).toContain("nbtool is not loaded in this kernel");
  listeners.get("iopub")?.();
  await drawn();
  expect(el.textContent).toContain("nbtool is not loaded in this kernel");
  isLoaded = true;
  listeners.get("iopub")?.();
  await drawn();
  expect(el.textContent).toContain("Added as a new cell below. Review, then run it.");
  listeners.get("cell")?.();
  expect(closed).not.toHaveBeenCalled();
  cell.execution_count = 3;
  listeners.get("cell")?.();

  expect(closed).toHaveBeenCalledOnce();
  expect([...listeners.keys()]).toEqual([]);
  render(null, el);
});

test("where the kernel does not know its magic, the cell that loads nbtool is above what was inserted last, selected and not doubled", async () => {
  const turns = [0, 1].map(() => globalThis.document.createElement("div"));
  const cells = turns.map((node) => ({ node, source: "%%chat\nHello" }));
  let isLoaded = false;
  const kernel = { requestInspect: async () => ({ content: { status: "ok", found: isLoaded } }) };
  const sharedModel = {
    getCell: (at: number) => ({ getSource: () => cells[at]?.source ?? "" }),
    insertCell: (at: number, { source }: { source: string }) =>
      cells.splice(at, 0, { node: globalThis.document.createElement("div"), source }),
  };
  const content = { widgets: cells, model: { sharedModel }, activeCellIndex: 0 };
  const panel = { content, sessionContext: { session: { kernel } } } as unknown as NotebookPanel;
  const said: string[] = [];
  const press = async (turn: number): Promise<(string | number)[]> => {
    const say = ({ state }: InsertedCell): number => said.push(state);
    await insertActionCell(turns[turn] as HTMLElement, panel, "code", head, {}, say);
    return [content.activeCellIndex, ...cells.map(({ source }) => source.split("\n")[0] ?? "")];
  };
  const load = "%load_ext nbtool";
  const code = "%chat export py --cell t";

  expect(await press(0)).toEqual([1, "%%chat", load, code, "%%chat"]);
  expect(await press(0)).toEqual([1, "%%chat", load, code, code, "%%chat"]);
  expect(await press(1)).toEqual([5, "%%chat", load, code, code, "%%chat", load, code]);
  expect(said).toEqual(Array.from({ length: 3 }, () => ["below", "belowWithLoad"]).flat());

  isLoaded = true;
  expect((await press(0))[0]).toBe(2);
  expect(said.at(-1)).toBe("below");
});

const FORGED_PLACES = {
  "a cell that runs a file": "%%run evil.py\nHello",
  "a shell": "%%bash\nHello",
  "a shell with nbtool's name in it": "%%bash %%chat\nHello",
  "a magic that begins like ours": "%%chat_\nHello",
  "a magic with a dash": "%%chat-x\nHello",
  "a name of somebody's own": "%%talk\nHello",
  "no magic": "import os\nHello",
  "our magic below": "%%run evil.py\n%%chat\nHello",
  "a line magic": "%run evil.py\nHello",
  nothing: "",
  "a blank before": " %%run evil.py\nHello",
};

test.each(Object.entries(FORGED_PLACES))(
  "below %s every button writes a cell of nbtool's own magic",
  (_, source) => {
    const node = globalThis.document.createElement("div");
    const put: string[] = [];
    const sharedModel = {
      getCell: () => ({ getSource: () => source }),
      insertCell: (_at: number, cell: { source: string }) => put.push(cell.source),
    };
    const panel = {
      node,
      content: { widgets: [{ node }], model: { sharedModel } },
    } as unknown as NotebookPanel;
    const versions = { ...head, versions: 2, turns: ["t1", "t2"], undo: true };

    const detail = { version: 2, reference: "price_1_result" };
    for (const action of actionsFor({ ...finished(), head: versions }))
      insertActionCell(node, panel, action, versions, detail, () => {});

    expect(put).toEqual([
      "%%chat --rerun t",
      "%chat export py --cell t",
      "%chat explore t",
      "%chat undo t",
      "%chat branch t2 --switch",
      "%chat bind price_1_result --turn t",
    ]);
  },
);

test.each(["x; !rm -rf", "a b", "x\n%run evil.py", "$VAR_REF{{x}}", "--replace", "", "x".repeat(101)])(
  "a result named %j in a forged turn writes no cell",
  (reference) => {
    const node = globalThis.document.createElement("div");
    const insertCell = vi.fn();
    const sharedModel = { getCell: () => ({ getSource: () => "%%chat\nHello" }), insertCell };
    const panel = {
      node,
      content: { widgets: [{ node }], model: { sharedModel } },
    } as unknown as NotebookPanel;

    const said: string[] = [];
    insertActionCell(node, panel, "bind", head, { reference }, (outcome) => said.push(outcome?.text ?? ""));

    expect(insertCell).not.toHaveBeenCalled();
    expect(said).toEqual(["the saved turn does not say what its cell needs."]);
  },
);

test("a saved turn offers to add each result to the notebook where there is a kernel", async () => {
  const done: unknown[] = [];
  const { blocks, ...rest } = finished();
  const document = { ...rest, blocks: blocks.map((block) => ({ ...block, reference: "price_1_result" })) };
  const calls = blocks.filter(({ kind }) => kind === "call");
  const page = shown(document, (...action: unknown[]) => done.push(action));
  const buttons = (): HTMLButtonElement[] => [
    ...page.el.querySelectorAll<HTMLButtonElement>(".nb-side-button"),
  ];
  await drawn();
  const before = buttons().length;

  page.connection.setActions(actionsFor(document));
  await drawn();
  for (const one of buttons()) one.click();

  expect(before).toBe(0);
  expect(calls).not.toEqual([]);
  expect(done).toEqual(calls.map(() => ["bind", undefined, "price_1_result"]));
  page.close();
});

test("the number of the version is shown, with buttons for the others if there is a kernel", async () => {
  const version = { ...head, version: 2, versions: 3, turns: ["t1", "t2", "t3"] };
  const pressed: unknown[] = [];
  const page = shown({ ...finished(), head: version }, (...action: unknown[]) => pressed.push(action));
  await drawn();
  const before = page.el.querySelectorAll(".nb-versions button").length;

  page.connection.setActions(actionsFor({ ...finished(), head: version }));
  await drawn();
  for (const button of page.el.querySelectorAll<HTMLButtonElement>(".nb-versions button")) button.click();

  expect(before).toBe(0);
  expect(page.el.querySelector(".nb-versions")?.textContent).toBe("‹2/3›");
  expect(pressed).toEqual([
    ["version", 1],
    ["version", 3],
  ]);
  expect(actionsFor({ ...finished(), head: { ...version, turns: ["t1", "t2"] } })).not.toContain("version");
  page.close();
});

test("a turn that is read at a glance has no field to search it", () => {
  const page = shown(finished());

  expect(page.el.querySelector(".nb-find")).toBeNull();
  page.close();
});

test("a saved turn says why it ended without a finished answer, and one of an older file is drawn without", () => {
  const document = finished();
  const { model } = document.head;
  const footer = `${model} · cut off at the length limit`;
  const page = shown({ ...document, head: { ...document.head, footer, end_reason: "length" } });
  const told = page.el.querySelector(".nb-footer")?.textContent;
  page.close();
  const older = shown(document);

  expect(told).toContain("cut off at the length limit");
  expect(older.el.querySelector(".nb-footer")?.textContent).not.toContain("length limit");
  expect(parseSavedTurn({ ...document, head: { ...document.head, end_reason: "length" } })).not.toBeNull();
  expect(parseSavedTurn({ ...document, head: { ...document.head, end_reason: "<b>" } })).toBeNull();
  expect(parseSavedTurn(document)).not.toBeNull();
  older.close();
});
