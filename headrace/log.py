"""Logs: on stderr, for a person or for a machine."""

from __future__ import annotations

import logging
import os
import sys

import structlog

FORMAT_VARIABLE = "HEADRACE_LOG_FORMAT"
LEVEL_VARIABLE = "HEADRACE_LOG_LEVEL"


def configure_logging() -> None:
    """Send structlog to stderr, as lines for a person or as JSON."""
    as_json = os.environ.get(FORMAT_VARIABLE) == "json"
    level = logging.getLevelNamesMapping().get(
        os.environ.get(LEVEL_VARIABLE, "INFO").upper(), logging.INFO
    )
    colors = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=0)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.dict_tracebacks
            if as_json
            else structlog.processors.ExceptionRenderer(),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Looked up each time: whoever runs a command in a process of theirs may put another there.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
