/** The widget of `%chat show`: a whole conversation, with a box for the next prompt. */
import { render as mount } from "preact";
import type { Model } from "../model";
import "../styles.css";
import { Conversation } from "./Conversation";
import "./conversation.css";
import { createConversationClient } from "./client";

interface Props {
  model: Model;
  el: HTMLElement;
}

export default {
  render({ model, el }: Props): () => void {
    const lifetime = new AbortController();
    const client = createConversationClient(model, lifetime.signal);
    mount(<Conversation client={client} />, el);
    client.refresh();
    return () => {
      mount(null, el);
      lifetime.abort();
    };
  },
};
