"""Commands for a file for many topics: for one of the topics, or for all."""

from __future__ import annotations

import json
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, TypeVar

import rich_click as click

from headrace.cli.command import FAILED
from headrace.errors import HeadraceError, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from headrace.config.kind_files import CheckedFile
    from headrace.config.workspace.workspace import Workspace
    from headrace.http.address import Address
    from headrace.signals import Drain

Answer = TypeVar("Answer")

# The fleet runs such a file. No stage may import it, so the stages find it by this entry point.
RUNNERS: Final = "headrace.many_topics"

topic_option = click.option(
    "--topic", metavar="TOPIC", help="Of a file for many topics (for_each), only this one."
)


def run_all(
    workspace: Workspace,
    path: Path,
    region: str | None,
    outputs: Sequence[str] = (),
    *,
    http: Address | None,
    as_json: bool,
) -> None:
    """Run a stream or a lake table for each topic until Ctrl-C, and follow which topics there are."""
    (runner,) = metadata.entry_points(group=RUNNERS, name="run")
    runner.load()(workspace, path, region, outputs, http=http, as_json=as_json)


def ask_each(
    files: Sequence[CheckedFile], ask: Callable[[CheckedFile], Answer], drain: Drain | None = None
) -> Iterator[tuple[str, Answer | HeadraceError]]:
    """Yield the answer for each topic, until asked to drain. A topic that fails hides no other."""
    for one in files:
        if drain is not None and drain.wait(0):
            return
        try:
            yield one.topic or "", ask(one)
        except HeadraceError as problem:
            yield one.topic or "", problem


def show_each(
    what: str,
    answers: Sequence[tuple[str, Answer | HeadraceError]],
    facts: Callable[[Answer], Any],
    text: Callable[[Answer], str],
    *,
    as_json: bool,
) -> int:
    """Print the answers for all topics; return the exit code that says whether each has one."""
    whole, lines = [], []
    failed = False
    for topic, answer in answers:
        if isinstance(answer, HeadraceError):
            failed = True
            error = {"message": answer.message, "advice": answer.advice or None}
            whole.append({"topic": topic, "error": error})
            lines.append(f"topic {topic}: {answer}")
        else:
            whole.append({"topic": topic, **facts(answer)})
            lines.append(text(answer))
    nothing = "no topic matches: there is nothing to do"
    click.echo(json.dumps({what: whole}, indent=2) if as_json else "\n\n".join(lines) or nothing)
    return FAILED if failed else 0


def any_of(
    answers: Sequence[tuple[str, Answer | HeadraceError]], fails: Callable[[Answer], bool]
) -> int:
    """Return the exit code that says whether any answer is a failure."""
    good = [one for _, one in answers if not isinstance(one, HeadraceError)]
    return FAILED if any(map(fails, good)) else 0


def has_failures(answers: Sequence[tuple[str, Answer | HeadraceError]]) -> bool:
    """Return whether any topic failed."""
    return any(isinstance(one, HeadraceError) for _, one in answers)


def require_all(answers: Sequence[tuple[str, Answer | HeadraceError]]) -> None:
    """Raise one error for all topics that failed."""
    failed = [(topic, one) for topic, one in answers if isinstance(one, HeadraceError)]
    if failed:
        reasons = "\n".join(f"topic {topic}: {one}" for topic, one in failed)
        raise Terminal(f"{len(failed)} of {len(answers)} topics failed\n{reasons}")
