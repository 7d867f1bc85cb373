"""What docs/deploy.md shows is what the tools that read it take."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"


def shown(language: str) -> str:
    """Return the one block of the page in a language."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "headrace.service"
    command = tmp_path / "headrace"
    command.touch(0o755)
    # It looks whether the command and the page are there.
    text = shown("ini").replace("/opt/headrace/.venv/bin/headrace", str(command))
    unit.write_text(text.replace("/opt/headrace/docs/deploy.md", str(PAGE)), encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_only_the_command_is_asked_to_end() -> None:
    """The JVM would else end under a batch that headrace is about to finish."""
    assert "\nKillMode=mixed\n" in shown("ini")


def test_the_deployment_is_yaml() -> None:
    (made,) = YAML(typ="safe").load_all(shown("yaml"))
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounted = {one["name"] for one in container["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["volumes"]}
    assert container["command"][0].endswith("/headrace")
