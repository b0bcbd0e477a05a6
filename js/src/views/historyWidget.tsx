/** The part that the widgets of `%chat show` and `%chat explore` share: a view of a client that asks the kernel when it is drawn. */
import { type ComponentType, render as mount } from "preact";
import type { Model } from "../model";

interface Props {
  model: Model;
  el: HTMLElement;
}

/** Return the widget that draws a view of what `connect` makes of its model, until it is removed. */
export function historyWidget<C extends { refresh(): void }>(
  connect: (model: Model, signal: AbortSignal) => C,
  View: ComponentType<{ client: C }>,
): { render: (props: Props) => () => void } {
  return {
    render({ model, el }) {
      const lifetime = new AbortController();
      const client = connect(model, lifetime.signal);
      mount(<View client={client} />, el);
      client.refresh();
      return () => {
        mount(null, el);
        lifetime.abort();
      };
    },
  };
}
