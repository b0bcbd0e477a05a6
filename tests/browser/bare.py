"""A page with nothing in it but the view: no JupyterLab, no network, and a strict policy of what may run.

The page's own script stands for anywidget and the kernel: a model made of two lists. The second module comes packed,
as the kernel sends it, and is imported from a blob as anywidget imports the first.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from playwright.sync_api import BrowserContext, Page, Route

from nbtool.blocks.labels import call_texts, decision_line, head_texts
from nbtool.blocks.question import argument_lines, question_parts
from nbtool.view.assets import STATIC
from nbtool.view.lazy_module import LazyName, load_lazy_module

MODULES = {path.stem: path.read_text(encoding="utf-8") for path in STATIC.glob("*.js")}
"""The scripts that the kernel sends to a page."""

STYLES = {path.name: path.read_text(encoding="utf-8") for path in sorted(STATIC.glob("*.css"))}
"""The styles of the scripts; without its own the explorer's list has no height, and draws every row."""

EXTENSION = next(
    (Path(__file__).parents[2] / "share/jupyter/labextensions/nbtool-chat/static").glob("remoteEntry.*.js")
)
"""The script by which JupyterLab draws saved turns."""

ADDRESS = "http://bare.localhost/"
SOURCES = "script-src 'self' blob:; style-src 'self' 'unsafe-inline'; img-src data: blob:; media-src blob:"
POLICY = f"default-src 'none'; {SOURCES}"
THEMES = {"light": "#fff; color: #111", "dark": "#111; color: #eee"}

SCRIPT = """
import widget from "./widget.js";
const modules = await (await fetch("modules.json")).json();
const toBytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const packed = modules.map(({ version, packed }) => ({ version, packed: toBytes(packed) }));
const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, thinking_tokens: 0, cost: null };
const empty = { v: 1, head: { turn_id: "t", model: "m", prompt: "", status: "running", round: 1, calls: 0,
  activity: "", usage, started: null, seconds: null, error: "" }, blocks: [] };
let count = 0;
window.canary = [];
for (const name of ["alert", "confirm", "prompt", "print", "open"]) window[name] = () => window.canary.push(name);
window.start = (document_ = empty, bytes = packed) => {
  const said = [], heard = new Set();
  const traits = { turn_id: `t${++count}`, nonce: "n", snapshot: document_, rich: bytes ?? [] };
  const model = { get: (name) => traits[name], send: (content) => said.push(content),
    on: (event, hear) => event === "msg:custom" && heard.add(hear), off: (event, hear) => heard.delete(hear) };
  const el = document.createElement("div");
  document.querySelector("main").append(el);
  const end = widget.initialize({ model, el });
  const unmount = widget.render({ model, el });
  let seq = 0;
  const tell = (message) => { for (const hear of heard) hear({ v: 1, ...message }, []); };
  return { el, said, tell, patches: (...patches) => tell({ kind: "patches", seq: ++seq, patches }),
    close: () => { unmount(); end(); el.remove(); } };
};
window.plain = (document_) => {
  const { module } = globalThis[key];
  globalThis[key].module = null;
  const view = window.start(document_, null);
  return { ...view, close: () => { view.close(); globalThis[key].module = module; } };
};
window.edit = async (document_) => {
  const view = window.start(document_);
  const button = (name) => [...view.el.querySelectorAll("button")].find((one) => one.textContent.startsWith(name));
  await window.frame();
  button("Show all")?.click();
  do await window.frame(); while (view.el.querySelector("[aria-busy=true]"));
  button("Edit")?.click();
  await window.frame();
  const field = view.el.querySelector("textarea");
  if (field) field.value += "1";
  field?.dispatchEvent(new Event("input", { bubbles: true }));
  return view;
};
window.saved = async (data) => {
  await (extension ??= extend("extension.js"));
  const view = window.turns.createRenderer();
  document.querySelector("main").append(view.node);
  await view.renderModel({ data, trusted: true });
  return { el: view.node, close: () => { view.dispose(); view.node.remove(); } };
};
class Widget {
  node = document.createElement("div");
  isDisposed = false;
  dispose() { this.isDisposed = true; }
}
let extension;
const extend = async (address) => {
  const script = document.createElement("script");
  script.src = address;
  const loaded = new Promise((done) => { script.onload = done; });
  document.head.append(script);
  await loaded;
  const container = globalThis._JUPYTERLAB["nbtool-chat"];
  const shares = (module) => ({ "1.0.0": { get: () => () => module } });
  container.init({ "@lumino/widgets": shares({ Widget, PanelLayout: class {} }), "@jupyterlab/notebook": shares({}),
    "@jupyterlab/rendermime": shares({ IRenderMimeRegistry: {} }) });
  const { default: plugins } = (await container.get("./extension"))();
  const [plugin] = [plugins].flat();
  const addFactory = (factory) => { window.turns ??= factory; };  // the first one draws turns
  const preferredMimeType = () => { throw new Error("The page refuses a turn that Python saved."); };
  plugin.activate({}, { addFactory, preferredMimeType }, null);
};
window.converse = async (told) => {
  const { default: conversation } = await import("./conversation.js");
  return window.ask(conversation, { nonce: "n", title: "Chat", place: "p", acts: [] },
    () => ({ kind: "conversation", conversation: told }));
};
window.map = async (snapshot) => {
  const { default: map } = await import("./map.js");
  const el = document.createElement("div");
  document.querySelector("main").append(el);
  const traits = { nonce: "n", place: "p", snapshot };
  const model = { get: (name) => traits[name], send() {}, on() {}, off() {} };
  const close = map.render({ model, el });
  return { el, close: () => { close(); el.remove(); } };
};
window.explore = async ({ index, details, totals, found = [], steps = [] }) => {
  const { default: explorer } = await import("./explorer.js");
  const view = await window.ask(explorer, { nonce: "n", title: "History", place: "p", acts: [] }, ({ kind, turn }) => ({
    hello: { kind: "index", index }, open: { kind: "turn", detail: details[turn] }, totals: { kind: "totals", totals },
    search: { kind: "found", found } })[kind]);
  for (const step of steps) {
    await window.frame();
    if (step.click) view.el.querySelector(step.click).click();
    else {
      const field = view.el.querySelector(step.fill);
      field.value = step.value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
  return view;
};
window.ask = async (widget, traits, answer) => {
  const heard = new Set();
  const tell = (message) => { for (const hear of heard) hear({ v: 1, ...message }, []); };
  const model = { get: (name) => traits[name], on: (event, hear) => event === "msg:custom" && heard.add(hear),
    off: (event, hear) => heard.delete(hear), send: (content) => queueMicrotask(() => {
      const told = answer(content);
      if (told) tell({ id: content.id, ...told });
    }) };
  const el = document.createElement("div");
  document.querySelector("main").append(el);
  const end = widget.render({ model, el });
  return { el, close: () => { end(); el.remove(); } };
};
window.frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
const first = window.start();
const key = Object.getOwnPropertySymbols(globalThis).find((one) => one.description?.startsWith("nbtool.rich."));
for (let i = 0; i < 200 && !globalThis[key]?.module; i++) await new Promise((done) => setTimeout(done, 25));
first.close();
document.documentElement.className = "ready";
"""


def open_bare(profile: BrowserContext, *, theme: str = "light") -> tuple[Page, list[str]]:
    """Open the page; gives it, and the addresses of all that it asks for after it was ready."""
    page = profile.new_page()
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.route("**/*", lambda route: _answer(route, theme))
    page.goto(ADDRESS)
    page.wait_for_selector("html.ready", timeout=60_000)
    asked: list[str] = []
    page.on("request", lambda request: None if request.url.startswith("blob:") else asked.append(request.url))
    return page, asked


def _answer(route: Route, theme: str) -> None:
    name = route.request.url.removeprefix(ADDRESS)
    modules = [load_lazy_module(name) for name in get_args(LazyName)]
    packed = json.dumps([{"version": m.version, "packed": base64.b64encode(m.gzipped).decode()} for m in modules])
    links = "".join(f'<link rel="stylesheet" href="{style}">' for style in STYLES)
    html = f"""<!doctype html><html lang="en" style="color-scheme: {theme}"><title>The view</title>
        {links}<body style="font-family: sans-serif; background: {THEMES[theme]}">
        <main></main><script type="module" src="page.js"></script></body></html>"""
    policy = POLICY.replace("default-src 'none'", "default-src 'none'; connect-src 'self'")
    bodies = {
        "": ("text/html", html),
        "page.js": ("text/javascript", SCRIPT),
        **{style: ("text/css", text) for style, text in STYLES.items()},
        **{f"{name}.js": ("text/javascript", text) for name, text in MODULES.items() if name not in get_args(LazyName)},
        "extension.js": ("text/javascript", EXTENSION.read_text(encoding="utf-8")),
        "modules.json": ("application/json", packed),
    }
    if name not in bodies:
        route.abort()
        return
    kind, body = bodies[name]
    route.fulfill(body=body, content_type=kind, headers={"Content-Security-Policy": policy})


def prose(text: str, block_id: str = "1", state: str = "whole") -> dict[str, Any]:
    """Give a block of prose."""
    return {"id": block_id, "kind": "text", "text": text, "refusal": False, "state": state, "more": {}}


def document(blocks: Sequence[dict[str, Any]], **head: Any) -> dict[str, Any]:
    """Give a turn's document, with what the kernel says of it in words."""
    usage = {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "thinking_tokens": 0, "cost": None}
    known = {"turn_id": "t", "model": "practice:default", "prompt": "", "status": "running", "round": 1, "calls": 0}
    rest = {"activity": "", "usage": usage, "started": None, "seconds": None, "error": ""}
    made: Any = {**known, **rest, **head}
    return {"v": 1, "head": {**made, **head_texts(made)}, "blocks": [_with_words(block) for block in blocks]}


def _with_words(block: Any) -> dict[str, Any]:
    """Give a block as the kernel makes it: a call with its line and its facts, a question with its words."""
    if block["kind"] != "call":
        return dict(block)
    decisions = [{**decision, "line": decision_line(decision)} for decision in block["decisions"]]
    made = {**block, "decisions": decisions}
    if question := block["question"]:
        words = {"ask": question_parts(question, block["arguments"], block["resolved"])}
        lines = argument_lines(question["shown"], block["resolved"]) if question["gate"] == "run" else []
        made["question"] = {**question, **words, "lines": lines}
    return {**made, **call_texts(made)}
