import type { Model } from "../model";

/** What a channel's name begins with; the same as in nbtool/magics/kernel/broadcast.py. */
const PREFIX = "nbtool.";

/**
 * Post a widget's message to the kernel in a worker of this browser, if the widget listens for that: JupyterLite holds
 * back the messages of a comm while a cell runs. Each message is also sent over the comm, and handled once, by its id.
 */
export function broadcast(model: Model, content: object): void {
  if (!model.get("broadcasts")) return;
  const channel = new BroadcastChannel(`${PREFIX}${String(model.get("place"))}`);
  channel.postMessage(JSON.stringify(content));
  channel.close();
}
