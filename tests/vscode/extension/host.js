/** A kernel for notebooks, for tests: the part of the extension for Jupyter that its widgets need, and a server of commands for tests. */
const fs = require("node:fs");
const vscode = require("vscode");
const { CellRunner } = require("./cells");
const { openCommandServer } = require("./commandServer");
const { Kernel } = require("./kernel");

const RENDERER = "nbtool-tests-widgets";
const OF_WIDGETS = /^(comm_|display_data|update_display_data|execute_result|nbtool_|status$)/;

/** Tell the page what the kernel sends to widgets, and the kernel what they send. */
function connectWidgets(controller, kernel, modules) {
  const models = new Set();
  kernel.listeners.add((message) => {
    const { header, content } = message;
    if (header.msg_type === "comm_open") models.add(content.comm_id);
    if (OF_WIDGETS.test(header.msg_type)) void controller.postMessage({ kind: "message", message });
  });
  const introduce = () => void controller.postMessage({ kind: "options", session: kernel.session, modules });
  controller.onDidChangeSelectedNotebooks(introduce); // before that, nothing that the page says is heard here
  controller.onDidReceiveMessage(({ message }) => {
    if (message.kind === "message") kernel.forward(message.message);
    else introduce();
  });
  const views = vscode.notebooks.createRendererMessaging(RENDERER);
  views.onDidReceiveMessage(({ editor, message }) =>
    views.postMessage({ ...message, isKnown: models.has(message.model) }, editor),
  );
}

exports.activate = (context) => {
  const settings = vscode.workspace.getConfiguration("nbtoolTests");
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const controller = vscode.notebooks.createNotebookController("nbtool-tests", "jupyter-notebook", "Python of the tests");
  controller.supportedLanguages = ["python"];
  controller.supportsExecutionOrder = true;
  const address = settings.get("addressFile");
  const kernel = new Kernel(settings.get("python"), settings.get("bridge"), folder, `${address}-home`);
  const runner = new CellRunner(controller, kernel);
  controller.executeHandler = (cells) => runner.run(cells);
  controller.interruptHandler = () => kernel.interrupt();
  connectWidgets(controller, kernel, settings.get("widgetModules"));
  const server = openCommandServer(runner, (url) => fs.writeFileSync(address, url));
  context.subscriptions.push(controller, { dispose: () => kernel.stop() }, { dispose: () => server.close() });
};
