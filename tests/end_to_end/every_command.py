"""Every command there is, found by walking the console scripts, with arguments that make it work."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Final

import click
import pytest

from headrace.cli.command import run

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPTS: Final = ("headrace", "router", "lake-writer", "backfill")
FORMS: Final = ("text", "json")

# What a command is given for a parameter that it must have. A command whose parameter is not here
# is not covered, and `argument` says so.
GIVEN: Final = {
    "--cluster": "fronting",
    "--topic": "secret_plays",
    "--record": "one.json",
    "--start-ts": "2020-01-01",
    "--end-ts": "2120-01-01",
    "--left": "lake.tv.counts",
    "--right": "lake.tv.counts",
    "--key": "event_id",
    "directory": "fresh-{form}",
    "run_id": "run-{form}",
    "stream": "plays",
}
CONFIGS: Final = {"router": "streams/plays.yaml", "lake-writer": "tables/starts.yaml"}
APPLICATION: Final = "apps/counts.yaml"

# What makes a command do its work here, and end.
FURTHER: Final[dict[str, tuple[str, ...]]] = {
    "headrace dev": ("--ephemeral", "--port", "0"),
    "headrace produce": ("events.jsonl",),
    "headrace ui": ("--http", "127.0.0.1:0"),
    "headrace up": ("--http", "127.0.0.1:0"),
    "headrace run": ("--once",),
    "headrace rewind": ("--list",),
    "headrace tap": ("--once", "--from", "beginning", "--fixture", "tapped-{form}.jsonl"),
    "headrace package": ("--minimal",),
    "router start": ("--once",),
    "lake-writer start": ("--once",),
    "backfill plan": (
        "--table",
        "lake.tv.starts",
        "--start-ts",
        "2020-01-01",
        "--end-ts",
        "2120-01-01",
    ),
    "backfill replay": (
        "-c",
        APPLICATION,
        "--stage",
        "--run-id",
        "run-{form}",
        "--start-ts",
        "2020-01-01",
        "--end-ts",
        "2120-01-01",
    ),
    "backfill sweep": ("--thresholds", "1h"),
}  # fmt: skip - a command to a line

# These make what the others show; the rest comes after them, whatever it is.
FIRST: Final = (
    "headrace produce",
    "router start",
    "lake-writer start",
    "headrace run",
    "backfill replay",
    "backfill publish",
)


# Each of these takes some seconds for its JVM, or takes away what the one before has made.
DONE_ONCE: Final = frozenset(
    {
        *(
            "headrace package",
            "headrace run",
            "router start",
            "lake-writer start",
            "lake-writer maintain",
        ),
        *("backfill compare", "backfill publish", "backfill replay", "backfill sweep"),
        "backfill cancel",
    }
)


@dataclass(frozen=True)
class Command:
    """A command without subcommands: its words, and its parameters."""

    words: tuple[str, ...]
    parameters: tuple[click.Parameter, ...]
    script: click.Command

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def forms(self) -> tuple[str, ...]:
        """How its result can be printed; nothing to choose is one form as well."""
        return FORMS if self.option_of_form is not None else FORMS[:1]

    @property
    def option_of_form(self) -> str | None:
        for one in self.parameters:
            if isinstance(one.type, click.Choice) and {"text", "json"} == set(one.type.choices):
                return one.opts[-1]
        return None

    def runs(self) -> int:
        """Run it inside of this process, by the line in `sys.argv`; returns its exit code."""
        with pytest.raises(SystemExit) as ended:
            run(self.script, self.words[0])
        return int(ended.value.code or 0)

    @property
    def comes_first(self) -> bool:
        """Whether others show what it makes."""
        return self.name in FIRST

    @property
    def is_done_once(self) -> bool:
        """Whether the short form has one form of its output only."""
        return self.name in DONE_ONCE

    @property
    def lasts(self) -> bool:
        """Whether it runs until it is asked to end."""
        return self.name in {"headrace dev", "headrace ui", "headrace up"}

    def line(self, form: str) -> list[str]:
        """Return the command line that makes it work in the workspace of this test."""
        line = list(self.words)
        for one in self.parameters:
            if one.required:
                line += self.argument(one)
        line += FURTHER.get(self.name, ())
        if self.option_of_form is not None:
            line += [self.option_of_form, form]
        if any("--log-format" in one.opts for one in self.parameters):
            line += ["--log-format", "json" if form == "json" else "console"]
        return [word.format(form=form) for word in line]

    def argument(self, parameter: click.Parameter) -> list[str]:
        """Return what it is given for a parameter that it must have."""
        if parameter.opts[-1] == "--config":
            return ["--config", CONFIGS.get(self.words[0], APPLICATION)]
        name = parameter.opts[-1]
        assert name in GIVEN, f"{self.name} needs {name}: name a value for it in {__name__}.GIVEN"
        return [name, GIVEN[name]] if isinstance(parameter, click.Option) else [GIVEN[name]]


def every_command() -> list[Command]:
    """Return all commands in the order in which they make and show what there is."""
    found = [
        one
        for script in metadata.entry_points(group="console_scripts")
        if script.name in SCRIPTS
        for one in _leaves(_command_of(script), (script.name,), _command_of(script))
    ]
    order = {name: number for number, name in enumerate(FIRST)}
    return sorted(found, key=lambda one: (order.get(one.name, len(order)), one.name))


def _command_of(script: metadata.EntryPoint) -> click.Command:
    """Return the click command that a console script runs: it stands beside its `main`."""
    module = __import__(script.module, fromlist=["main"])
    commands = [one for one in vars(module).values() if isinstance(one, click.Group)]
    (command,) = (
        one for one in commands if one.name in {script.name, script.name.replace("-", "_")}
    )
    return command


def _leaves(
    command: click.Command, words: tuple[str, ...], script: click.Command
) -> Iterator[Command]:
    if not isinstance(command, click.Group):
        yield Command(words, tuple(command.params), script)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        if name in SCRIPTS:
            continue  # `headrace router` is `router` again
        found = command.get_command(context, name)
        assert found is not None
        yield from _leaves(found, (*words, name), script)
