"""How logs look: by the option, else by the environment, else for a person."""

from __future__ import annotations

import json
import re

import click
import pytest
import structlog
from click.testing import CliRunner

from headrace import log
from headrace.cli.command import LOG_FORMAT, log_option


@click.command()
@log_option
def shown() -> None:
    log.configure_logging()
    structlog.get_logger().warning("partition_lost", topic="plays", partition=3)


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
    ran = CliRunner().invoke(shown, option)
    assert not ran.stdout
    if expected == "json":
        facts = json.loads(ran.stderr)
        del facts["timestamp"]
        assert facts == {
            "event": "partition_lost",
            "level": "warning",
            "topic": "plays",
            "partition": 3,
        }
    else:
        assert re.fullmatch(
            r"\S+Z \[warning\s*\] partition_lost +partition=3 topic=plays\n", ran.stderr
        )
