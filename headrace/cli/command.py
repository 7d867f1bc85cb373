"""What all our commands share: exit codes, options, errors without a traceback."""

from __future__ import annotations

import errno
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import rich_click as click

from headrace.errors import BadConfig, HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

# Known to headrace.log, which help need not load.
LOG_FORMAT = "HEADRACE_LOG_FORMAT"
FAILED = 1
INTERRUPTED = 130

click.rich_click.TEXT_MARKUP = "markdown"
click.rich_click.TEXT_PARAGRAPH_LINEBREAKS = "\n\n"
click.rich_click.SHOW_ARGUMENTS = True
click.rich_click.COMMANDS_BEFORE_OPTIONS = True


class EntryPointGroup(click.RichGroup):
    """A group whose subcommands are found by entry points, each loaded when it is called."""

    entry_points = "headrace.commands"

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all installed subcommands."""
        return sorted(point.name for point in metadata.entry_points(group=self.entry_points))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load one subcommand."""
        for point in metadata.entry_points(group=self.entry_points, name=cmd_name):
            command: click.Command = point.load()
            return command
        return None


def workspace_option(function: F) -> F:
    """Add `--workspace`."""
    return click.option(
        "--workspace",
        "workspace_dir",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="The folder with headrace.yaml. [default: the nearest parent that has one]",
    )(function)


def log_option(function: F) -> F:
    """Add `--log-format`, which takes effect at once."""

    def set_up(_ctx: click.Context, _param: click.Parameter, value: str) -> None:
        os.environ[LOG_FORMAT] = value

    return click.option(
        "--log-format",
        type=click.Choice(["console", "json"]),
        default="console",
        envvar=LOG_FORMAT,
        show_default=True,
        expose_value=False,
        callback=set_up,
        help="How logs look on stderr.",
    )(function)


def output_option(function: F) -> F:
    """Add `-o/--output text|json`, passed on as `as_json`."""

    def is_json(_ctx: click.Context, _param: click.Parameter, value: str) -> bool:
        return value == "json"

    return click.option(
        "-o",
        "--output",
        "as_json",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        callback=is_json,
        help="How the result is printed on stdout.",
    )(function)


def run(command: click.Command, name: str) -> None:
    """Run a command as a console script: every outcome has its exit code and its sentence."""
    try:
        result = command.main(prog_name=name, standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        sys.exit(INTERRUPTED)
    except BadConfig as problem:
        # As compilers print it, so that an editor can jump to each place.
        click.echo(str(problem), err=True)
        count = len(problem.problems)
        mistakes = "1 mistake" if count == 1 else f"{count} mistakes"
        say(f"{mistakes} in config files; nothing was started")
        sys.exit(problem.exit_code)
    except HeadraceError as problem:
        say(str(problem))
        sys.exit(problem.exit_code)
    except BrokenPipeError:
        # Whoever read our output has gone: not an error, and nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as problem:
        if problem.filename is None and problem.errno != errno.ENOSPC:
            unknown(problem)
        say(f"{problem.filename or 'a file'}: {problem.strerror}")
        if problem.errno == errno.ENOSPC:
            say("  → make room, then run the same command again")
        sys.exit(FAILED)
    except Exception as problem:  # noqa: BLE001 - the last line before a user
        unknown(problem)
    sys.exit(result if isinstance(result, int) else 0)


def unknown(problem: Exception) -> NoReturn:
    """End with an error that is none of ours; whoever develops can see where it came from."""
    if os.environ.get("HEADRACE_TRACEBACK"):
        raise problem
    say(f"{type(problem).__name__}: {problem}")
    say("  → this is not an error that headrace knows; HEADRACE_TRACEBACK=1 shows where")
    sys.exit(FAILED)


def say(text: str) -> None:
    """Print an error line on stderr."""
    click.echo(text if text.startswith(" ") else f"error: {text}", err=True)
