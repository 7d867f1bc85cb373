"""What all our commands share: exit codes, options, errors without a traceback."""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import dataclass
from functools import wraps
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import rich_click as click

from headrace.errors import BadConfig, HeadraceError, Transient
from headrace.problems import counted

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


def file_option(what: str) -> Callable[[F], F]:
    """Return the option that names the file of a command."""
    return click.option(
        "-c",
        "--config",
        "path",
        required=True,
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"The {what}.",
    )


app_option = file_option("application's file (kind: app)")


def workspace_option(function: F) -> F:
    """Add `--workspace`, for a command that does without one, too."""
    return click.option(
        "--workspace",
        "workspace_dir",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="The folder with headrace.yaml. [default: the nearest parent that has one]",
    )(function)


def with_workspace(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--workspace`, and give the command the workspace that it names."""

    @wraps(function)
    def load(*, workspace_dir: Path | None, **options: object) -> object:
        from headrace.config.load import load_workspace

        return function(workspace=load_workspace(workspace_dir), **options)

    return workspace_option(load)


def log_option(function: F) -> F:
    """Add `--log-format`, which takes effect at once."""

    def set_up(_ctx: click.Context, _param: click.Parameter, value: str) -> None:
        from headrace.log import configure_logging

        os.environ[LOG_FORMAT] = value
        configure_logging()

    return click.option(
        "--log-format",
        type=click.Choice(["console", "json"]),
        default="console",
        envvar=LOG_FORMAT,
        show_default=True,
        expose_value=False,
        callback=set_up,
        help="The format of the logs on stderr.",
    )(function)


@dataclass
class Report:
    """How a command was asked to print its result; its errors are printed in the same form."""

    as_json: bool = False


def report_option(*flags: str) -> Callable[[F], F]:
    """Add an option that prints the result, or the error, as text or as JSON."""

    def is_json(ctx: click.Context, _param: click.Parameter, value: str) -> bool:
        report = ctx.find_object(Report)
        if report:
            report.as_json = value == "json"
        return value == "json"

    return click.option(
        *flags,
        "as_json",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        callback=is_json,
        is_eager=True,  # a mistake in another option is printed in this form, too
        help="The format of the result, or of the error, on stdout.",
    )


output_option = report_option("-o", "--output")
# Where --output names an output of a stream.
format_option = report_option("--format")


def command_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what most commands take: `-o`, `--log-format`, and `--workspace`, which they get loaded."""
    return output_option(with_workspace(log_option(function)))


def show(facts: object, text: str, *, as_json: bool) -> None:
    """Print a result: its facts as JSON, or the text for a person."""
    click.echo(json.dumps(facts, ensure_ascii=False) if as_json else text)


def run(command: click.Command, name: str) -> None:
    """Run a command as a console script: every outcome has its exit code and its sentence."""
    report = Report()
    try:
        result = command.main(prog_name=name, standalone_mode=False, obj=report)
    except click.ClickException as problem:
        problem.show()
        report.as_json = report.as_json or _asked_for_json(problem)
        _end(report, problem.exit_code, problem.format_message())
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        _end(report, INTERRUPTED, "interrupted")
    except BadConfig as problem:
        # As compilers print it, so that an editor can jump to each line.
        click.echo(str(problem), err=True)
        mistakes = counted(len(problem.problems), "mistake")
        sentence = f"{mistakes} in config files; nothing was started"
        say(sentence)
        problems = [one.as_dict() for one in problem.problems]
        _end(report, problem.exit_code, sentence, problems=problems)
    except HeadraceError as problem:
        say(str(problem))
        facts = {"kind": type(problem).__name__, "retry": isinstance(problem, Transient)}
        _end(report, problem.exit_code, problem.message, problem.advice, **facts)
    except BrokenPipeError:
        # Whoever read our output has gone: not an error, and nobody reads one.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as problem:
        if problem.filename is None and problem.errno != errno.ENOSPC:
            _end_unknown(report, problem)
        sentence = f"{problem.filename or 'a file'}: {problem.strerror}"
        no_space = problem.errno == errno.ENOSPC
        advice = "free some space, then run the same command again" if no_space else ""
        say(f"{sentence}\n  → {advice}" if advice else sentence)
        _end(report, FAILED, sentence, advice)
    except Exception as problem:  # noqa: BLE001 - the last line before a user
        _end_unknown(report, problem)
    sys.exit(result if isinstance(result, int) else 0)


def _asked_for_json(problem: click.ClickException) -> bool:
    """Return whether a command line asks for JSON that failed before its options were read."""
    context = problem.ctx if isinstance(problem, click.UsageError) else None
    options = context.command.params if context else []
    flags = [flag for one in options if one.name == "as_json" for flag in one.opts]
    words = " ".join(sys.argv[1:])
    return any(f"{flag} json" in words or f"{flag}=json" in words for flag in flags)


def _end(
    report: Report, exit_code: int, message: str, advice: str = "", **facts: object
) -> NoReturn:
    """End with an error; where a program reads the result, stdout has the error's facts."""
    if report.as_json:
        error = {"message": message, "advice": advice or None, "exit_code": exit_code, **facts}
        click.echo(json.dumps({"error": error}, ensure_ascii=False))
    sys.exit(exit_code)


def _end_unknown(report: Report, problem: Exception) -> NoReturn:
    """End with an unexpected error; a developer can see where it came from."""
    if os.environ.get("HEADRACE_TRACEBACK"):
        raise problem
    message = f"{type(problem).__name__}: {problem}"
    advice = "headrace did not expect this error; HEADRACE_TRACEBACK=1 shows where it happened"
    say(f"{message}\n  → {advice}")
    _end(report, FAILED, message, advice, kind=type(problem).__name__)


def say(text: str) -> None:
    """Print an error line on stderr."""
    click.echo(text if text.startswith(" ") else f"error: {text}", err=True)
