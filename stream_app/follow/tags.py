"""Tags that go along with a follower, so that no expiry takes the snapshots that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zlib import crc32

import structlog

from headrace.contract import FOLLOW_TAG
from headrace.retries import retry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyiceberg.table import Table

PREFIX: Final = FOLLOW_TAG
log = structlog.get_logger(__name__)


def holder_of(application: str, checkpoint: Path) -> str:
    """Return the name in which an application holds snapshots: another checkpoint has another."""
    return f"{application}-{crc32(str(checkpoint.resolve()).encode()):08x}"


def held(table: Table, holder: str) -> set[int]:
    """Return the snapshots that are tagged in the holder's name."""
    refs = table.metadata.refs.items()
    return {ref.snapshot_id for name, ref in refs if name.startswith(f"{PREFIX}{holder}-")}


def move(table: Table, holder: str, needed: Iterable[int]) -> None:
    """Tag these snapshots, and no others, in the holder's name, if that can be done."""
    own = f"{PREFIX}{holder}-"
    wanted = {f"{own}{snapshot}": snapshot for snapshot in needed}

    def change_tags() -> None:
        table.refresh()
        tags = {name for name in table.metadata.refs if name.startswith(own)}
        if tags != wanted.keys():
            with table.manage_snapshots() as change:
                for name in sorted(wanted.keys() - tags):
                    change.create_tag(wanted[name], name)
                for name in sorted(tags - wanted.keys()):
                    change.remove_tag(name)

    try:
        # Others commit meanwhile.
        retry(change_tags, Exception, attempts=3, first_wait_s=0.2)
    except Exception as problem:  # noqa: BLE001 - a catalog without the right to write must not end a read
        log.warning(
            "snapshots could not be tagged; they may expire before they are read",
            table=".".join(table.name()),
            reason=type(problem).__name__,
        )
