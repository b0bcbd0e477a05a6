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

interface Opened {
  connection: Connection;
  close: () => void;
  /** The views of the turn on this page. */
  views: number;
}

/** One connection for each turn on this page: its views share it. */
const connections = new Map<string, Opened>();

function connectionKey(model: Model): string {
  return `${model.get("turn_id")} ${model.get("nonce")}`;
}

function open(model: Model): Opened {
  const lifetime = new AbortController();
  const key = connectionKey(model);
  const close = (): void => {
    lifetime.abort();
    connections.delete(key);
  };
  const opened = { connection: connectTurn(model, lifetime.signal), close, views: 0 };
  connections.set(key, opened);
  return opened;
}

export default {
  initialize({ model }: Props): () => void {
    const { connection, close } = open(model);
    connection.sendPresence();
    return close;
  },
  render({ model, el }: Props): () => void {
    const existing = connections.get(connectionKey(model));
    const opened = existing ?? open(model);
    const { connection } = opened;
    mount(<Turn connection={connection} />, el);
    opened.views += 1;
    connection.sendHello();
    return () => {
      mount(null, el);
      opened.views -= 1;
      if (opened.views === 0) connection.sendGone(() => opened.views === 0);
      if (!existing) opened.close();
    };
  },
};
