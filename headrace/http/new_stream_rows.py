"""What the pages for a new stream and for a new deployment show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.http.file_rows import FilesCheck


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record of a topic as a page shows it: its key and value as text, or as hex."""

    partition: int
    offset: int
    time: str | None
    size: int
    key: str | None
    value: str | None
    is_hex: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class TopicSample:
    """The newest records of a topic. `hidden` says why they are not shown, `notes` what was inferred.

    `seen` is how many were read, and `held` how many offsets the topic has.
    """

    cluster: str
    topic: str
    records: Sequence[TopicRecord] = ()
    seen: int = 0
    held: int = 0
    format: str = "json"
    hidden: str | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StreamForm:
    """The form of a new stream: what was typed or is proposed, and what would become of it.

    `problems` are mistakes by the field that they belong to. `preview` is what `router explain`
    says of the sampled records. `saved` are the files that were written.
    """

    values: Mapping[str, str]
    clusters: Sequence[str] = ()
    catalogs: Sequence[str] = ()
    topics: Sequence[str] = ()
    sample: TopicSample | None = None
    problem: str | None = None
    advice: str | None = None
    check: FilesCheck | None = None
    problems: Mapping[str, Sequence[str]] = field(default_factory=dict)
    preview: Mapping[str, Any] | None = None
    preview_problem: str | None = None
    schema: str | None = None
    changed: Sequence[str] = ()
    saved: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RegionForm:
    """The form of a new deployment of a stream, in the same way."""

    stream: str
    file: str
    values: Mapping[str, str]
    clusters: Mapping[str, str | None] = field(default_factory=dict)
    deployments: Sequence[str] = ()
    problems: Mapping[str, Sequence[str]] = field(default_factory=dict)
    problem: str | None = None
    advice: str | None = None
    check: FilesCheck | None = None
    changed: Sequence[str] = ()
    saved: Sequence[str] = ()
