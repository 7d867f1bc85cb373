"""`headrace jars`: the jars of Spark's connectors and the embedded broker."""

from __future__ import annotations

import rich_click as click

from headrace.cli.command import log_option


@click.group()
def jars() -> None:
    """Fetch and list the jars that headrace hands to Spark and to the embedded broker.

    They come by coordinates from the public Maven repository, or from the mirror
    that the Ivy settings file in HEADRACE_IVY_SETTINGS names, and are checked by hash.
    """


@jars.command()
@log_option
def fetch() -> None:
    """Download what is missing into the user's cache, and check all hashes.

    Jars that only some catalogs need (PostgreSQL, S3) come when Spark first starts with one.
    """
    from headrace.jars.cache import cache_dir, ensure
    from headrace.jars.lock import ALWAYS
    from headrace.log import configure_logging

    configure_logging()
    count = sum(len(ensure(jar_set)) for jar_set in ALWAYS)
    click.echo(f"{count} jars in {cache_dir()}", err=True)


@jars.command(name="list")
def list_jars() -> None:
    """Print coordinates and hashes."""
    from headrace.jars.lock import JAR_SETS, locked

    for jar_set in JAR_SETS:
        for jar in locked(jar_set):
            click.echo(f"{jar.jar_set}\t{jar.coordinate}\t{jar.sha256}")
