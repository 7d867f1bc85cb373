"""From a workspace, or from one file for many topics, to a fleet at work."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import rich_click as click

from fleet.acts import FleetActs
from fleet.follow import Follower
from fleet.run_state import folder_of, lock_in, write_address
from fleet.settings import allow_open_files, settings_for
from fleet.unit_facts import FleetFacts
from fleet.up import Fleet
from headrace.config.validate import checked_workspace
from headrace.errors import BadConfig
from headrace.http.board import Board
from headrace.http.server import serving
from headrace.lineage.reporting import reporting
from headrace.locks import hold
from headrace.problems import absolute, in_order, shown_path
from headrace.signals import Drain
from headrace.spark import session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.config.workspace.workspace import Workspace
    from headrace.http.address import Address

# How long a start waits for the topics of a cluster. A cluster that is away can answer later.
FIRST_ANSWER_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class OneFile:
    """One file for many topics that is run instead of a workspace, and the outputs of its streams."""

    path: Path
    outputs: Sequence[str] = ()


def run_fleet(  # noqa: PLR0913 - as the command is asked for
    workspace: Workspace,
    region: str | None,
    board: Board,
    say: Callable[[str], object],
    only: OneFile | None = None,
    *,
    served: Address | None = None,
) -> None:
    """Run all that is declared until asked to drain; `say` is called when Spark has started.

    `served` is where the board can be read.
    """
    path = None if only is None else only.path
    if path is not None:
        _require_good(workspace, path)
    allow_open_files()
    follower = Follower(workspace.root, region, path)
    what = "headrace up of this workspace" if path is None else f"a command for {shown_path(path)}"
    folder = folder_of(workspace, path)
    with hold(lock_in(folder), what, "stop that one first"), closing(follower.topics):
        write_address(folder, served)
        seen = follower.look()
        if follower.topics.wait(FIRST_ANSWER_S):
            seen = follower.look() or seen
        settings = settings_for(seen, region)
        name = "up" if path is None else f"many-{path.stem}"
        with (
            reporting(workspace, board) as lineage,
            session(workspace, name, settings, lasting=True) as spark,
        ):
            fleet = Fleet(workspace, spark, region, folder, () if only is None else only.outputs)
            fleet.take(seen)
            ui = spark.sparkContext.uiWebUrl
            facts = FleetFacts(workspace, fleet.units, fleet.problems, region, ui)
            board.show(facts, FleetActs(workspace, quarantines=facts.quarantines))
            # A command for one file would not run what is saved beside it.
            board.acts.has_files = path is None
            say(fleet.as_text("headrace up" if path is None else shown_path(path)))
            fleet.run(follower, board.drain, lineage)


def run_file(  # noqa: PLR0913 - as the command is asked for
    workspace: Workspace,
    path: Path,
    region: str | None,
    outputs: Sequence[str] = (),
    *,
    http: Address | None,
    as_json: bool,
) -> None:
    """Run one file for many topics until Ctrl-C."""

    def say(text: str) -> None:
        click.echo(json.dumps({"started": text}) if as_json else text)

    board = Board(shown_path(path), drain := Drain())
    with drain, serving(http, board) as served:
        run_fleet(workspace, region, board, say, OneFile(absolute(path), outputs), served=served)


def _require_good(workspace: Workspace, path: Path) -> None:
    """Raise the mistakes of a file, including those that it has only beside the other files."""
    _, files = checked_workspace(workspace.root)
    problems = [
        problem for one in files if one.document.path == path for problem in one.document.problems
    ]
    if problems:
        raise BadConfig(in_order(problems))
