"""One target under libFuzzer, in a process that this ends: `python -m tests.fuzz.explore TARGET`."""

from __future__ import annotations

import sys
from pathlib import Path


def found_in(name: str) -> Path:
    """Return the folder of what was found on this machine for a target."""
    return Path(__file__).parents[2] / ".headrace" / "fuzz" / name


def explore() -> None:
    """Run libFuzzer with the arguments of this process; it never returns."""
    import atheris

    # Coverage is counted in what is imported from here on.
    with atheris.instrument_imports(include=["headrace", "router", "lake_writer"]):
        from headrace.records import codegen

        plain = codegen.function
        codegen.function = lambda *given: atheris.instrument_func(plain(*given))
        from tests.fuzz.registry import TARGETS
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, TARGETS[name].run)
    atheris.Fuzz()


if __name__ == "__main__":
    explore()
