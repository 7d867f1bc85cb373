"""The Python environment as an archive."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Terminal
from headrace.jvm import environment

if TYPE_CHECKING:
    from pathlib import Path

SMALL = ["structlog", "headrace"]
SCRIPT = "import structlog, router, headrace.jvm.python_workers as ours; print(ours.__file__)"


def test_what_headrace_requires() -> None:
    found = environment.required("headrace")
    # Also what an extra of a requirement asks for, and nothing that only tests need.
    assert {"headrace", "pyspark", "py4j", "pyarrow", "sqlalchemy"} <= set(found)
    assert not {"pytest", "mypy", "moto"} & set(found)
    assert {"pytest", "mypy"} <= set(environment.installed())


@pytest.fixture
def unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small environment, where it is used."""
    monkeypatch.setattr(environment, "required", lambda _: SMALL)
    archive = tmp_path / "environment.tar.gz"
    packed = environment.pack(archive, minimal=True)
    assert (packed.distributions, packed.bytes) == (2, archive.stat().st_size)
    with tarfile.open(archive) as held:
        assert packed.files == len(held.getmembers())
        held.extractall(tmp_path / "un packed", filter="data")
    return tmp_path / "un packed"


def test_it_runs_where_it_is_unpacked(unpacked: Path, tmp_path: Path) -> None:
    link = tmp_path / "environment"
    link.symlink_to(unpacked)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": "/spark/pyspark.zip"}
    said = subprocess.check_output(
        ["./environment/bin/python", "-c", SCRIPT], cwd=tmp_path, env=environment, text=True
    )
    module = "site-packages/headrace/jvm/python_workers.py"
    assert said.strip().endswith(module)
    assert str(tmp_path) in said


def test_a_machine_without_that_python_says_so(unpacked: Path) -> None:
    launcher = unpacked / "bin" / "python"
    text = launcher.read_text().replace(sys.base_prefix, "/not/here")
    launcher.write_text(text)
    tools = unpacked / "tools"
    tools.mkdir()
    for name in ("dirname", "sh"):
        (tools / name).symlink_to(f"/bin/{name}")
    done = subprocess.run(
        ["/bin/sh", str(launcher)],
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert done.returncode == 127
    assert f"this machine has no python{version}" in done.stderr


def test_a_package_that_is_a_link_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "installed", lambda: ["structlog"])
    monkeypatch.setattr(environment, "_is_editable", lambda _: True)
    with pytest.raises(Terminal, match="structlog is installed as a link to its source"):
        environment.pack(tmp_path / "environment.tar.gz", minimal=False)
    assert list(tmp_path.iterdir()) == []
