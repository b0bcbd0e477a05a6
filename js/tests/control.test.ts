import { expect, test } from "vitest";
import { openChannel } from "../src/kernel/channel";
import { Kernel } from "./page";

interface Sent {
  channel: string;
  header: { msg_id: string; msg_type: string; session: string; version: string };
  content: { comm_id: string; data: { method: string; content: Record<string, unknown> } };
}

/** A page's connection to its kernel, which replies when it is told to. */
class Connection {
  sent: Sent[] = [];
  futures: { onReply?: (reply: object) => void }[] = [];
  isDead = false;
  clientId = "client";
  username = "somebody";

  sendControlMessage = (message: Sent, expectsReply: boolean): object => {
    if (this.isDead) throw new Error("Kernel is dead");
    expect(expectsReply).toBe(true);
    const future = {};
    this.sent.push(message);
    this.futures.push(future);
    return future;
  };

  reply(status = "ok"): void {
    this.futures.at(-1)?.onReply?.({ content: { status } });
  }
}

function opened({ isHeardByKernel = true } = {}) {
  const kernel = new Kernel();
  const connection = new Connection();
  Object.assign(kernel.traits, { place: "model-1", control: isHeardByKernel });
  Object.assign(kernel, { widget_manager: { kernel: connection } });
  const channel = openChannel(
    kernel,
    new AbortController().signal,
    {},
    { isConnected: () => true, onMessage: () => {} },
  );
  return { kernel, connection, channel };
}

const kinds = (said: Record<string, unknown>[]): unknown[] => said.map(({ kind }) => kind);

test("a hello tries both ways with one id, and what follows a reply takes the control channel alone", () => {
  const { kernel, connection, channel } = opened();

  const id = channel.send({ kind: "hello" });
  connection.reply();
  channel.send({ kind: "stop" });

  const [hello, stop] = connection.sent;
  expect(kinds(kernel.said)).toEqual(["hello"]);
  expect(hello?.content.data.content).toEqual(kernel.said[0]);
  expect(hello?.content.data.content.id).toBe(id);
  expect(hello?.content.comm_id).toBe("model-1");
  expect(hello?.channel).toBe("control");
  expect(hello?.header).toMatchObject({
    msg_id: id,
    msg_type: "nbtool_message",
    session: "client",
    version: "5.3",
  });
  expect(stop?.content.data).toMatchObject({ method: "custom", content: { kind: "stop", nonce: "n", v: 1 } });
});

test("while no reply comes, everything takes the comm", () => {
  const { kernel, connection, channel } = opened();

  channel.send({ kind: "hello" });
  channel.send({ kind: "stop" });

  expect(kinds(kernel.said)).toEqual(["hello", "stop"]);
  expect(connection.sent).toHaveLength(1);
});

test("a message that follows one without a reply takes both ways, with one id", () => {
  const { kernel, connection, channel } = opened();
  channel.send({ kind: "hello" });
  connection.reply();

  channel.send({ kind: "ping" });
  channel.send({ kind: "stop" });

  expect(kinds(kernel.said)).toEqual(["hello", "stop"]);
  expect(connection.sent.at(-1)?.content.data.content).toEqual(kernel.said[1]);
});

test("a kernel without the widget is not heard by the control channel", () => {
  const { kernel, connection, channel } = opened();

  channel.send({ kind: "hello" });
  connection.reply("error");
  channel.send({ kind: "stop" });

  expect(kinds(kernel.said)).toEqual(["hello", "stop"]);
});

test("a kernel that does not read the control channel gets nothing there", () => {
  const { kernel, connection, channel } = opened({ isHeardByKernel: false });

  channel.send({ kind: "hello" });

  expect(connection.sent).toEqual([]);
  expect(kinds(kernel.said)).toEqual(["hello"]);
});

test("a dead connection loses no message that the comm could carry", () => {
  const { kernel, connection, channel } = opened();
  connection.isDead = true;

  channel.send({ kind: "hello" });

  expect(kinds(kernel.said)).toEqual(["hello"]);
});

test.each([undefined, {}, { kernel: null }, { kernel: {} }])(
  "a page whose widget manager is %j sends over the comm",
  (manager) => {
    const { kernel, channel } = opened();
    Object.assign(kernel, { widget_manager: manager });

    channel.send({ kind: "hello" });
    channel.send({ kind: "stop" });

    expect(kinds(kernel.said)).toEqual(["hello", "stop"]);
  },
);
