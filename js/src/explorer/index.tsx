/** The widget of `%chat explore`: the history of a conversation. */
import { render as mount } from "preact";
import type { Model } from "../model";
import "../styles.css";
import { Explorer } from "./Explorer";
import "./explorer.css";
import { createExplorerClient } from "./client";

interface Props {
  model: Model;
  el: HTMLElement;
}

export default {
  render({ model, el }: Props): () => void {
    const lifetime = new AbortController();
    const client = createExplorerClient(model, lifetime.signal);
    mount(<Explorer client={client} />, el);
    client.refresh();
    return () => {
      mount(null, el);
      lifetime.abort();
    };
  },
};
