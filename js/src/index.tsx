/** The widget of one turn: the script that comes with each cell. */
import { render as mount } from "preact";
import { type Connection, connectTurn } from "./kernel/turn";
import type { Model } from "./model";
import "./styles.css";
import { Turn } from "./views/Turn";

interface Props {
  model: Model;
  el: HTMLElement;
  signal?: AbortSignal;
}

/** One connection for each turn on this page: its views share it. */
const connections = new Map<string, Connection>();

function connectionKey(model: Model): string {
  return `${model.get("turn_id")} ${model.get("nonce")}`;
}

function open(model: Model): { connection: Connection; close: () => void } {
  const lifetime = new AbortController();
  const key = connectionKey(model);
  const connection = connectTurn(model, lifetime.signal);
  connections.set(key, connection);
  const close = (): void => {
    lifetime.abort();
    connections.delete(key);
  };
  return { connection, close };
}

export default {
  initialize({ model }: Props): () => void {
    return open(model).close;
  },
  render({ model, el }: Props): () => void {
    const existing = connections.get(connectionKey(model));
    const { connection, close } = existing ? { connection: existing, close: () => {} } : open(model);
    mount(<Turn connection={connection} />, el);
    connection.sendHello();
    return () => {
      mount(null, el);
      close();
    };
  },
};
