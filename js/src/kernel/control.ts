/** Messages over the kernel's control channel, which is read while the main thread is busy. */
import type { Model } from "../model";

/** The type of these messages; the same as in nbtool/magics/kernel/control_channel.py. */
const MESSAGE_TYPE = "nbtool_message";

/** The parts of a page's connection to its kernel that are used here: its widget manager knows it. */
interface Kernel {
  clientId?: string;
  username?: string;
  sendControlMessage?(
    message: object,
    expectsReply: boolean,
  ): { onReply?: (reply: { content: { status?: unknown } }) => void };
}

function kernelOf(model: Model): Kernel | null | undefined {
  return (model.widget_manager as { kernel?: Kernel | null } | undefined)?.kernel;
}

/** The session of the page's requests to its kernel; undefined where the page does not know it. */
export function sessionOf(model: Model): string | undefined {
  return kernelOf(model)?.clientId;
}

/** Whether the page of a widget can send over the control channel. */
export function canControl(model: Model): boolean {
  return Boolean(kernelOf(model)?.sendControlMessage);
}

/**
 * Send a widget's message over the control channel, which a kernel reads whatever its main thread does; call back if it
 * replies that it has the widget. Nothing happens where the page cannot, or has no kernel.
 */
export function sendByControl(model: Model, id: string, content: object, onHeard: () => void): void {
  const kernel = kernelOf(model);
  try {
    const future = kernel?.sendControlMessage?.(
      {
        channel: "control",
        header: {
          msg_id: id,
          msg_type: MESSAGE_TYPE,
          session: kernel.clientId,
          username: kernel.username,
          date: new Date().toISOString(),
          version: "5.3",
        },
        parent_header: {},
        metadata: {},
        content: { comm_id: model.get("place"), data: { method: "custom", content } },
      },
      true,
    );
    if (future) future.onReply = (reply) => reply.content.status === "ok" && onHeard();
  } catch {} // a kernel that is dead
}
