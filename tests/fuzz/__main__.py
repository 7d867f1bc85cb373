"""`python -m tests.fuzz`: looks for inputs that break a promise, guided by coverage."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from tests.fuzz.explore import found_in
from tests.fuzz.keep import keep as keep_found
from tests.fuzz.registry import TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence

# An input that takes longer is a finding, too.
SLOWEST_S: Final = 20
MOST_BYTES: Final = 4096


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz each target for a while; 1 where one of them broke a promise."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", choices=[*TARGETS, []], help="all, if none is named")
    parser.add_argument("--seconds", type=int, default=60, help="for each target [60]")
    parser.add_argument(
        "--keep", action="store_true", help="add what covers more to tests/fuzz/corpus afterwards"
    )
    given = parser.parse_args(arguments)
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: run this as `make fuzz`, which installs it")
        return 2
    broken = [name for name in given.target or TARGETS if not fuzz(name, given.seconds, given.keep)]
    if broken:
        print(f"broken: {', '.join(broken)}; the input is the file that is named above")
    return 1 if broken else 0


def fuzz(name: str, seconds: int, keep: bool) -> bool:
    """Fuzz one target in a process of its own, which libFuzzer ends; whether all was well."""
    found, corpus = found_in(name), TARGETS[name].corpus
    found.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds):
        (found / f"seed-{number}").write_bytes(seed)
    corpus.mkdir(parents=True, exist_ok=True)
    limits = [f"-timeout={SLOWEST_S}", f"-max_len={MOST_BYTES}", f"-artifact_prefix={found}/../"]
    explore = [sys.executable, "-m", "tests.fuzz.explore", name, *limits]
    well = subprocess.run(
        [*explore, f"-max_total_time={seconds}", found, corpus], check=False
    ).returncode
    if keep and well == 0:
        for file in keep_found(TARGETS[name], found):
            print(f"kept: {file}")
    return well == 0


if __name__ == "__main__":
    sys.exit(main())
