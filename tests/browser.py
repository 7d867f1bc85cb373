"""A browser for tests of the pages: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
# CI sets it: there, a test of the pages that is left out is a failure.
NEEDED: Final = "HEADRACE_TESTS_NEED_BROWSER"
# It is to speak to the test's server and to nobody else.
OPTIONS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """Return where the browser is; without one, the test is skipped, or fails where CI needs it."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        why = "there is no Chromium: apt-get install chromium"
        if os.environ.get(NEEDED):
            pytest.fail(why)
        pytest.skip(why)
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    path = chromium()
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        try:
            yield found
        finally:
            found.close()
