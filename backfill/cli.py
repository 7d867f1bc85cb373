"""`backfill`: reads the lake again."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from headrace.cli.command import FAILED, log_option, output_option, run, workspace_option


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace")
def backfill() -> None:
    """Replay a period of the past from the lake."""


@backfill.command()
@click.option(
    "--table",
    "tables",
    multiple=True,
    required=True,
    metavar="CATALOG.DB.TABLE",
    help="A table to replay; several are put into one order.",
)
@click.option(
    "--start-ts", "start", required=True, metavar="TIME", help="From this ingestion time on."
)
@click.option("--end-ts", "end", required=True, metavar="TIME", help="Up to here, not included.")
@click.option("--regions", default="", metavar="A,B", help="Only records of these regions.")
@click.option("--to", "target", required=True, metavar="jsonl:DIR", help="Where the records go.")
@output_option
@workspace_option
@log_option
def replay(
    tables: tuple[str, ...],
    start: str,
    end: str,
    regions: str,
    target: str,
    *,
    as_json: bool,
    workspace_dir: Path | None,
) -> int:
    """Replay the records of tables, file after file in the order of their oldest record.

    The period is half-open and goes by `__metadata__.kafka_ingestion_ts`; times are ISO-8601,
    in UTC where they name no zone. DIR gets one file per step and certificate.json, which
    says what was delivered and how far out of order it was, as measured on the records.

        backfill replay --table lake.playback.starts --to jsonl:replayed
                 --start-ts 2026-03-01T00:00:00Z --end-ts 2026-03-02T00:00:00Z
    """
    from backfill.jsonl import JsonlFolder
    from backfill.period import parse_period
    from backfill.progress import follow
    from backfill.replay import TableReplay
    from headrace.config.load import load_workspace
    from headrace.log import configure_logging
    from headrace.signals import Drain

    configure_logging()
    period = parse_period(start, end)
    folder = jsonl_folder(target)
    workspace = load_workspace(workspace_dir)
    chosen = [region.strip() for region in regions.split(",") if region.strip()]
    with Drain() as drain:
        whole = TableReplay(workspace, tables, period, chosen)
        output = JsonlFolder(folder)
        follow(whole.deliver(output, drain))
        certificate = whole.certificate()
        output.write_certificate(certificate.to_json())
    if as_json:
        click.echo(certificate.to_json(), nl=False)
    else:
        click.echo(
            f"{certificate.rows:,} rows in {certificate.steps} steps → {folder}\n"
            f"  period {certificate.period}\n"
            f"  largest disorder {certificate.max_disorder_ms / 1000:.3f} s,"
            f" dropped as late {certificate.dropped_late}"
        )
    if not certificate.complete:
        click.echo("stopped before its end; replay again into an empty folder", err=True)
        return 0 if drain.requested else FAILED
    return 0


def jsonl_folder(target: str) -> Path:
    """Read `jsonl:DIR`."""
    from headrace.errors import UsageError

    kind, _, place = target.partition(":")
    if kind != "jsonl" or not place:
        raise UsageError(f"--to {target} is no target", "write it as jsonl:DIR")
    return Path(place)


def main() -> None:
    """Run `backfill` as a console script."""
    run(backfill, "backfill")
