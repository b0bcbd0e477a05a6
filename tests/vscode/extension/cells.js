/** Runs cells, and shows what the kernel sends of them: as the extension for Jupyter does, message by message. */
const { EventEmitter } = require("node:events");
const vscode = require("vscode");
const { itemsOf, outputOf } = require("./outputs");

const addressOf = (cell) => cell.document.uri.toString();

class CellRunner {
  constructor(controller, kernel) {
    this.controller = controller;
    this.kernel = kernel;
    /** The cell of each request, and its execution until it has ended. */
    this.requests = new Map();
    /** The output with a display id, and its cell. */
    this.displays = new Map();
    this.queue = Promise.resolve();
    /** How often each cell was run, by its address, and those that run. */
    this.started = new Map();
    this.running = new Set();
    /** The widgets whose page got an answer from the kernel. */
    this.answered = new Set();
    this.changed = new EventEmitter();
    kernel.listeners.add((message) => this.#receive(message));
  }

  /** Run cells one after the other; resolves when all have ended. */
  run(cells) {
    const executions = cells.map((cell) => this.controller.createNotebookCellExecution(cell));
    for (const execution of executions) {
      this.queue = this.queue.then(() => this.#run(execution)).catch((error) => console.error(error));
    }
    return this.queue;
  }

  /** How often a cell was run. */
  count(cell) {
    return this.started.get(addressOf(cell)) ?? 0;
  }

  isRunning(cell) {
    return this.running.has(addressOf(cell));
  }

  /** Wait until something is so that changes with the start or the end of a cell. */
  async until(isSo) {
    while (!isSo()) await new Promise((resolve) => this.changed.once("change", resolve));
  }

  #note(cell, isRunning) {
    const address = addressOf(cell);
    if (isRunning) {
      this.started.set(address, this.count(cell) + 1);
      this.running.add(address);
    } else this.running.delete(address);
    this.changed.emit("change");
  }

  async #run(execution) {
    execution.start(Date.now());
    this.#note(execution.cell, true);
    await execution.clearOutput();
    const content = {
      code: execution.cell.document.getText(),
      silent: false,
      store_history: true,
      user_expressions: {},
      allow_stdin: true,
      stop_on_error: false,
    };
    const metadata = { cellId: addressOf(execution.cell) };
    const id = this.kernel.send("shell", "execute_request", content, { metadata });
    const request = { cell: execution.cell, execution, isReplied: false, isIdle: false, isOk: false };
    this.requests.set(id, request);
    await new Promise((resolve) => {
      request.end = resolve;
    });
    request.execution = undefined;
    execution.end(request.isOk, Date.now());
    this.#note(execution.cell, false);
  }

  #receive({ channel, header, parent_header: parent, content }) {
    if (header.msg_type === "comm_msg" && content.data?.content?.kind === "ack") {
      this.answered.add(content.comm_id);
      this.changed.emit("change");
    }
    const request = this.requests.get(parent?.msg_id);
    if (!request) return;
    if (header.msg_type === "execute_reply") {
      request.isReplied = true;
      request.isOk = content.status === "ok";
      if (request.execution) request.execution.executionOrder = content.execution_count;
    }
    if (header.msg_type === "status" && content.execution_state === "idle") request.isIdle = true;
    if (request.isReplied && request.isIdle) request.end();
    if (header.msg_type === "input_request") void this.#ask(header, content);
    if (channel === "iopub") this.#show(request, header.msg_type, content);
  }

  #show(request, type, content) {
    switch (type) {
      case "display_data":
      case "execute_result":
      case "stream":
      case "error": {
        const output = outputOf(type, content);
        const id = content.transient?.display_id;
        if (id) this.displays.set(id, { output, cell: request.cell });
        this.#change(request.cell, request.execution, (execution) => execution.appendOutput([output]));
        break;
      }
      case "update_display_data": {
        const shown = this.displays.get(content.transient?.display_id);
        if (!shown) return;
        const execution = request.execution?.cell === shown.cell ? request.execution : undefined;
        this.#change(shown.cell, execution, (one) => one.replaceOutputItems(itemsOf(content.data), shown.output));
        break;
      }
      case "clear_output":
        this.#change(request.cell, request.execution, (execution) => execution.clearOutput());
    }
  }

  /** Change the outputs of a cell, after its end with an execution of a moment. */
  #change(cell, execution, change) {
    if (execution) return void change(execution);
    const moment = this.controller.createNotebookCellExecution(cell);
    moment.start(cell.executionSummary?.timing?.startTime);
    moment.executionOrder = cell.executionSummary?.executionOrder;
    change(moment);
    moment.end(cell.executionSummary?.success, cell.executionSummary?.timing?.endTime);
  }

  /** Ask for a line of input; the box stays when the cell has ended, as that of the extension for Jupyter does. */
  async #ask(parent, { prompt, password }) {
    const value = await vscode.window.showInputBox({ prompt, password, ignoreFocusOut: true });
    this.kernel.send("stdin", "input_reply", { value: value ?? "", status: "ok" }, { parent });
  }
}

module.exports = { CellRunner };
