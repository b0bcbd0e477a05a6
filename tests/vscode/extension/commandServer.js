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
