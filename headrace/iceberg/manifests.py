"""Manifests of an append: the new files' own, and small ones brought together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from pyiceberg.manifest import (
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.utils.concurrent import ExecutorFactory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.manifest import ManifestWriter
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

# Every commit adds a manifest, and rewrites the list of them all. So many fresh ones become one,
# and so many of those one again: after 10,000 commits the list has some hundred lines instead of
# 10,000. No merge writes more than a few thousand files: larger manifests stay as they are.
MERGED_TOGETHER: Final = 50
FILES_MERGED: Final = 5_000
COMPRESSION: Final = "deflate"


@dataclass(slots=True)
class ManifestDraft:
    """What one attempt of a commit writes; nothing refers to it until the catalog does."""

    table: Table
    snapshot_id: int
    written: list[str] = field(default_factory=list)
    # Manifests have a name of their own for every attempt: clients cache them by their location.
    _attempt: UUID = field(default_factory=uuid4)

    def added(self, files: Sequence[DataFile]) -> list[ManifestFile]:
        """Write the manifests of new files, one for each partition spec they were written by."""
        by_spec = defaultdict(list)
        for file in files:
            by_spec[file.spec_id].append(file)
        return [self._added(spec_id, files) for spec_id, files in sorted(by_spec.items())]

    def tidied(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        """Return the manifests with many small ones, that are as old, merged into one."""
        alike = defaultdict(list)
        for manifest in manifests:
            age = _age(manifest)
            if age is not None:
                alike[manifest.partition_spec_id, age].append(manifest)
        # The oldest of them, which stand last: a commit is to wait for one merge of each kind.
        full = {
            key: found[-MERGED_TOGETHER:]
            for key, found in alike.items()
            if len(found) >= MERGED_TOGETHER
        }
        gone = {manifest.manifest_path for found in full.values() for manifest in found}
        merged = [self._merged(spec, found) for (spec, _), found in sorted(full.items())]
        return merged + [one for one in manifests if one.manifest_path not in gone]

    def list_of(
        self, manifests: Sequence[ManifestFile], parent: Snapshot | None, sequence_number: int
    ) -> str:
        """Write the snapshot's list; returns its location."""
        metadata = self.table.metadata
        location = self._location(f"snap-{self.snapshot_id}-0-{uuid4()}.avro")
        with write_manifest_list(
            format_version=metadata.format_version,
            output_file=self.table.io.new_output(location),
            snapshot_id=self.snapshot_id,
            parent_snapshot_id=None if parent is None else parent.snapshot_id,
            sequence_number=sequence_number,
            avro_compression=COMPRESSION,
        ) as writer:
            writer.add_manifests(list(manifests))
        return location

    def _added(self, spec_id: int, files: Sequence[DataFile]) -> ManifestFile:
        with self._writer(spec_id) as writer:
            for file in files:
                entry = ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED,
                    snapshot_id=self.snapshot_id,
                    sequence_number=None,
                    file_sequence_number=None,
                    data_file=file,
                )
                writer.add(entry)
        return writer.to_manifest_file()

    def _merged(self, spec_id: int, manifests: Sequence[ManifestFile]) -> ManifestFile:
        io = self.table.io
        read = ExecutorFactory.get_or_create().map(
            lambda one: one.fetch_manifest_entry(io), manifests
        )
        with self._writer(spec_id) as writer:
            for entries in read:
                for entry in entries:
                    writer.existing(entry)
        return writer.to_manifest_file()

    def _writer(self, spec_id: int) -> ManifestWriter:
        metadata = self.table.metadata
        location = self._location(f"{self._attempt}-m{len(self.written)}.avro")
        return write_manifest(
            format_version=metadata.format_version,
            spec=metadata.specs()[spec_id],
            schema=metadata.schema(),
            output_file=self.table.io.new_output(location),
            snapshot_id=self.snapshot_id,
            avro_compression=COMPRESSION,
        )

    def _location(self, name: str) -> str:
        location = self.table.location_provider().new_metadata_location(name)
        self.written.append(location)
        return location


def _age(manifest: ManifestFile) -> int | None:
    """Return whether it is as an append wrote it (0) or merged once (1), None for any other."""
    if manifest.content != ManifestContent.DATA or manifest.deleted_files_count:
        return None
    if not manifest.existing_files_count:
        return 0
    files = (manifest.added_files_count or 0) + manifest.existing_files_count
    return 1 if files * MERGED_TOGETHER <= FILES_MERGED else None
