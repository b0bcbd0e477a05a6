/**
 * Draws results of calls with JupyterLab's own renderers, without trust: HTML is sanitised. It is a module of its own,
 * which a page loads with the first such result.
 */
import type { DisplayData } from "../protocol";
import { isPassive } from "./passive";
import type { MimeModel, RenderMime, SharedModules } from "./types";

/** Draw a result in an element, if it is passive; give what removes it, null where it is not drawn. */
export function drawResult(
  { Widget }: Pick<SharedModules, "Widget">,
  registry: RenderMime,
  el: HTMLElement,
  display: DisplayData,
): (() => void) | null {
  const data = isPassive(display) ? dataOf(display) : undefined;
  const mimeType = data && registry.preferredMimeType(data, "ensure");
  if (!mimeType || !Widget.attach || !el.isConnected) return null;
  const renderer = registry.createRenderer(mimeType);
  Widget.attach(renderer, el);
  const model: MimeModel = { data, trusted: false, metadata: {}, setData: () => {} };
  renderer.renderModel(model).catch((error: unknown) => {
    console.warn("nbtool: a result could not be drawn.", error);
    renderer.dispose();
  });
  return () => renderer.dispose();
}

/** A specification of Vega-Lite of another version than the page's is drawn by that: versions differ in little. */
const VEGA_VERSIONS = ["v6", "v5", "v4"];

/** The data of an output; undefined where a chart is no JSON. */
function dataOf({ mime, text }: DisplayData): Record<string, unknown> | undefined {
  if (!mime.endsWith("+json")) return { [mime]: text };
  try {
    const spec: unknown = JSON.parse(text);
    const [, name] = /^application\/vnd\.(vegalite)\.v\d+\+json$/.exec(mime) ?? [];
    const others = name
      ? VEGA_VERSIONS.map((version) => [`application/vnd.${name}.${version}+json`, spec] as const)
      : [];
    return { ...Object.fromEntries(others), [mime]: spec };
  } catch {
    return undefined;
  }
}
