"""What the control room may do for whoever looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.http.file_rows import FilesCheck, FilesSaved
    from headrace.http.new_stream_rows import RegionForm, StreamForm
    from headrace.http.quarantine_rows import QuarantineReplay
    from headrace.http.replay_rows import ReplayChoices, TableOverTime


class Acts:
    """What a command does when a page or a program asks for it, in the server's threads.

    Whoever can do something overrides what it is about; the others do not offer it, and say None.
    HeadraceError says why something cannot be done.
    """

    # Whether there is a workspace whose files it writes. Nobody is offered a form otherwise.
    has_files = False

    def check_files(self, files: Mapping[str, str]) -> FilesCheck | None:  # noqa: ARG002 - who can do it overrides it
        """Return what the workspace would be with these texts, by paths below it. Nothing is written."""
        return None

    def save_files(
        self,
        files: Mapping[str, str],  # noqa: ARG002 - as above
        seen: Mapping[str, str],  # noqa: ARG002 - as above
    ) -> FilesSaved | None:
        """Write all of the files, or none: `seen` are the hashes of what they held when checked."""
        return None

    def new_stream(self, values: Mapping[str, str], *, is_first: bool) -> StreamForm | None:  # noqa: ARG002 - as above
        """Return the form of a new stream; the `is_first` one gets all its values proposed."""
        return None

    def save_new_stream(
        self,
        values: Mapping[str, str],  # noqa: ARG002 - as above
        seen: Mapping[str, str],  # noqa: ARG002 - as above
    ) -> StreamForm | None:
        """Write the files of a new stream, if nothing is wrong with them."""
        return None

    def new_region(self, stream: str, values: Mapping[str, str]) -> RegionForm | None:  # noqa: ARG002 - as above
        """Return the form of a stream's new deployment; None where no file declares the stream."""
        return None

    def save_new_region(
        self,
        stream: str,  # noqa: ARG002 - as above
        values: Mapping[str, str],  # noqa: ARG002 - as above
        seen: Mapping[str, str],  # noqa: ARG002 - as above
    ) -> RegionForm | None:
        """Write the deployment into the stream's file, if nothing is wrong with it."""
        return None

    def saved_stream(self, stream: str) -> str | None:  # noqa: ARG002 - as above
        """Return the file of a stream that was saved from here, and need not be known yet."""
        return None

    def save_stream(
        self,
        stream: str,  # noqa: ARG002 - as above
        texts: Mapping[str, str],  # noqa: ARG002 - as above
        seen: Mapping[str, str],  # noqa: ARG002 - as above
    ) -> FilesSaved | None:
        """Write changed files of one stream, in the same way; None where there is no such stream."""
        return None

    def replay_quarantine(self, stream: str) -> QuarantineReplay | None:  # noqa: ARG002 - as above
        """Start a replay of a stream's rejected records; None where there is no such stream."""
        return None

    def replay_choices(self) -> ReplayChoices | None:
        """Return what can be replayed."""
        return None

    def tables_over_time(self, tables: Sequence[str]) -> Sequence[TableOverTime]:  # noqa: ARG002 - who can overrides it
        """Return what tables hold over time; tables that are not declared are left out."""
        return ()

    def new_run_id(self) -> str | None:
        """Return a name for a replay that begins later."""
        return None

    def plan_replay(self, request: Mapping[str, object]) -> Mapping[str, Any] | None:  # noqa: ARG002 - as above
        """Return what a replay would do, as `backfill plan -o json` does."""
        return None

    def start_replay(
        self,
        request: Mapping[str, object],  # noqa: ARG002 - as above
        run_id: str | None = None,  # noqa: ARG002 - as above
        plan: Mapping[str, Any] | None = None,  # noqa: ARG002 - as above
    ) -> str | None:
        """Start a replay, and return its name. Of the same name there is only one."""
        return None

    def cancel_replay(self, run_id: str, *, delete_output: bool) -> Mapping[str, Any] | None:  # noqa: ARG002 - as above
        """End a replay for good: `state` says whether that is done, or still going on."""
        return None

    def publish_replay(self, run_id: str) -> Mapping[str, Any] | None:  # noqa: ARG002 - as above
        """Put the staged result of a replay into its table."""
        return None

    def compare_replay(self, run_id: str, options: Mapping[str, str]) -> Mapping[str, Any] | None:  # noqa: ARG002 - as above
        """Compare the result of a replay with the live one, as `backfill compare -o json` does."""
        return None
