"""A new workspace, copied from the template inside the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace import templates
from headrace.demo.events import FIRST_MS, events, lines
from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKSPACE_FILE: Final = "headrace.yaml"
# Named without the dot, so that it is not taken for one of this repository.
RENAMED: Final = {"gitignore": ".gitignore"}
SAMPLE_RECORDS: Final = 24
SAMPLE_SEED: Final = 1
SAMPLES: Final = ("playback.jsonl", "starts.jsonl")


def create_workspace(folder: Path) -> list[Path]:
    """Write a new workspace; an existing file is never written over."""
    template = Path(templates.__path__[0]) / "workspace"
    files: dict[Path, Path] = {}
    for source in template.rglob("*"):
        if source.is_file() and source.suffix != ".pyc":
            target = folder / source.relative_to(template)
            files[target.with_name(RENAMED.get(target.name, target.name))] = source
    if folder.exists() and not folder.is_dir():
        raise Terminal(f"{folder} is a file", "name another folder; nothing was written")
    clashing = sorted(
        (path for path in files if path.exists()),
        key=lambda path: (path.name != WORKSPACE_FILE, path),
    )
    if clashing:
        name = clashing[0].relative_to(folder)
        more = f" (and {len(clashing) - 1} more)" if len(clashing) > 1 else ""
        raise Terminal(
            f"{name} of the new workspace is already in {folder}{more}",
            "name another folder; nothing was written",
        )
    for path, source in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
    records = folder / "records"
    records.mkdir(parents=True, exist_ok=True)
    sent = "".join(lines(SAMPLE_RECORDS, SAMPLE_SEED))
    (records / "playback.jsonl").write_text(sent, encoding="utf-8")
    (records / "starts.jsonl").write_text("".join(_starts()), encoding="utf-8")
    return [*sorted(files), *(records / name for name in SAMPLES)]


def _starts() -> Iterator[str]:
    """Yield what the stream of the template makes of its sample: the starts, as they arrive."""
    for event in events(SAMPLE_RECORDS, SAMPLE_SEED):
        play = event["value"]
        if isinstance(play, dict) and play["event_type"] == "start":
            start = {name: play[name] for name in ("event_id", "user_id", "title_id", "event_ts")}
            value = start | {"country": play["country"].upper()}
            # Sent as it happened, as far as the sample tells.
            sent = {**event, "value": value, "timestamp": max(FIRST_MS, play["event_ts"])}
            yield json.dumps(sent, separators=(",", ":")) + "\n"
