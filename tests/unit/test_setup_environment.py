"""What the set-up says when it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import setup_environment

ROOT = Path(setup_environment.__file__).parents[1]


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("error: No space left on device (os error 28)", "The disk is full"),
        ("[Errno 28] No space left on device", "The disk is full"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "differs from the"),
        ("Hash mismatch for `x`", "differs from the lock file"),
        ("error: Failed to fetch: Could not connect, are you offline?", "cannot be reached"),
        ("ReadTimeoutError: Read timed out.", "cannot be reached"),
        ("gcc: fatal error", "The whole output is in .headrace/setup.log"),
    ],
)
def test_the_advice_fits_the_failure(output: str, advice: str) -> None:
    assert advice in setup_environment.advice_for(output)


def test_a_failing_step_ends_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "import sys; print('line'); sys.exit('Could not connect')"
    with (tmp_path / "log").open("w") as log, pytest.raises(SystemExit) as ended:
        setup_environment.run("packages", [sys.executable, "-c", script], log)
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("headrace: setup stopped at: packages\n  | line\n  | Could not connect")
    assert "→ The package index cannot be reached" in said
    assert "Could not connect" in (tmp_path / "log").read_text()


def test_the_fingerprint_follows_the_lock_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in setup_environment.INPUTS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(setup_environment, "ROOT", tmp_path)
    before = setup_environment.fingerprint()
    assert setup_environment.fingerprint() == before
    with (tmp_path / setup_environment.INPUTS[2]).open("a") as lock:
        lock.write("\n")
    assert setup_environment.fingerprint() != before


def test_an_old_python_gets_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup_environment, "MINIMUM_PYTHON", (99, 0))
    with pytest.raises(SystemExit):
        setup_environment.main()
    assert "make PYTHON=python3.12 setup" in capsys.readouterr().err


def test_an_old_python_can_at_least_read_it() -> None:
    source = (ROOT / "tools" / "setup_environment.py").read_text()
    script = "import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 7))"
    subprocess.run([sys.executable, "-c", script], input=source, text=True, check=True, timeout=60)
