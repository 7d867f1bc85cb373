"""A browser for tests of the pages: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tests.programs import program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

# It is to speak to the test's server and to nobody else.
OPTIONS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    path = program("chromium", "chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        try:
            yield found
        finally:
            found.close()
