/** What tests do without the mouse: they post a command to this extension and get its result as JSON. */
const http = require("node:http");
const vscode = require("vscode");

const notebook = () => vscode.window.activeNotebookEditor.notebook;
const rangeOf = (cell) => ({ start: cell, end: cell + 1 });

/** The outputs of a cell: of each, its forms. */
const outputsOf = (cell) =>
  cell.outputs.map(({ items }) =>
    Object.fromEntries(items.map(({ mime, data }) => [mime, new TextDecoder().decode(data)])),
  );

const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";

/** Wait until something is so that changes with a notebook. */
async function untilChange(isSo) {
  while (!isSo())
    await new Promise((resolve) => {
      const listener = vscode.workspace.onDidChangeNotebookDocument(() => {
        listener.dispose();
        resolve();
      });
    });
}

/** The commands, with what runs cells. */
const commandsOf = (runner) => ({
  outputs: ({ cell }) => outputsOf(notebook().cellAt(cell)),
  count: () => notebook().cellCount,
  /** Open a notebook as a double click does. */
  async open({ path }) {
    const document = await vscode.workspace.openNotebookDocument(vscode.Uri.file(path));
    await vscode.window.showNotebookDocument(document);
  },
  /** Run a command of VS Code by its name, and wait for its end. */
  run: ({ command, args = [] }) => vscode.commands.executeCommand(command, ...args),
  /** Start a cell, or all cells. */
  async start({ cell }) {
    const first = notebook().cellAt(cell ?? 0);
    const before = runner.count(first);
    const range = cell === undefined ? [] : [{ ranges: [rangeOf(cell)] }];
    void vscode.commands.executeCommand(cell === undefined ? "notebook.execute" : "notebook.cell.execute", ...range);
    await runner.until(() => runner.count(first) > before);
  },
  /** Wait until a cell was started that waits for others. */
  begun: ({ cell }) => runner.until(() => runner.isRunning(notebook().cellAt(cell))),
  /** Wait until an output of a cell has a text. */
  text: ({ cell, part }) =>
    untilChange(() => outputsOf(notebook().cellAt(cell)).some((one) => JSON.stringify(one).includes(JSON.stringify(part).slice(1, -1)))),
  /** Wait until the kernel has answered the page of the widget that a cell shows. */
  heard: async ({ cell }) => {
    const modelOf = () => outputsOf(notebook().cellAt(cell)).find((one) => one[WIDGET_MIME])?.[WIDGET_MIME];
    await untilChange(modelOf);
    const { model_id: model } = JSON.parse(modelOf());
    await runner.until(() => runner.answered.has(model));
  },
  stopKernel: () => runner.kernel.stop(),
  ended: ({ cell }) => runner.until(() => !runner.isRunning(notebook().cellAt(cell))),
  isRunning: ({ cell }) => runner.isRunning(notebook().cellAt(cell)),
  /** Scroll until a cell is at the top. */
  reveal({ cell }) {
    const range = new vscode.NotebookRange(cell, cell + 1);
    vscode.window.activeNotebookEditor.revealRange(range, vscode.NotebookEditorRevealType.AtTop);
  },
  async set({ section, value }) {
    await vscode.workspace.getConfiguration().update(section, value, vscode.ConfigurationTarget.Global);
  },
});

async function answer(commands, request, response) {
  let body = "";
  for await (const part of request) body += part;
  try {
    const { name, ...options } = JSON.parse(body);
    response.end(JSON.stringify({ result: (await commands[name](options)) ?? null }));
  } catch (error) {
    response.end(JSON.stringify({ error: String(error?.stack ?? error) }));
  }
}

/** Listen on the loopback interface; `onOpen` gets the address. */
exports.openCommandServer = (runner, onOpen) => {
  const commands = commandsOf(runner);
  const server = http.createServer((request, response) => void answer(commands, request, response));
  server.listen(0, "127.0.0.1", () => onOpen(`http://127.0.0.1:${server.address().port}/`));
  return server;
};
