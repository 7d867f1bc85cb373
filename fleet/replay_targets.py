"""Where the control room lets records go: into a new folder of the workspace, or a topic of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backfill.run.options import parse_target
from headrace.errors import UsageError
from headrace.http.replay_rows import Mistake, RequestRefused

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.config.workspace.workspace import Workspace

FIELD: Final = "to"
BY_COMMAND: Final = "backfill replay in a terminal writes anywhere"
_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_FOLDER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ -]*")


def allowed_target(workspace: Workspace, text: str, topics: Collection[str]) -> str:
    """Return a target as the command takes it; refuse one that would write over something.

    `topics` are those that the files of the workspace read or write, as `CLUSTER/TOPIC`.
    """
    try:
        location = parse_target(text)
    except UsageError as problem:
        raise _refused(f"{text} is not a valid target", problem.advice) from None
    if isinstance(location, Path):
        return f"jsonl:{_new_folder(workspace, location)}"
    cluster, topic = location
    if cluster not in workspace.clusters:
        known = ", ".join(workspace.clusters) or "none"
        raise _refused(f"headrace.yaml defines no cluster {cluster}", f"clusters: {known}")
    if _TOPIC.fullmatch(topic) is None:
        raise _refused(f"{topic} is not the name of a topic", "use letters, digits, '.', '_', '-'")
    if f"{cluster}/{topic}" in topics:
        raise _refused(
            f"a file of this workspace reads or writes {cluster}/{topic}: it would have these "
            "records twice",
            f"name another topic; {BY_COMMAND}",
        )
    return f"kafka:{cluster}/{topic}"


def _new_folder(workspace: Workspace, path: Path) -> Path:
    root = workspace.root.resolve()
    folder = (workspace.root / path).resolve()
    if folder == root or not folder.is_relative_to(root):
        raise _refused(f"{path} is not in the workspace", f"name a folder in it; {BY_COMMAND}")
    parts = folder.relative_to(root).parts
    if not all(map(_FOLDER.fullmatch, parts)):
        raise _refused(
            f"{path} is hidden, or has characters other than letters, digits, '.', '_', '-'",
            "name another folder in the workspace",
        )
    for kept in (workspace.state_dir, *_warehouses(workspace)):
        if folder.is_relative_to(kept.resolve()):
            raise _refused(f"{path} is in a folder of headrace's own state", "name another folder")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise _refused(f"{path} is not an empty folder", "each replay needs its own")
    return folder


def _warehouses(workspace: Workspace) -> list[Path]:
    found = [one.properties().get("warehouse", "") for one in workspace.catalogs.values()]
    return [Path(one.removeprefix("file://")) for one in found if one.startswith(("/", "file:///"))]


def _refused(message: str, advice: str) -> RequestRefused:
    return RequestRefused([Mistake(FIELD, message, advice)])
