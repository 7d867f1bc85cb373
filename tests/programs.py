"""Programs of the system that some tests run; where one is missing, its tests say so and are left out."""

from __future__ import annotations

import os
import shutil
from typing import Final

import pytest

# Set where everything is installed (.ci/run): there a missing program is a failure.
NOTHING_LEFT_OUT: Final = "HEADRACE_TESTS_LEAVE_NOTHING_OUT"


def program(name: str, package: str) -> str:
    """Return the path of a program, or leave this test out."""
    path = shutil.which(name)
    if path is not None:
        return path
    missing = f"there is no {name} on the PATH (Debian: apt-get install {package})"
    if os.environ.get(NOTHING_LEFT_OUT):
        pytest.fail(missing)
    pytest.skip(missing)
