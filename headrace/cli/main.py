"""`headrace`: the umbrella over all commands."""

from __future__ import annotations

import rich_click as click

from headrace.cli.command import EntryPointGroup, run


@click.group(cls=EntryPointGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def headrace() -> None:
    """Route Kafka topics, land them in Iceberg tables, and replay them into the same application.

    To begin:

        headrace dev --demo    # runs all stages once and shows the counts
        headrace init plays    # creates a workspace with a README

    `headrace router`, `headrace lake-writer` and `headrace backfill` are also separate commands:
    `router`, `lake-writer`, `backfill`.

    Exit codes: 0 done; 1 failed, or a check found a problem; 2 wrong usage; 78 a mistake in a
    config file; 130 interrupted.
    """


def main() -> None:
    """Run `headrace` as a console script."""
    run(headrace, "headrace")


if __name__ == "__main__":
    main()
