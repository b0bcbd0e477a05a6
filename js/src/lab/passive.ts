/**
 * Whether what a tool returned may be drawn before a person asks for it: it runs nothing, and fetches nothing. Anything
 * that is not known to be so is drawn after a click only.
 */
import type { DisplayData } from "../protocol";

const VEGA_LITE = /^application\/vnd\.vegalite\.v\d+\+json$/;
const PLOTLY = "application/vnd.plotly.v1+json";

/** Parts of a specification of Vega-Lite that fetch, compute or listen. */
const ACTIVE_KEY =
  /^(?:url|href|src|expr|signals?|calculate|test|bind|usermeta|loader|events?|update|on|image|projection)$|expr(?:ession)?$/i;

/** What a text that names a place on a network has; the rows of a chart's data may have it too. */
const ADDRESS = /:\/\/|^\s*\/\/|^\s*(?:data|blob|javascript|file):/i;

/** The charts of plotly that need no map, picture or tile of a server. */
const PLAIN_TRACES = new Set(
  (
    "scatter scattergl bar histogram histogram2d histogram2dcontour box violin heatmap contour pie sunburst treemap icicle funnel " +
    "funnelarea waterfall ohlc candlestick table indicator parcoords parcats splom scatterpolar barpolar scatterternary sankey " +
    "surface scatter3d mesh3d"
  ).split(" "),
);
const PLOTLY_ACTIVE_KEY = /^(?:images|mapbox|map|geo|updatemenus|sliders|frames|src\w*|source|url|href)$/i;

/** Elements and attributes of HTML that only show text and tables. */
const PLAIN_TAGS = new Set(
  (
    "A ABBR B BLOCKQUOTE BODY BR CAPTION CODE COL COLGROUP DD DEL DETAILS DFN DIV DL DT EM H1 H2 H3 H4 H5 H6 HEAD HR HTML I INS KBD " +
    "LI MARK OL P PRE Q S SAMP SMALL SPAN STRONG SUB SUMMARY SUP TABLE TBODY TD TFOOT TH THEAD TR U UL VAR"
  ).split(" "),
);
const PLAIN_ATTRIBUTES = new Set(
  "align border cellpadding cellspacing class colspan dir headers lang open rowspan scope span start title valign".split(
    " ",
  ),
);

/** Whether a result may be drawn unasked. */
export function isPassive({ mime, text }: DisplayData): boolean {
  if (mime === "text/latex")
    return !/\\(?:href|url|includegraphics|html\w*|require|style|class|cssId)\b/.test(text);
  if (mime === "text/markdown") return !/[<!]|\]\s*[([:]|:\/\//.test(text);
  if (mime === "text/html") return isPassiveHtml(text);
  if (VEGA_LITE.test(mime)) return isPassiveVega(text);
  return mime === PLOTLY && isPassivePlotly(text);
}

function isPassiveHtml(text: string): boolean {
  const page = new DOMParser().parseFromString(text, "text/html"); // runs and fetches nothing
  return [...page.querySelectorAll("*")].every(
    (one) =>
      PLAIN_TAGS.has(one.tagName) && [...one.attributes].every((attribute) => isPlainAttribute(attribute)),
  );
}

function isPlainAttribute({ name, value }: Attr): boolean {
  if (name === "style") return !/url|image|\\|@|expression|position|:\s*fixed|content/i.test(value);
  if (name === "href") return /^(?:https?:\/\/|#)/i.test(value); // a link is followed by a click
  return PLAIN_ATTRIBUTES.has(name);
}

function isPassiveVega(text: string): boolean {
  const spec = parse(text);
  if (!isRecord(spec)) return false;
  const { $schema, data, datasets, ...rest } = spec;
  return (
    isPlain(rest, ACTIVE_KEY) && isInlineData(data) && isInlineData(datasets) && typeof $schema === "string"
  );
}

/** Whether the data of a chart are in it: rows, or the name of some that are. */
function isInlineData(data: unknown): boolean {
  if (data === undefined) return true;
  if (!isRecord(data)) return false;
  return Object.entries(data).every(([key, value]) =>
    key === "name" ? isText(value) : key !== "url" && isRows(value),
  );
}

function isRows(value: unknown): boolean {
  return (
    Array.isArray(value) || (isRecord(value) && Object.values(value).every((one) => typeof one !== "object"))
  );
}

function isPassivePlotly(text: string): boolean {
  const figure = parse(text);
  if (!isRecord(figure) || !Array.isArray(figure.data) || "frames" in figure) return false;
  const { template, ...layout } = isRecord(figure.layout) ? figure.layout : ({} as Record<string, unknown>);
  const isDrawn = figure.data.every(
    (trace) =>
      isRecord(trace) &&
      PLAIN_TRACES.has(String(trace.type ?? "scatter")) &&
      isPlain(trace, PLOTLY_ACTIVE_KEY),
  );
  const isStyle = !isRecord(template) || isPlain(template, /^(?:images|source|url|href)$/i);
  return isDrawn && isPlain(layout, PLOTLY_ACTIVE_KEY) && isStyle;
}

/** Whether a value has none of these keys, no address and no markup in any text, at any depth. */
function isPlain(value: unknown, active: RegExp): boolean {
  const waiting = [value];
  for (let at = 0; at < waiting.length; at++) {
    const one = waiting[at];
    if (
      typeof one === "string" &&
      (ADDRESS.test(one) || /<(?!\/?(?:b|i|br|sub|sup|em|extra)\b)[a-z!/]/i.test(one))
    )
      return false;
    if (Array.isArray(one)) waiting.push(...one.slice(0, MAX_ITEMS));
    if (Array.isArray(one) && one.length > MAX_ITEMS) return false;
    if (!isRecord(one)) continue;
    for (const [key, inner] of Object.entries(one)) {
      if (key === "bind" && inner === "scales") continue; // to zoom and move
      if (active.test(key) || (key === "filter" && typeof inner === "string")) return false;
      if ((key === "type" || key === "mark") && inner === "image") return false;
      waiting.push(key === "data" && isRecord(inner) ? { ...inner, values: undefined } : inner);
    }
  }
  return true;
}

/** Items of a list that are looked at; a longer one is drawn after a click. */
const MAX_ITEMS = 50_000;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
