import { render as mount } from "preact";
import { type Connection, connect, type Model } from "./kernel/turn";
import "./styles.css";
import { Turn } from "./views/Turn";

interface Props {
  model: Model;
  el: HTMLElement;
  signal?: AbortSignal;
}

/** One connection for each turn on this page: its views share it. */
const connections = new Map<string, Connection>();

function keyOf(model: Model): string {
  return `${model.get("turn_id")} ${model.get("nonce")}`;
}

function open(model: Model): { connection: Connection; close: () => void } {
  const lifetime = new AbortController();
  const key = keyOf(model);
  const connection = connect(model, lifetime.signal);
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
    const known = connections.get(keyOf(model));
    const { connection, close } = known ? { connection: known, close: () => {} } : open(model);
    mount(<Turn connection={connection} />, el);
    connection.hello();
    return () => {
      mount(null, el);
      close();
    };
  },
};
