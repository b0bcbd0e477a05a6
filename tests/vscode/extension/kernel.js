/** A kernel in a process of its own: its messages are lines of JSON, with their buffers in base64. */
const { spawn } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const readline = require("node:readline");

class Kernel {
  /** Start a kernel with an interpreter, through the program `bridge`, that keeps its history in `home`. */
  constructor(python, bridge, cwd, home) {
    this.session = randomUUID();
    this.listeners = new Set();
    this.child = spawn(python, [bridge], { cwd, env: { ...process.env, NBTOOL_HOME: home }, stdio: ["pipe", "pipe", "inherit"] });
    readline.createInterface({ input: this.child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      for (const listener of [...this.listeners]) listener(message);
    });
  }

  /** Send a message on a channel, and return its id. */
  send(channel, type, content, { metadata = {}, parent = {} } = {}) {
    const header = {
      msg_id: randomUUID(),
      msg_type: type,
      session: this.session,
      username: "tests",
      date: new Date().toISOString(),
      version: "5.3",
    };
    this.forward({ channel, header, parent_header: parent, metadata, content, buffers: [] });
    return header.msg_id;
  }

  /** Send a message that the page has made. */
  forward(message) {
    this.#write({ message });
  }

  interrupt() {
    this.#write({ interrupt: true });
  }

  stop() {
    this.child.stdin.end();
  }

  #write(line) {
    this.child.stdin.write(`${JSON.stringify(line)}\n`);
  }
}

module.exports = { Kernel };
