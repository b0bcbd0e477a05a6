from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from tests.browser.bare import open_bare
from tests.browser.chromium import find_chromium
from tests.browser.lab import Lab, screenshot
from tests.browser.server import KERNELS, Server
from tests.browser.shared_page import SharedPage

HERE = Path(__file__).parent
TEST_SECONDS = 180
EXPECT_SECONDS = 20
"""How long a page may take to show what is expected of it; JupyterLab loads MathJax in seconds on a busy machine."""
QUIET_CHROMIUM = [
    "--no-sandbox",  # root may not have one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]


expect.set_options(timeout=EXPECT_SECONDS * 1000)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what is no journey to the nightly lane."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))
            if not item.get_closest_marker("journey"):
                item.add_marker(pytest.mark.nightly)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("jupyter"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def open_profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], BrowserContext]]:
    """Give what starts a browser with a profile of its own, on the disk; all are closed in the end."""
    path = find_chromium()
    if path is None:
        pytest.fail("There is no Chromium: `make install-chromium` says what to do.", pytrace=False)
    opened: list[BrowserContext] = []
    with sync_playwright() as playwright:

        def start(name: str) -> BrowserContext:
            profile = playwright.chromium.launch_persistent_context(
                tmp_path_factory.mktemp(name),
                executable_path=path,
                args=QUIET_CHROMIUM,
                viewport={"width": 1200, "height": 900},
            )
            opened.append(profile)
            return profile

        yield start
        for profile in opened:
            profile.close()


@pytest.fixture(scope="session")
def profile(open_profile: Callable[[str], BrowserContext]) -> BrowserContext:
    """Give one browser profile for all tests: JupyterLab's scripts are fetched and compiled once."""
    return open_profile("profile")


@pytest.fixture(scope="session")
def shared_page(profile: BrowserContext, server: Server) -> SharedPage:
    """Give the page of JupyterLab that is left open for the next test."""
    return SharedPage(profile, server)


@pytest.fixture
def lab(
    profile: BrowserContext, server: Server, shared_page: SharedPage, request: pytest.FixtureRequest
) -> Iterator[Lab]:
    """Give JupyterLab with no notebook open; afterwards none is open, no kernel runs and no setting is left."""
    lab = Lab(profile, server, shared_page)
    if request.node.get_closest_marker("new_page"):
        lab.use_new_pages()
    yield lab
    has_failed = request.node.stash.get(FAILED, False)
    for number, page in enumerate(profile.pages):
        if has_failed:
            screenshot(page, f"failed-{request.node.name}-{number}")
        if not shared_page.is_page(page):
            page.close()
    lab.close_notebooks(can_keep_page=not has_failed)
    server.shut_down_kernels()
    server.forget_settings()


@pytest.fixture
def bare(profile: BrowserContext) -> Iterator[Page]:
    """Give a page that is no notebook, with the view and nothing else."""
    page, _ = open_bare(profile)
    yield page
    page.close()


@pytest.fixture(params=["python3", "ipykernel6"])
def kernel(request: pytest.FixtureRequest) -> str:
    """Give the name of a kernel: the newest ipykernel, and the 6.x line."""
    name = str(request.param)
    if name != "python3" and not (KERNELS / "kernels" / name).exists():
        pytest.fail(f"There is no kernel {name}: `make browser` installs it.", pytrace=False)
    return name


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report
