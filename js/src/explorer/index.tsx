import { render as mount } from "preact";
import type { Model } from "../kernel/turn";
import "../styles.css";
import { Explorer } from "./Explorer";
import "./explorer.css";
import { talk } from "./client";

interface Props {
  model: Model;
  el: HTMLElement;
}

export default {
  render({ model, el }: Props): () => void {
    const lifetime = new AbortController();
    const conversation = talk(model, lifetime.signal);
    mount(<Explorer talk={conversation} />, el);
    conversation.refresh();
    return () => {
      mount(null, el);
      lifetime.abort();
    };
  },
};
