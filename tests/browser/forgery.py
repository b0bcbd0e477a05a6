"""Forged outputs of a saved notebook: texts and structures that a careless page would run, fetch or fail on.

All of it is made from a seed, so that each seed gives a campaign texts of its own, and the same ones again.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nbtool.blocks.render.mimebundle import TURN_MIME, turn_mimebundle

TESTS = Path(__file__).parents[2] / "js" / "tests"
HISTORY_MIME = "application/vnd.nbtool.history+json"
CONVERSATION_MIME = "application/vnd.nbtool.conversation+json"
HOST = "canary.invalid"
OWN_PATH = "canary-of-this-server"

TAGS = (
    "img", "svg", "script", "iframe", "object", "embed", "video", "audio", "body", "details", "marquee", "math",
    "style", "link", "base", "form", "input", "button", "template", "a", "area", "x-y", "textarea", "noscript",
    "foreignObject",
)  # fmt: skip
EVENTS = (
    "onerror", "onload", "onclick", "ontoggle", "onfocus", "onmouseover", "onanimationstart", "onpointerenter",
    "onbegin", "onpageshow", "onscroll", "oncontentvisibilityautostatechange", "ONERROR", "on\terror",
)  # fmt: skip
SOURCES = ("src", "href", "xlink:href", "srcset", "data", "action", "formaction", "poster", "background", "style")
WRAPPERS = (
    "{}", "**{}**", "> {}", "- {}", "| {} |\n|---|\n| {} |", "```html\n{}\n```", "`{}`", "$${}$$", "${}$", "[{}](x)",
    "![{}](x)", "# {}", "~~{}~~", "[x]: {}\n\n[x]", "<div>\n\n{}\n\n</div>", "<!-- {} -->", "</section>{}",
    "\x1b[31m{}",
)  # fmt: skip
KEYS = (
    "dangerouslySetInnerHTML", "__proto__", "constructor", "props", "type", "ref", "key", "toString", "innerHTML",
    "onclick", "style", "class", "acts", "question", "nodeType", "__html", "then", "length", "$$typeof",
)  # fmt: skip
MIMES = ("image/svg+xml", "text/html", "image/png", "audio/wav", "application/pdf", "text/javascript", "video/mp4")

Make = Callable[[random.Random, int], str]


def script(number: int) -> str:
    """Give what a script says that runs: its number is told to the page."""
    return f"canary({number})"


def payload(generator: random.Random, number: int) -> str:
    """Make a text that runs a script or fetches something where it is taken for markup."""
    made = generator.choice((_element, _element, _address, _style, _nested))(generator, number)
    wrapper = generator.choice(WRAPPERS)
    return _encode(generator, wrapper.replace("{}", made))


def _element(generator: random.Random, number: int) -> str:
    tag, event, source = generator.choice(TAGS), generator.choice(EVENTS), generator.choice(SOURCES)
    quote = generator.choice(('"', "'", "", "`"))
    address = generator.choice(_addresses(number))
    attributes = [f"{event}={quote}{script(number)}{quote}", f"{source}={quote}{address}{quote}"]
    attributes += generator.sample(["autofocus", "tabindex=0", "open", "srcdoc='<script>parent.canary(0)</script>'"], 2)
    generator.shuffle(attributes)
    gap = generator.choice((" ", "/", "\n", "\t", "\x0c"))
    return f"<{tag}{gap}{gap.join(attributes)}>{script(number)}{generator.choice(('', f'</{tag}>'))}"


def _address(generator: random.Random, number: int) -> str:
    address = generator.choice(_addresses(number))
    return generator.choice(("[x]({})", "![x]({})", "<{}>", "[![x]({})]({})", "[x]: {}\n![x]", "{}")).replace(
        "{}", address
    )


def _addresses(number: int) -> tuple[str, ...]:
    return (
        f"https://{HOST}/{number}", f"//{HOST}/{number}", f"javascript:{script(number)}",
        f"JaVa\tScRiPt:{script(number)}",
        f"data:text/html,<script>parent.{script(number)}</script>", f"blob:https://{HOST}/{number}",
        f"file:///etc/{number}", f"http://{HOST}/{number} 1x", f"vbscript:{script(number)}", f"/{OWN_PATH}/{number}",
    )  # fmt: skip


def _style(generator: random.Random, number: int) -> str:
    rule = generator.choice(
        ("@import '{}'", "*{{background:url({})}}", "*{{content:url({})}}", "@font-face{{src:url({})}}")
    )
    text = rule.format(f"https://{HOST}/{number}")
    return generator.choice(("<style>{}</style>", '<p style="{}">x</p>', "\\html{{{}}}", "\\href{{{}}}{{x}}")).format(
        text
    )


def _nested(generator: random.Random, number: int) -> str:
    return "".join(_element(generator, number) for _ in range(generator.randint(2, 4)))


def _encode(generator: random.Random, text: str) -> str:
    match generator.randrange(6):
        case 0:
            return "".join(f"&#{ord(one)};" if one in "<>\"'" else one for one in text)
        case 1:
            return text.replace("<", "\uff1c<").replace(">", ">\u202e")
        case 2:
            return text.replace("script", "scr\x00ipt").replace("on", "o\u00adn")
        case _:
            return text


def forged_bundles(seed: int, count: int) -> list[dict[str, Any]]:
    """Make outputs of cells: turns, conversations and histories, each forged in a way of its own."""
    generator = random.Random(seed)
    return [_bundle(generator, seed * 10_000 + number) for number in range(count)]


def _bundle(generator: random.Random, number: int) -> dict[str, Any]:
    mime = generator.choices((TURN_MIME, HISTORY_MIME, CONVERSATION_MIME), weights=(6, 1, 1))[0]
    data = copy.deepcopy(_samples()[mime])
    texts: Iterator[str] = iter(lambda: payload(generator, number), None)  # type: ignore[arg-type]  # it never ends
    _fill(data, generator, texts)
    for _ in range(generator.choice((0, 0, 0, 1, 1, 2, 4))):
        _mutate(data, generator, next(texts))
    return {mime: data, "text/html": "<em>twin</em>", "text/plain": "twin"}


def _samples() -> dict[str, Any]:
    """Give data as nbtool saves them."""
    recorded = json.loads((TESTS / "recorded" / "finished.json").read_text(encoding="utf-8"))["document"]
    history = json.loads((TESTS / "explorer" / "saved.json").read_text(encoding="utf-8"))
    history = {**history, "turns": history["turns"][:3]}
    conversation = {"v": 1, "title": "Conversation", "left_out": 1, "turns": history["turns"][:2]}
    return {
        TURN_MIME: turn_mimebundle(recorded)[TURN_MIME],
        HISTORY_MIME: history,
        CONVERSATION_MIME: conversation,
    }


FREE = {
    "model", "error", "text", "name", "arguments", "progress", "result", "reason", "shown", "by", "reference", "prompt",
    "said", "title", "made", "replayed", "label", "summary", "whole", "why",
}  # fmt: skip


def _fill(value: Any, generator: random.Random, texts: Iterator[str]) -> None:
    """Put payloads into most texts that are free, and into a picture."""
    if isinstance(value, list):
        for one in value:
            _fill(one, generator, texts)
    if not isinstance(value, dict):
        return
    for key, one in value.items():
        if key in FREE and isinstance(one, str) and one and generator.random() < 0.7:
            value[key] = next(texts)[:290]
        else:
            _fill(one, generator, texts)
    if value.get("kind") == "call" and generator.random() < 0.3:
        value["media"] = [{"key": "0" * 32, "mime": generator.choice(MIMES), "name": next(texts)[:290], "size": 9,
                           "data": generator.choice(("PHN2Zy8+", "AAAA", "PHNjcmlwdD4="))}]  # fmt: skip


def _mutate(data: Any, generator: random.Random, text: str) -> None:
    """Replace, add or remove one part of the data, wherever it is."""
    parents = [one for one in _containers(data) if one]
    parent = generator.choice(parents)
    key = generator.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
    node: dict[str, Any] = {
        "type": "script",
        "props": {"children": text},
        "key": None,
        "ref": None,
        "constructor": None,
    }
    match generator.randrange(5):
        case 0:
            parent[key] = generator.choice(
                (node, {"__html": text}, [text], None, -1, 1e308, True, {"toString": text}, "")
            )
        case 1 if isinstance(parent, dict):
            del parent[key]
        case 2:
            parent[key] = text + "x" * generator.choice((0, 400, 5_000, 310_000))
        case _:
            target = next(one for one in generator.sample(parents, len(parents)) if isinstance(one, dict))
            target[generator.choice(KEYS)] = generator.choice((text, node, {"__html": text}, [text] * 3))


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for one in value.values() if isinstance(value, dict) else value:
            yield from _containers(one)
