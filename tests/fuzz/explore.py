"""One target under libFuzzer, in a process that this ends: `python -m tests.fuzz.explore TARGET`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def found_in(name: str) -> Path:
    """Return the folder of what was found on this machine for a target."""
    return Path(__file__).parents[2] / ".headrace" / "fuzz" / name


def explore() -> None:
    """Run libFuzzer with the arguments of this process; it never returns."""
    import atheris

    # Coverage is counted in what is imported from here on.
    with atheris.instrument_imports(include=["headrace", "router", "lake_writer"]):
        from headrace.records import codegen

        plain, importing = codegen.function, True

        def instrumented(*given: Any) -> Any:  # noqa: ANN401 - as the function in its place
            made = plain(*given)
            # What is made of an input is new each time: its coverage would say nothing.
            return atheris.instrument_func(made) if importing else made

        codegen.function = instrumented  # type: ignore[assignment]  # it passes all on
        from tests.fuzz.registry import TARGETS

        importing = False
    target = TARGETS[sys.argv.pop(1)]
    # What is imported for the first of all inputs takes longer than any may.
    for value in target.inputs():
        target.run(value)
    atheris.Setup(sys.argv, target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    explore()
