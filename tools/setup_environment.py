"""Set up `.venv` from the lock file: the first thing that runs on a fresh machine.

Runs on any Python from 3.7, so that an old one gets a sentence and not a SyntaxError.
Idempotent, safe to run twice at once, and to be interrupted: the stamp is written last.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import NoReturn, TextIO

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
STAMP = VENV / "headrace-setup.sha256"
LOG = ROOT / ".headrace" / "setup.log"
PYTHON = VENV / "bin" / "python"
UV = VENV / "bin" / "uv"
INPUTS = (
    "requirements/uv.txt",
    "requirements/build.txt",
    "requirements/lock.txt",
    "pyproject.toml",
)
MINIMUM_PYTHON = (3, 11)
# Our own commands say what to do by themselves.
OUR_ADVICE = "\n  → "

PIP_INSTALL = [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
UV_INSTALL = [UV, "pip", "install", "-q", "--compile-bytecode", "--python", PYTHON]
UV_INSTALL += ["--build-constraints", "requirements/build.txt"]
PACKAGES = ["headrace", "router", "lake_writer", "backfill", "stream_app", "fleet"]

STEPS = (
    (
        "installer",
        [*PIP_INSTALL, "--require-hashes", "-r", "requirements/uv.txt"],
    ),
    (
        "packages (the first time PySpark is built, about half a minute)",
        [*UV_INSTALL, "--require-hashes", "-r", "requirements/lock.txt"],
    ),
    ("headrace itself", [*UV_INSTALL, "--no-deps", "--editable", "."]),
    # Compiled ahead, so that the first `--help` is as quick as the second.
    ("a quick start of the commands", [PYTHON, "-m", "compileall", "-q", *PACKAGES]),
    ("jars", [PYTHON, "-m", "headrace.cli.main", "jars", "fetch"]),
)


def main() -> None:
    """Bring `.venv` to what the lock file says, or say in one sentence why not."""
    if sys.version_info < MINIMUM_PYTHON:
        fail(
            f"headrace needs Python 3.11 or newer, this is {sys.version.split()[0]}.",
            "Install a newer one and say which: make PYTHON=python3.12 setup",
        )
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = fingerprint()
        if read(STAMP) == wanted:
            return
        check_java()
        try:
            LOG.parent.mkdir(exist_ok=True)
            create_environment()
            with LOG.open("w") as log:
                for title, command in STEPS:
                    print(f"setup: {title}", file=sys.stderr, flush=True)
                    run(title, command, log)
            STAMP.write_text(wanted)
        except OSError as problem:
            fail(f"setup stopped: {problem}.", advice_for(str(problem)))


def check_java() -> None:
    """Say that Java is missing before minutes are spent on all the rest."""
    sys.path.insert(0, str(ROOT))
    from headrace.errors import HeadraceError  # noqa: PLC0415 - not before Python is new enough
    from headrace.jars.java import java  # noqa: PLC0415 - as above

    try:
        java()
    except HeadraceError as problem:
        fail(f"{problem.message}.", problem.advice)


def fingerprint() -> str:
    """Return what the environment depends on: the lock files, the Python, the place."""
    digest = hashlib.sha256(f"{sys.version} {sys.executable} {ROOT}".encode())
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def create_environment() -> None:
    """Create `.venv` anew where it is missing, half-made or of another Python."""
    probe = [str(PYTHON), "-c", "import sys, pip; print(sys.version)"]
    if PYTHON.exists():
        found = subprocess.run(probe, capture_output=True, text=True, check=False)
        if found.stdout.strip() == sys.version.strip():
            return
    shutil.rmtree(VENV, ignore_errors=True)
    try:
        venv.create(VENV, with_pip=True)
    except subprocess.CalledProcessError:
        shutil.rmtree(VENV, ignore_errors=True)
        fail(
            "Python could not make a virtual environment with pip.",
            "On Debian and Ubuntu: apt-get install python3-venv",
        )


def run(title: str, command: "list[object]", log: TextIO) -> None:
    """Run one step with its output in the log; a failure is told by its cause."""
    words = [str(word) for word in command]
    step = subprocess.run(words, cwd=str(ROOT), capture_output=True, text=True, check=False)
    output = step.stdout + step.stderr
    log.write(f"$ {' '.join(words)}\n{output}\n")
    log.flush()
    if step.returncode != 0 and OUR_ADVICE in output:
        sys.exit(output[output.find("error: ") :].rstrip())
    if step.returncode != 0:
        tail = "\n".join("  | " + line for line in output.strip().splitlines()[-6:])
        fail(f"setup stopped at: {title}\n{tail}", advice_for(output))


def advice_for(output: str) -> str:
    """Return what to do about a failure, from what the tool printed."""
    text = output.lower()
    if "no space left" in text:
        return "The disk is full: free some space (3 GB are enough) and run the same command again."
    if "hash" in text and ("mismatch" in text or "do not match" in text):
        return "A download differs from the lock file: your package index serves something else."
    if any(
        word in text
        for word in ("resolve", "connect", "network", "timed out", "dns", "name resolution")
    ):
        return (
            "The package index cannot be reached: check the network, or point pip and uv to"
            " a mirror (PIP_INDEX_URL, UV_DEFAULT_INDEX), then run the same command again."
        )
    return f"The whole output is in {LOG.relative_to(ROOT)}"


def read(path: Path) -> str:
    """Return a file's text, or nothing where it is not there."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def fail(problem: str, advice: str) -> NoReturn:
    """Print one sentence and what to do, and stop with 1."""
    print(f"headrace: {problem}\n  → {advice}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nsetup: interrupted; run the same command to go on", file=sys.stderr)
        sys.exit(130)
