/** The widgets of a notebook's page: the manager of VS Code's own bundle, on a kernel that is reached by messages. */
import * as manager8 from "@vscode/jupyter-ipywidgets8";
import { ServerConnection } from "@jupyterlab/services";
import { KernelConnection } from "@jupyterlab/services/lib/kernel/default";
import { deserialize, serialize } from "@jupyterlab/services/lib/kernel/serialize";
import { Widget } from "@lumino/widgets";
import variables from "@jupyter-widgets/controls/css/labvariables.css";
import requireSource from "requirejs/require.js" with { type: "text" };

const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";
/** A model that is asked for before it was displayed is waited for this long. */
const MODEL_MS = 1000;
/** A place that has shown another widget needs a moment to let it go. */
const AGAIN_MS = 100;
/** Until somebody agrees that modules are loaded from elsewhere. */
const LATE_MS = 4000;

function toBase64(buffer) {
  const bytes = ArrayBuffer.isView(buffer)
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer);
  return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
}

const fromBase64 = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer;

/** Connect to the kernel over messages of the page, in the place of a socket. */
function connect(post, session) {
  let socket;
  class MessageSocket {
    protocol = "";
    constructor() {
      socket = this;
    }
    send(data) {
      const message = deserialize(data, "");
      post({ kind: "message", message: { ...message, buffers: (message.buffers ?? []).map(toBase64) } });
    }
    close() {}
  }
  const serverSettings = ServerConnection.makeSettings({ WebSocket: MessageSocket, wsUrl: "ws://unused" });
  const kernel = new KernelConnection({
    serverSettings,
    clientId: session,
    username: "tests",
    handleComms: true,
    model: { id: session, name: "python3" },
  });
  const { requestKernelInfo } = kernel;
  kernel.requestKernelInfo = () => Promise.resolve(); // a cell that runs would hold the reply back
  socket.onopen({ target: socket });
  kernel.requestKernelInfo = requestKernelInfo;
  const receive = (message) => {
    const buffers = message.buffers.map(fromBase64);
    socket.onmessage({ target: socket, data: serialize({ ...message, buffers }, "") });
  };
  return { kernel, receive };
}

/** Load the modules of widgets: those of this environment lie beside this script. */
function scriptLoader(modules) {
  const widgetsRegisteredInRequireJs = new Set();
  return {
    widgetsRegisteredInRequireJs,
    errorHandler() {},
    successHandler() {},
    async loadWidgetScript(name) {
      const local = new URL(`./nbextensions/${name}/index`, import.meta.url).href;
      if (modules === "late") await new Promise((resolve) => setTimeout(resolve, LATE_MS));
      const place = modules === "missing" ? new URL(`./missing/${name}`, import.meta.url).href : local;
      window.requirejs.config({ paths: { [name]: place } });
      widgetsRegisteredInRequireJs.add(name);
    },
  };
}

/** Models that were displayed: a view is made once the message was handled that displays it. */
function displayedModels(kernel, manager) {
  const displayed = new Map();
  const of = (id) => {
    if (!displayed.has(id)) displayed.set(id, Promise.withResolvers());
    return displayed.get(id);
  };
  kernel.iopubMessage.connect(async (_, message) => {
    const id = message.content?.data?.[WIDGET_MIME]?.model_id;
    if (!id) return;
    try {
      await manager.get_model(id);
      of(id).resolve();
    } catch (error) {
      of(id).reject(error);
    }
  });
  return async (id) => {
    if (!displayed.has(id)) {
      const early = manager.get_model(id)?.then(() => of(id).resolve());
      await Promise.race([early?.catch(() => {}), new Promise((resolve) => setTimeout(resolve, MODEL_MS))]);
    }
    await of(id).promise;
    return manager.get_model(id);
  };
}

/** Return what draws a widget in an output, as the extension for Jupyter does. */
function widgetDrawer(kernel, modules) {
  const manager = new window.vscIPyWidgets.WidgetManager(kernel, undefined, scriptLoader(modules), () => {});
  const modelOf = displayedModels(kernel, manager);
  const drawn = new Map();

  async function createView(model, el) {
    const view = await manager.create_view(await modelOf(model), { el });
    return manager.display_view({ model_id: model }, view, { node: el });
  }

  function drawWidget(output, model, container) {
    const before = drawn.get(output);
    if (before?.container === container && before.model === model) return;
    before?.widget?.dispose();
    container.firstChild?.remove();
    const now = { container, model };
    setTimeout(
      async () => {
        const el = document.createElement("div");
        el.className = "cell-output-ipywidget-background";
        container.append(el);
        el.append(Object.assign(document.createElement("div"), { className: "cell-output" }));
        drawn.set(output, now);
        try {
          const widget = await createView(model, el);
          if (drawn.get(output) === now) now.widget = widget;
          else widget?.dispose();
        } catch (error) {
          console.error(`Failed to render widget ${model}: ${error}`);
        }
      },
      before ? AGAIN_MS : 0,
    );
  }
  return { drawWidget, Widget };
}

const drawer = Promise.withResolvers();
globalThis.nbtoolTestsWidgets = drawer.promise;

export function activate(context) {
  // biome-ignore lint/security/noGlobalEval: the loader of AMD modules defines globals, which it does not as a module
  (0, eval)(requireSource);
  document.head.append(Object.assign(document.createElement("style"), { textContent: variables }));
  manager8.activate();
  window.vscIPyWidgets8.load();
  let receive;
  const early = [];
  context.onDidReceiveKernelMessage((message) => {
    if (message.kind === "options" && !receive) {
      const connection = connect(context.postKernelMessage, message.session);
      receive = connection.receive;
      drawer.resolve(widgetDrawer(connection.kernel, message.modules));
      early.forEach(receive);
    } else if (message.kind === "message") receive ? receive(message.message) : early.push(message.message);
  });
  context.postKernelMessage({ kind: "ready" });
}
