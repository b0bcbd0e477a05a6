/** Outputs of Jupyter as VS Code keeps them. */
const vscode = require("vscode");

const encoder = new TextEncoder();
/** Data of a vendor come first, then HTML, as in the extension for Jupyter. */
const ORDER = [
  "application/vnd.",
  "text/html",
  "application/javascript",
  "text/latex",
  "text/markdown",
  "image/",
  "application/json",
  "text/plain",
];

function rank(mime) {
  const at = ORDER.findIndex((start) => mime.startsWith(start));
  return at < 0 ? ORDER.length : at;
}

function item(mime, value) {
  const text = Array.isArray(value) ? value.join("") : value;
  if (mime.startsWith("image/") && !mime.includes("svg"))
    return new vscode.NotebookCellOutputItem(Buffer.from(text, "base64"), mime);
  return new vscode.NotebookCellOutputItem(encoder.encode(typeof text === "string" ? text : JSON.stringify(text)), mime);
}

/** Return the items of a bundle, the best first. */
function itemsOf(data) {
  return Object.entries(data)
    .map(([mime, value]) => item(mime, value))
    .sort((one, other) => rank(one.mime) - rank(other.mime));
}

/** Return the output of a message that adds one. */
function outputOf(type, content) {
  if (type === "stream") {
    const make = content.name === "stderr" ? vscode.NotebookCellOutputItem.stderr : vscode.NotebookCellOutputItem.stdout;
    return new vscode.NotebookCellOutput([make(content.text)], { outputType: "stream" });
  }
  if (type === "error") {
    const error = { name: content.ename, message: content.evalue, stack: content.traceback.join("\n") };
    return new vscode.NotebookCellOutput([vscode.NotebookCellOutputItem.error(error)], { outputType: "error" });
  }
  const { transient, metadata, execution_count: executionCount } = content;
  return new vscode.NotebookCellOutput(itemsOf(content.data), {
    outputType: type,
    transient,
    metadata,
    executionCount,
  });
}

module.exports = { itemsOf, outputOf };
