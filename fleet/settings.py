"""Which files a fleet runs all the time, and Spark's settings for them."""

from __future__ import annotations

import contextlib
import resource
from typing import TYPE_CHECKING

from headrace.application.select import selected
from headrace.config.app.file import App, IcebergSource
from headrace.config.load import LoadedStream
from headrace.config.stream.effective import effective
from headrace.errors import HeadraceError
from headrace.line.settings import ONCE_EACH, line_settings
from headrace.spark import SCHEDULER_JVM
from router.run.jobs import StreamRouter

if TYPE_CHECKING:
    from fleet.follow import Seen, Wanted


def is_live(wanted: Wanted) -> bool:
    """Whether a file is to run. An application that reads only tables is there for replays."""
    if not isinstance(wanted.config, App):
        return True
    sources = selected(wanted.config, {}).values()
    return not any(isinstance(one, IcebergSource) and one.follow is None for one in sources)


def settings_for(seen: Seen | None, region: str | None) -> dict[str, str]:
    """Return Spark's settings: for streams that Spark evaluates, or for none of them."""
    wanted = seen.wanted.values() if seen is not None else ()
    if any(_is_by_spark(one, region) for one in wanted):
        return dict(ONCE_EACH)
    return {**SCHEDULER_JVM, **line_settings("router.tasks.task", "lake_writer.task")}


def _is_by_spark(wanted: Wanted, region: str | None) -> bool:
    loaded = wanted.loaded
    if not isinstance(loaded, LoadedStream) or loaded.schema is None:
        # A registry is asked later, when nobody waits for it.
        return False
    try:
        stream = effective(loaded, wanted.workspace, region)
        return StreamRouter(wanted.workspace, stream).is_by_spark
    except HeadraceError:
        return False


def allow_open_files() -> None:
    """Let this process, and those that it starts, open as many files as the system allows them.

    Each producer of a stream has eight; many systems begin with a thousand for a process.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
