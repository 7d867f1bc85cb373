"""Finding a Java that Spark and Kafka run on."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from headrace.errors import Terminal

MINIMUM = 17
HINT = (
    "install Java 17 or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless;"
    " macOS: brew install openjdk@17) or point JAVA_HOME to one"
)


def java() -> str:
    """Return the path of a `java` that is new enough, or say what is wrong with what is there."""
    return java_and_banner()[0]


@functools.cache
def java_and_banner() -> tuple[str, str]:
    """Return the path of a `java` that is new enough, and what it says of itself."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None:
        raise Terminal("no Java was found on this machine", HINT)
    try:
        asked = subprocess.run([found, "-version"], capture_output=True, check=False)
    except OSError:
        where = f"JAVA_HOME is {home}, but there is" if home else "there is"
        raise Terminal(f"{where} no java that can be started at {found}", HINT) from None
    banner = (asked.stderr + asked.stdout).decode(errors="replace")
    version = major_version(banner)
    if version is None:
        raise Terminal(f"{found} does not print which Java version it is", HINT)
    if version < MINIMUM:
        raise Terminal(f"headrace needs Java {MINIMUM} or newer; {found} is Java {version}", HINT)
    return found, banner


def major_version(banner: str) -> int | None:
    """Read the major version out of what `java -version` prints."""
    match = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(match.group(1)) if match else None
