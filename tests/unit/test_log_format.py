"""How logs look: by the option, else by the environment, else for a person."""

from __future__ import annotations

import os

import click
import pytest
from click.testing import CliRunner

from headrace import log
from headrace.cli.command import LOG_FORMAT, log_option


@click.command()
@log_option
def shown() -> None:
    click.echo(os.environ[log.FORMAT_VARIABLE])


@pytest.mark.parametrize(
    ("given", "option", "expected"),
    [
        (None, [], "console"),
        ("json", [], "json"),
        ("json", ["--log-format", "console"], "console"),
        (None, ["--log-format", "json"], "json"),
    ],
)
def test_the_option_goes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, given: str | None, option: list[str], expected: str
) -> None:
    # Set first, so that what the command leaves there is taken back.
    monkeypatch.setenv(LOG_FORMAT, "console")
    if given is None:
        monkeypatch.delenv(LOG_FORMAT)
    else:
        monkeypatch.setenv(LOG_FORMAT, given)
    assert LOG_FORMAT == log.FORMAT_VARIABLE
    assert CliRunner().invoke(shown, option).output.strip() == expected
