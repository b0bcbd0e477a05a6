"""Every state of a turn, light and dark, at twice the size, in few colours, in a high contrast: what axe-core finds."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.axe import find_violations
from tests.browser.bare import open_bare
from tests.browser.states import show, states

OUTSIDE = """() => [...document.querySelectorAll("main button, main input, main select, main summary, main img")]
  .filter((one) => one.checkVisibility())
  .filter((one) => { const box = one.getBoundingClientRect(); return box.left < 0 || box.right > window.innerWidth; })
  .map((one) => one.outerHTML.slice(0, 100))"""
MOVING = "() => document.getAnimations().filter((one) => one.playState === 'running').length"


def settings(profile: BrowserContext, page: Page, how: str) -> None:
    if how == "forced":
        page.emulate_media(forced_colors="active")
    elif how == "contrast":
        page.emulate_media(contrast="more", reduced_motion="reduce")
    elif how == "zoomed":  # what a browser does at 200 %: half as many pixels of its own, each twice as large
        metrics = {"width": 640, "height": 450, "deviceScaleFactor": 2, "mobile": False}
        profile.new_cdp_session(page).send("Emulation.setDeviceMetricsOverride", metrics)


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("theme", "how"),
    [("light", ""), ("dark", ""), ("light", "forced"), ("dark", "forced"), ("dark", "contrast"), ("light", "zoomed")],
)
def test_no_state_keeps_anybody_out(profile: BrowserContext, theme: str, how: str) -> None:
    page, asked = open_bare(profile, theme=theme)
    settings(profile, page, how)
    serious: dict[str, object] = {}
    outside: dict[str, object] = {}
    moving = 0

    for name, state in states().items():
        show(page, state)
        serious |= {name: found} if (found := find_violations(page, "main")) else {}
        outside |= {name: beyond} if (beyond := page.evaluate(OUTSIDE)) else {}
        moving += page.evaluate(MOVING)

    assert serious == {}
    assert outside == {}
    assert page.evaluate("window.devicePixelRatio") == (2 if how == "zoomed" else 1)
    assert (moving > 0) == (how != "contrast")
    assert asked == []
    page.close()


@pytest.mark.nightly
def test_a_call_that_is_open_shows_its_result_once(profile: BrowserContext) -> None:
    page, _ = open_bare(profile)

    show(page, states()["opened"])
    result = page.locator(".nb-result")
    expect(result).to_be_hidden()
    page.locator(".nb-call > summary").click()

    expect(result).to_be_visible()
    page.close()


@pytest.mark.nightly
def test_an_image_of_another_kind_than_it_says_is_reported_and_fetches_nothing(profile: BrowserContext) -> None:
    page, asked = open_bare(profile)
    actual = states()["media"]
    document = {**actual.document, "blocks": [dict(block) for block in actual.document["blocks"]]}
    svg = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiLz4="
    (first, *_) = document["blocks"][0]["media"]
    document["blocks"][0]["media"] = [
        {**first, "data": svg},
        {**first, "key": "0" * 32, "mime": "image/svg+xml", "data": svg},
        {**first, "key": "1" * 32, "data": "no base64"},
    ]

    page.evaluate("(document) => { window.view = window.start(document); }", document)
    page.wait_for_function("() => document.body.innerText.split('cannot be shown here').length === 3")

    assert page.locator(".nb-block-item .nb-media img").count() == 0
    assert page.evaluate("window.canary") == []
    assert asked == []
    page.close()
