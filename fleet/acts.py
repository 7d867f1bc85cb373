"""What the control room of a workspace may do."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from backfill.run.request import new_run_id
from fleet.file_acts import check_files, save_files
from fleet.new_streams import NewStreams
from fleet.quarantines import Quarantines
from fleet.regions import region_form, save_region
from fleet.replay_acts import ReplayActs
from headrace.config.edit.known_checks import KnownChecks
from headrace.http.acts import Acts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.config.workspace.workspace import Workspace
    from headrace.http.file_rows import FilesCheck, FilesSaved
    from headrace.http.new_stream_rows import RegionForm, StreamForm
    from headrace.http.quarantine_rows import QuarantineReplay
    from headrace.http.replay_rows import ReplayChoices, TableOverTime


class FleetActs(Acts):
    """What `headrace up` and `headrace ui` do for a page, or for a program."""

    has_files = True

    def __init__(
        self,
        workspace: Workspace,
        new_streams: NewStreams | None = None,
        quarantines: Quarantines | None = None,
    ) -> None:
        self._workspace = workspace
        self._quarantines = quarantines or Quarantines(lambda _: None)
        # A check reads all files: beside jobs at work, one at a time is enough.
        self._checks = threading.Lock()
        self._new_streams = new_streams or NewStreams(workspace.root)
        self._known = KnownChecks()
        self._saved: dict[str, str] = {}
        self._replays = ReplayActs(workspace)

    def check_files(self, files: Mapping[str, str]) -> FilesCheck:
        """Return what the workspace would be with these texts."""
        with self._checks:
            return check_files(self._workspace.root, files)

    def save_files(self, files: Mapping[str, str], seen: Mapping[str, str]) -> FilesSaved:
        """Write all of the files, or none."""
        with self._checks:
            return save_files(self._workspace.root, files, seen)

    def new_stream(self, values: Mapping[str, str], *, is_first: bool) -> StreamForm:
        """Return the form of a new stream."""
        return self._new_streams.form(values, is_first=is_first)

    def save_new_stream(self, values: Mapping[str, str], seen: Mapping[str, str]) -> StreamForm:
        """Write the files of a new stream, if nothing is wrong with them."""
        with self._checks:
            form = self._new_streams.save(values, seen)
        if form.saved:
            self._saved[form.values["name"]] = form.saved[-1]
        return form

    def new_region(self, stream: str, values: Mapping[str, str]) -> RegionForm | None:
        """Return the form of a stream's new deployment."""
        return region_form(self._workspace.root, stream, values, self._known)

    def save_new_region(
        self, stream: str, values: Mapping[str, str], seen: Mapping[str, str]
    ) -> RegionForm | None:
        """Write the deployment into the stream's file."""
        with self._checks:
            return save_region(self._workspace.root, stream, values, seen, self._known)

    def saved_stream(self, stream: str) -> str | None:
        """Return the file of a stream that was saved from here."""
        path = self._saved.get(stream)
        return path if path and (self._workspace.root / path).is_file() else None

    def save_stream(
        self, stream: str, texts: Mapping[str, str], seen: Mapping[str, str]
    ) -> FilesSaved | None:
        """Write changed files of a stream, or none."""
        with self._checks:
            return self._quarantines.save(stream, texts, seen)

    def replay_quarantine(self, stream: str) -> QuarantineReplay | None:
        """Start a replay of a stream's rejected records."""
        return self._quarantines.start_replay(stream)

    def replay_choices(self) -> ReplayChoices:
        """Return what can be replayed."""
        return self._replays.choices()

    def tables_over_time(self, tables: Sequence[str]) -> Sequence[TableOverTime]:
        """Return what declared tables hold over time."""
        return self._replays.over_time(tables)

    def new_run_id(self) -> str:
        """Return a name for a replay that begins later."""
        return new_run_id()

    def plan_replay(self, request: Mapping[str, object]) -> Mapping[str, Any]:
        """Return what a replay would do."""
        return self._replays.plan(request)

    def start_replay(
        self,
        request: Mapping[str, object],
        run_id: str | None = None,
        plan: Mapping[str, Any] | None = None,
    ) -> str:
        """Start a replay, and return its name."""
        return self._replays.start(request, run_id, plan)

    def cancel_replay(self, run_id: str, *, delete_output: bool) -> Mapping[str, Any] | None:
        """End a replay for good."""
        return self._replays.cancel(run_id, delete_output=delete_output)

    def publish_replay(self, run_id: str) -> Mapping[str, Any] | None:
        """Put the staged result of a replay into its table."""
        return self._replays.publish(run_id)

    def compare_replay(self, run_id: str, options: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Compare the result of a replay with the live one."""
        return self._replays.compare(run_id, options)
