/** Draws the outputs that are widgets: asks whether the kernel has the model, and gives the place to the widgets' page part. */

/** So that VS Code takes the next form of the output. */
class NextForm extends Error {
  name = "vscode.fallbackToNextRenderer";
}

export function activate(context) {
  const asked = new Map();
  context.onDidReceiveMessage(({ model, isKnown }) => {
    asked.get(model)?.forEach((resolve) => resolve(isKnown));
    asked.delete(model);
  });
  const isKnown = (model) =>
    new Promise((resolve) => {
      asked.set(model, [...(asked.get(model) ?? []), resolve]);
      context.postMessage({ model });
    });
  const style = document.createElement("style");
  style.textContent = ".cell-output-ipywidget-background { background: white !important; }";
  document.head.append(style);
  return {
    async renderOutputItem(item, element) {
      const { model_id: model } = item.json();
      if (!(await isKnown(model))) throw new NextForm();
      element.classList.add("cell-output-ipywidget-background");
      const { drawWidget } = await globalThis.nbtoolTestsWidgets;
      drawWidget(item.id, model, element); // not awaited: VS Code measures the output before it is drawn
    },
    disposeOutputItem() {},
  };
}
