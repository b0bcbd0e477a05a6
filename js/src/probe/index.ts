/** Tells the kernel what this page can do, over each way that a click could take; the kernel notes which arrive. */

import { openChannel } from "../kernel/channel";
import { canControl } from "../kernel/control";
import { cellLink, diagramDrawer, typesetter } from "../kernel/pageServices";
import type { Model } from "../model";
import { notebookOf } from "../notebook/notebookModel";
import type { FrontEnd, PageReport } from "../protocol";

interface Props {
  model: Model;
  el: HTMLElement;
}

/** A page may be ready before the kernel listens. */
const REPEAT_MS = 700;
const MAX_REPORTS = 5;

export default {
  render({ model, el }: Props): () => void {
    el.textContent = "nbtool tries what this page can do…";
    const lifetime = new AbortController();
    const channel = openChannel(
      model,
      lifetime.signal,
      {},
      { isConnected: () => false, onMessage: () => {} },
    );
    const send = (times: number): void => {
      channel.send(report(model));
      if (times > 1) channel.setTimer(() => send(times - 1), REPEAT_MS);
    };
    send(MAX_REPORTS);
    return () => lifetime.abort();
  },
};

function report(model: Model): PageReport {
  return {
    kind: "hello",
    front_end: frontEnd(),
    notebook: Boolean(notebookOf(model)?.sharedModel?.cells),
    control: canControl(model),
    extension: Boolean(cellLink()),
    typesetter: Boolean(typesetter()),
    diagrams: Boolean(diagramDrawer()),
  };
}

/** Where this page is, by what each is known to have; for a person to read, nothing depends on it. */
function frontEnd(): FrontEnd {
  const globals = globalThis as { google?: { colab?: unknown } };
  if (globals.google?.colab) return "colab";
  if (document.querySelector(".jp-LabShell")) return "jupyterlab";
  if (document.querySelector("#jupyter-config-data")) return "notebook";
  const isEditor = getComputedStyle(document.documentElement).getPropertyValue("--vscode-font-family");
  return isEditor ? "vscode" : "other";
}
