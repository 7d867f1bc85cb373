"""`headrace`: the umbrella over all commands."""

from __future__ import annotations

import rich_click as click

from headrace.cli.command import EntryPointGroup, run


@click.group(cls=EntryPointGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def headrace() -> None:
    """Route event streams, land them in the lake, replay them into the same application.

    A first look:

        headrace dev --demo    # everything once, with counts
        headrace init plays    # a workspace of your own, with a README

    The stages are commands of their own: router, lake-writer, backfill.
    """


def main() -> None:
    """Run `headrace` as a console script."""
    run(headrace, "headrace")


if __name__ == "__main__":
    main()
