"""The API's list: what each route takes and answers. /api/v1/openapi.json is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from headrace.http.detail_rows import LedgerRow  # noqa: TC001 - as above
from headrace.http.file_rows import FilesCheck
from headrace.http.files_api import FilesRequest
from headrace.http.quarantine_rows import QuarantineReplay, QuarantineRow, QuarantineTrial
from headrace.http.replay_rows import (
    CancelBody,
    ReplayEnded,
    ReplayPublished,
    ReplayRequestBody,
    ReplayStarted,
)
from headrace.http.rows import AppRow, NotReady, ReplayRow, StreamRow, TableRow

JSON: Final = "application/json"
TEXT: Final = "text/plain"
EVENTS: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """Why there is no answer."""

    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """An error, in a sentence."""

    error: ErrorMessage


@dataclass(frozen=True, slots=True)
class Alive:
    """The process answers."""

    status: Literal["alive"]


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether everything is at work. Who does not know the token is not told what is not."""

    status: Literal["ready", "not ready"]
    not_ready: Sequence[NotReady] = ()


@dataclass(frozen=True, slots=True)
class StreamLedger:
    """The ledgers of a stream's outputs and of its quarantine."""

    stream: str
    outputs: Sequence[LedgerRow]


@dataclass(frozen=True, slots=True)
class Explained:
    """What a stream makes of records, as `router explain -o json` has it."""

    stream: str
    outputs: Mapping[str, Any]
    records: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SavedPaths:
    """The files that were written."""

    saved: Sequence[str]


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """A route. `answers` are types by status; what every route may answer is left out.

    What is no JSON has a media type in place of a type. So has `body`.
    """

    method: Literal["GET", "POST"]
    path: str
    summary: str
    answers: Mapping[int, Any]
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)


UNKNOWN: Final[Mapping[int, Any]] = {404: Problem}
AWAY: Final[Mapping[int, Any]] = {**UNKNOWN, 503: Problem}
ASKED: Final[Mapping[int, Any]] = {**AWAY, 400: Problem, 409: Problem, 413: Problem}
API: Final = (
    ApiRoute("GET", "/livez", "Whether the process answers.", {200: Alive}),
    ApiRoute(
        "GET",
        "/readyz",
        "Whether everything is at work, and what is not.",
        {200: Readiness, 503: Readiness},
    ),
    ApiRoute("GET", "/metrics", "The metrics, as Prometheus reads them.", {200: TEXT}),
    ApiRoute("GET", "/api/v1/openapi.json", "This document.", {200: Mapping[str, Any]}),
    ApiRoute("GET", "/api/v1/streams", "All streams.", {200: Sequence[StreamRow]}),
    ApiRoute("GET", "/api/v1/tables", "All lake tables.", {200: Sequence[TableRow]}),
    ApiRoute("GET", "/api/v1/apps", "All applications.", {200: Sequence[AppRow]}),
    ApiRoute(
        "GET", "/api/v1/replays", "All replays, the newest first.", {200: Sequence[ReplayRow]}
    ),
    ApiRoute("GET", "/api/v1/replays/{run_id}", "One replay.", {200: ReplayRow, **UNKNOWN}),
    ApiRoute(
        "POST",
        "/api/v1/plans",
        "What a replay would do, as `backfill plan -o json` has it. It writes nothing.",
        {200: Mapping[str, Any], **ASKED},
        body=ReplayRequestBody,
    ),
    ApiRoute(
        "POST",
        "/api/v1/replays",
        "Start a replay.",
        {202: ReplayStarted, **ASKED},
        body=ReplayRequestBody,
    ),
    ApiRoute(
        "POST",
        "/api/v1/replays/{run_id}/cancel",
        "End a replay for good.",
        {200: ReplayEnded, **ASKED},
        body=CancelBody,
    ),
    ApiRoute(
        "POST",
        "/api/v1/replays/{run_id}/publish",
        "Put the staged result of a replay into the table of its application.",
        {200: ReplayPublished, **ASKED},
    ),
    ApiRoute(
        "GET",
        "/api/v1/replays/{run_id}/compare",
        "The staged result of a replay beside the live one, as `backfill compare -o json` has it.",
        {200: Mapping[str, Any], **ASKED},
        query={
            "key": "The columns that identify a row, separated by commas.",
            "ignore": "Columns that may differ.",
            "min_match": "How much has to match, in percent.",
            "boundary": "How far from the ends of the period a mismatch counts as one of them.",
        },
    ),
    ApiRoute(
        "GET",
        "/api/v1/streams/{name}/ledger",
        "What became of each partition's records.",
        {200: StreamLedger, **UNKNOWN},
    ),
    ApiRoute(
        "GET",
        "/api/v1/streams/{name}/quarantine",
        "The rejected records by reason, read from Kafka.",
        {200: QuarantineRow, **AWAY},
    ),
    ApiRoute(
        "POST",
        "/api/v1/streams/{name}/quarantine/try",
        "What the stream would make of its rejected records: as its files are, with its file as in the "
        'body, or with the files of `{"files": {PATH: TEXT}}`. It writes nothing.',
        {200: QuarantineTrial, 400: Problem, 413: Problem, **AWAY},
        body=TEXT,
    ),
    ApiRoute(
        "GET",
        "/api/v1/streams/{name}/quarantine/replay",
        "How the last replay of the rejected records fares.",
        {200: QuarantineReplay, **AWAY},
    ),
    ApiRoute(
        "POST",
        "/api/v1/streams/{name}/quarantine/replay",
        "Start a replay of the rejected records.",
        {202: QuarantineReplay, 409: Problem, **UNKNOWN},
    ),
    ApiRoute(
        "POST",
        "/api/v1/files/check",
        "What the workspace would be with these files. It writes nothing.",
        {200: FilesCheck, 400: Problem, 413: Problem, **UNKNOWN},
        body=FilesRequest,
    ),
    ApiRoute(
        "POST",
        "/api/v1/files",
        "Write all of these files, or none.",
        {200: SavedPaths, 400: Problem, 409: Problem, 413: Problem, **UNKNOWN},
        body=FilesRequest,
    ),
    ApiRoute(
        "POST",
        "/api/v1/streams/{name}/explain",
        "What the stream makes of the records in the body, one a line. It writes nothing.",
        {200: Explained, 400: Problem, 413: Problem, **UNKNOWN},
        body=TEXT,
    ),
    ApiRoute(
        "GET",
        "/api/v1/events",
        "All rows as server-sent events, and then those that have changed; with `page` the changed "
        "parts of a page.",
        {200: EVENTS, 503: Problem},
        query={
            "page": "The path of a page.",
            "q": "What is looked for on it.",
            "seen": "What was sent with it.",
        },
    ),
)
