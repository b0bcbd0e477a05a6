/** The widget of a running `chat.map`. */
import { render as mount } from "preact";
import type { Model } from "../model";
import { connectMap, type MapClient } from "./client";
import { MapView } from "./MapView";
import "./map.css";

interface Props {
  model: Model;
  el: HTMLElement;
}

/** One connection for each map on this page: its views share it. */
const clients = new Map<unknown, MapClient>();

export default {
  initialize({ model }: Props): () => void {
    return open(model).close;
  },
  render({ model, el }: Props): () => void {
    const existing = clients.get(model.get("nonce"));
    const { client, close } = existing ? { client: existing, close: () => {} } : open(model);
    mount(<MapView client={client} />, el);
    client.sendHello();
    return () => {
      mount(null, el);
      close();
    };
  },
};

function open(model: Model): { client: MapClient; close: () => void } {
  const lifetime = new AbortController();
  const client = connectMap(model, lifetime.signal);
  clients.set(model.get("nonce"), client);
  const close = (): void => {
    lifetime.abort();
    clients.delete(model.get("nonce"));
  };
  return { client, close };
}
