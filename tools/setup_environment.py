"""Set up `.venv` from the lock file: the first thing that runs on a fresh machine.

Runs on any Python 3, so that an old one gets a sentence and not a SyntaxError.
Idempotent, safe to run twice at once, and to be interrupted: the stamp is written last.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "headrace-setup.sha256")
LOG = os.path.join(ROOT, ".headrace", "setup.log")
PYTHON = os.path.join(VENV, "bin", "python")
UV = os.path.join(VENV, "bin", "uv")
INPUTS = ("requirements/uv.txt", "requirements/build.txt", "requirements/lock.txt", "pyproject.toml")
MINIMUM_PYTHON = (3, 11)

STEPS = (
    (
        "installer",
        [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        + ["--require-hashes", "-r", "requirements/uv.txt"],
    ),
    (
        "packages (the first time PySpark is built, about half a minute)",
        [UV, "pip", "install", "-q", "--python", PYTHON, "--require-hashes"]
        + ["--build-constraints", "requirements/build.txt", "-r", "requirements/lock.txt"],
    ),
    (
        "headrace itself",
        [UV, "pip", "install", "-q", "--python", PYTHON, "--no-deps"]
        + ["--build-constraints", "requirements/build.txt", "--editable", "."],
    ),
    ("jars", [PYTHON, "-m", "headrace.cli.main", "jars", "fetch"]),
)


def main():
    """Bring `.venv` to what the lock file says, or say in one sentence why not."""
    if sys.version_info < MINIMUM_PYTHON:
        fail(
            "headrace needs Python 3.11 or newer, this is %d.%d." % sys.version_info[:2],
            "Install a newer one and say which: make PYTHON=python3.12 setup",
        )
    os.makedirs(os.path.dirname(LOG), exist_ok=True)
    with open(os.path.join(ROOT, ".venv.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = fingerprint()
        if read(STAMP) == wanted:
            return
        try:
            create_environment()
            with open(LOG, "w") as log:
                for title, command in STEPS:
                    print("setup: " + title, file=sys.stderr, flush=True)
                    run(title, command, log)
            with open(STAMP, "w") as stamp:
                stamp.write(wanted)
        except OSError as problem:
            fail("setup stopped: %s." % problem, advice_for(str(problem)))


def fingerprint():
    """Return what the environment depends on: the lock files, the Python, the place."""
    digest = hashlib.sha256((sys.version + sys.executable + ROOT).encode())
    for name in INPUTS:
        with open(os.path.join(ROOT, name), "rb") as source:
            digest.update(source.read())
    return digest.hexdigest()


def create_environment():
    """Create `.venv` anew where it is missing, half-made or of another Python."""
    probe = [PYTHON, "-c", "import sys, pip; print(sys.version)"]
    if os.path.exists(PYTHON):
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


def run(title, command, log):
    """Run one step with its output in the log; a failure is told by its cause."""
    step = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    output = step.stdout + step.stderr
    log.write("$ %s\n%s\n" % (" ".join(command), output))
    log.flush()
    if step.returncode != 0:
        tail = "\n".join("  | " + line for line in output.strip().splitlines()[-6:])
        fail("setup stopped at: %s\n%s" % (title, tail), advice_for(output))


def advice_for(output):
    """Return what to do about a failure, from what the tool printed."""
    text = output.lower()
    if "no space left" in text:
        return "The disk is full: free some space (3 GB are enough) and run the same command again."
    if "hash" in text and ("mismatch" in text or "do not match" in text):
        return "A download differs from the lock file: your package index serves something else."
    if any(word in text for word in ("resolve", "connect", "network", "timed out", "dns")):
        return (
            "The package index cannot be reached: check the network, or point pip and uv to"
            " a mirror (PIP_INDEX_URL, UV_DEFAULT_INDEX), then run the same command again."
        )
    return "The whole output is in " + os.path.relpath(LOG, ROOT)


def read(path):
    """Return a file's text, or nothing where it is not there."""
    try:
        with open(path) as source:
            return source.read()
    except FileNotFoundError:
        return ""


def fail(problem, advice):
    """Print one sentence and what to do, and stop with 1."""
    print("headrace: %s\n  → %s" % (problem, advice), file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nsetup: interrupted; run the same command to go on", file=sys.stderr)
        sys.exit(130)
