"""`headrace`: the umbrella over all commands."""

from __future__ import annotations

import rich_click as click

from headrace.cli.command import EntryPointGroup, run


@click.group(cls=EntryPointGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def headrace() -> None:
    """Route event streams, land them in the lake, replay them into the same application.

    \b
    A first look, from an empty folder:
      headrace init demo && cd demo
      headrace dev                          # Kafka and a catalog, until Ctrl-C
      headrace produce events.jsonl --cluster fronting --topic playback_raw
      router start -c streams/playback.yaml --once
      lake-writer start -c tables/playback_starts.yaml --once
      backfill replay --table lake.playback.starts --to jsonl:replayed …
    """  # noqa: D301 - \b is click's mark for text that keeps its lines


def main() -> None:
    """Run `headrace` as a console script."""
    run(headrace, "headrace")


if __name__ == "__main__":
    main()
