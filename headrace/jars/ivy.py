"""Downloading jars by coordinates with the Ivy that pyspark ships."""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from headrace.errors import Terminal, Transient
from headrace.jars.java import java

if TYPE_CHECKING:
    from collections.abc import Iterable

SETTINGS_VARIABLE = "HEADRACE_IVY_SETTINGS"
PATTERN = "[artifact]-[revision].[ext]"


def module(dependencies: Iterable[str], rules: str = "") -> str:
    """Return an Ivy module file around dependency elements."""
    return (
        '<ivy-module version="2.0"><info organisation="headrace" module="jars"/><dependencies>'
        + "".join(dependencies)
        + rules
        + "</dependencies></ivy-module>"
    )


def dependency(
    group: str, artifact: str, version: str, extension: str = "jar", *, transitive: bool
) -> str:
    """Return one dependency element."""
    named = quoteattr(artifact)
    kind = quoteattr(extension)
    file = "" if extension == "jar" else f"<artifact name={named} type={kind} ext={kind}/>"
    return (
        f"<dependency org={quoteattr(group)} name={named} rev={quoteattr(version)}"
        f' conf="default->default(runtime)" transitive="{str(transitive).lower()}">{file}'
        "</dependency>"
    )


def retrieve(module_xml: str, target: Path, pattern: str = PATTERN) -> None:
    """Resolve a module and put its jars into `target`; say plainly why that fails."""
    target.mkdir(parents=True, exist_ok=True)
    module_file = target / "ivy.xml"
    module_file.write_text(module_xml, encoding="utf-8")
    command = [java(), "-Xmx256m", "-jar", str(bundled_ivy()), "-ivy", str(module_file)]
    command += ["-confs", "default", "-types", "jar", "bundle", "zip"]
    command += ["-cache", str(target / "ivy-cache"), "-retrieve", str(target / pattern)]
    settings = os.environ.get(SETTINGS_VARIABLE)
    if settings:
        if not Path(settings).is_file():
            raise Terminal(
                f"{SETTINGS_VARIABLE} names {settings}, but there is no such file",
                "set it to the path of an Ivy settings file, or unset it to use the public "
                "repository",
            )
        command += ["-settings", settings]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    output = finished.stdout + finished.stderr
    if finished.returncode != 0 or "UNRESOLVED DEPENDENCIES" in output:
        raise _failure(output)


def _failure(output: str) -> Terminal | Transient:
    if "No space left" in output:
        return Terminal(
            "the jars do not fit on the disk", "free 500 MB and run the same command again"
        )
    if "FAILED DOWNLOADS" in output or "download failed" in output.lower():
        return Transient("a download of jars was interrupted", "run the same command again")
    missing = sorted(
        {
            line.split("module not found:")[1].strip()
            for line in output.splitlines()
            if "module not found:" in line
        }
    )
    named = f" ({', '.join(missing[:3])}{', …' if len(missing) > 3 else ''})" if missing else ""
    return Transient(
        f"the repository of jars cannot be reached, or does not have them{named}",
        "check the network; for a company mirror write an Ivy settings file and set"
        f" {SETTINGS_VARIABLE} to its path",
    )


def bundled_ivy() -> Path:
    """Return the Ivy jar inside pyspark, found without importing pyspark."""
    spec = find_spec("pyspark")
    folder = Path(spec.origin).parent / "jars" if spec is not None and spec.origin else Path()
    found = sorted(folder.glob("ivy-*.jar"))
    if not found:
        raise Terminal("pyspark is not installed here, or its Ivy jar is missing", "make setup")
    return found[0]
