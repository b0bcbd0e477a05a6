import { render as mount } from "preact";
import type { Model } from "../kernel/turn";
import "../styles.css";
import { Conversation } from "./Conversation";
import "./conversation.css";
import { talk } from "./client";

interface Props {
  model: Model;
  el: HTMLElement;
}

export default {
  render({ model, el }: Props): () => void {
    const lifetime = new AbortController();
    const conversation = talk(model, lifetime.signal);
    mount(<Conversation talk={conversation} />, el);
    conversation.refresh();
    return () => {
      mount(null, el);
      lifetime.abort();
    };
  },
};
