"""`headrace jars`: the jars of Spark's connectors and the embedded broker."""

from __future__ import annotations

import json

import rich_click as click

from headrace.cli.command import log_option, output_option, show


@click.group()
def jars() -> None:
    """Fetch and list the jars that headrace passes to Spark and to the embedded broker.

    They come from the public Maven repository, or from the mirror that the Ivy settings file in
    HEADRACE_IVY_SETTINGS names. Their hashes are checked.
    """


@jars.command()
@output_option
@log_option
def fetch(*, as_json: bool) -> None:
    """Download missing jars into the user's cache, and check all hashes.

    Some catalogs need more jars (PostgreSQL, S3), and so do checkpoints on S3. They are downloaded
    when Spark first starts with such a workspace.
    """
    from headrace.jars.cache import cache_dir, ensure
    from headrace.jars.lock import ALWAYS

    count = sum(len(ensure(jar_set)) for jar_set in ALWAYS)
    if as_json:
        click.echo(json.dumps({"jars": count, "directory": str(cache_dir())}, ensure_ascii=False))
    else:
        click.echo(f"{count} jars in {cache_dir()}", err=True)


@jars.command(name="list")
@output_option
def list_jars(*, as_json: bool) -> None:
    """Print the coordinates and hashes of all jars."""
    from headrace.jars.lock import JAR_SETS, locked

    found = [jar for jar_set in JAR_SETS for jar in locked(jar_set)]
    facts = [{"set": one.jar_set, "jar": one.coordinate, "sha256": one.sha256} for one in found]
    show(facts, "\n".join("\t".join(one.values()) for one in facts), as_json=as_json)
